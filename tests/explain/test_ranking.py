"""Which changed state can have moved a number: by what leads there, what was at work, and what speaks against it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.diff.compare import compare
from fingerprint.diff.known import probe_of
from fingerprint.explain import explain
from fingerprint.explain.bounds import NO_PART, left_over
from fingerprint.explain.contract import MetricChange
from fingerprint.explain.observed import observed
from fingerprint.explain.phases import phases_of_metric
from fingerprint.explain.rank import Ranked, rank
from fingerprint.explain.reach import subject_of
from fingerprint.runs.record import Distribution, Growth
from probes.gpu import Gpu, Gpus
from probes.gpu.memory import Memory
from probes.gpu.pcie import Pcie
from probes.kit.facts import Map
from probes.process import Process
from probes.process.sections import Cgroup
from tests.explain.subjects import subject
from tests.report.cases import metric
from tests.runs.recorded import measured

SLOTS = ("0000:17:00.0", "0000:2a:00.0")
POWER, MEMORY, WIDTH = "gpu/*/power_limit", "gpu/*/memory/reserved", "gpu/*/pcie/link_width_max"
VERIFY = metric("verify_ms", "worse", 19.2, 29.6, unit="ms")


def gpus(watts: int, width: int = 16, mode: str = "default") -> Gpus:
    return Gpus(
        gpus=Map(
            {
                slot: Gpu(power_limit=watts * 1000, compute_mode=mode, pcie=Pcie(link_width_max=width), memory=Memory())
                for slot in SLOTS
            }
        )
    )


def held(value: float) -> Distribution:
    return Distribution(100, value, (value,) * 7)


def sampled(sm: float, draw: float, capped_us: int) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for slot in SLOTS:
        found[f"gpu/{slot}/clocks/sm"] = held(sm)
        found[f"gpu/{slot}/power/draw"] = held(draw * 1000)
        counter = f"gpu/{slot}/clocks_event_reasons_counters/sw_power_cap"
        found[counter] = Growth(0, capped_us, capped_us, 10.0)
    return found


FREE, CAPPED = sampled(1980, 520, 0), sampled(1500, 449, 8_700_000)


def ranked(
    before: Gpus, after: Gpus, metrics: Sequence[MetricChange], x: Mapping[str, Any], y: Mapping[str, Any]
) -> dict[str, Ranked]:
    a, b = subject("A", before, area="gpu", samples=x), subject("B", after, area="gpu", samples=y)
    found = rank(compare(a.state, b.state), (), observed(a.state.samples, b.state.samples, probe_of), metrics)
    return {one.change.text: one for one in found}


def test_a_power_limit_that_was_reached_is_likely_and_explains_what_the_clocks_lost() -> None:
    found = ranked(gpus(600), gpus(450), [VERIFY], FREE, CAPPED)[POWER]
    assert (found.likelihood, found.reaches) == ("likely", True)
    assert "power-limit" in [rule.name for rule in found.rules]
    assert found.explains.range is not None
    assert found.explains.range.high == pytest.approx(19.2 * (1980 / 1500 - 1), rel=0.01)
    left = left_over(VERIFY, [(found.rules, found.explains)])
    assert left is not None
    assert left.low == pytest.approx(10.4 - 6.144, rel=0.01)


def test_what_held_the_clocks_for_a_part_of_the_time_explains_what_that_cost_though_the_median_stood_still() -> None:
    now_and_then = dict(CAPPED)
    for slot in SLOTS:
        quantiles = (1000.0, 1000.0, 1500.0, 1980.0, 1980.0, 1980.0, 1980.0)
        now_and_then[f"gpu/{slot}/clocks/sm"] = Distribution(100, 1800.0, quantiles)
    found = ranked(gpus(600), gpus(450), [VERIFY], FREE, now_and_then)[POWER]
    assert found.likelihood == "likely"
    assert found.explains.range is not None
    assert found.explains.range.high == pytest.approx(19.2 * (1980 / 1800 - 1), rel=0.01)


def test_a_limit_that_nothing_reached_is_unlikely() -> None:
    calm = sampled(1980, 300, 0)
    found = ranked(gpus(600), gpus(450), [VERIFY], calm, calm)[POWER]
    assert found.likelihood == "unlikely"
    assert found.parts["binds"] < 0


def test_a_number_that_should_have_moved_as_well_speaks_against_it_and_caps_what_it_explains() -> None:
    decode = metric("decode_ms", "worse", 11.2, 12.1, unit="ms")
    found = ranked(gpus(600), gpus(450), [VERIFY, decode], FREE, CAPPED)[POWER]
    assert any(evidence.fact == "decode_ms" for evidence in found.against)
    assert found.likelihood != "likely"
    assert found.explains.range is not None
    assert found.explains.range.high == pytest.approx(19.2 * (12.1 / 11.2 - 1), rel=0.01)


def test_what_was_at_work_can_be_a_part_of_it_unless_what_it_should_have_moved_stood_still() -> None:
    less, still = metric("decode_ms", "worse", 11.2, 12.1, unit="ms"), metric("decode_ms", "same", 11.2, 11.2)
    assert ranked(gpus(600), gpus(450), [VERIFY, less], FREE, CAPPED)[POWER].likelihood == "possible"
    stood = ranked(gpus(600), gpus(450), [VERIFY, still], FREE, CAPPED)[POWER]
    assert stood.likelihood == "unlikely"
    assert stood.explains.range is not None
    assert stood.explains.range.high == 0


def test_a_number_that_went_the_other_way_speaks_against_what_pushes_all_one_way() -> None:
    faster = metric("decode_ms", "better", 11.2, 7.3, unit="ms")
    found = ranked(gpus(600), gpus(450), [VERIFY, faster], FREE, CAPPED)[POWER]
    assert "decode_ms as well, which went the other way, to 0.65x" in found.against[0].says
    assert found.likelihood == "unlikely"
    assert found.explains.is_nothing


def test_a_number_that_went_the_other_way_is_no_word_against_what_should_have_moved_it_so() -> None:
    """A higher limit makes both faster; that verify got slower speaks against it by itself."""
    faster = metric("decode_ms", "better", 11.2, 7.3, unit="ms")
    found = ranked(gpus(450), gpus(600), [VERIFY, faster], CAPPED, FREE)[POWER]
    assert [one.fact for one in found.against] == [POWER]
    assert found.explains.is_nothing


def test_what_can_explain_nothing_of_the_change_stands_behind_what_nobody_knows_a_bound_of() -> None:
    still = metric("decode_ms", "same", 11.2, 11.2, unit="ms")
    found = ranked(gpus(600), gpus(450, mode="prohibited"), [VERIFY, still], FREE, CAPPED)
    assert found[POWER].explains.is_nothing
    assert found[POWER].score > found["gpu/*/compute_mode"].score
    assert list(found) == ["gpu/*/compute_mode", POWER]


@pytest.mark.parametrize(("before", "after"), [(0, 1), (1, 2), (137, 1)])
def test_of_how_a_run_ended_nothing_explains_a_part(before: int, after: int) -> None:
    ended = metric("exit_status", "worse", before, after, unit="", ratio=after / before if before else None)
    found = ranked(gpus(600), gpus(450), [ended], FREE, CAPPED)[POWER]
    assert (found.explains.range, found.explains.why_not) == (None, NO_PART)
    assert left_over(ended, [(found.rules, found.explains)]) is None


def test_of_a_number_that_came_from_0_nothing_explains_a_part() -> None:
    risen = metric("verify_ms", "worse", 0.0, 29.6, unit="ms", ratio=None)
    assert ranked(gpus(600), gpus(450), [risen], FREE, CAPPED)[POWER].explains.why_not == NO_PART


def test_of_numbers_that_moved_alike_the_one_about_a_single_phase_is_explained() -> None:
    wall, rate = metric("wall_time", "worse", 900, 1100), metric("throughput", "worse", 94, 60, unit="tok/s")
    ttft, better = metric("ttft", "worse", 0.20, 0.21), metric("draft_ms", "better", 3.0, 1.0, unit="ms")
    assert subject_of([wall, rate, VERIFY, ttft, better]) is VERIFY
    assert subject_of([wall, rate, ttft]) is rate
    assert subject_of([wall, metric("cpu_time", "worse", 1, 3)]) is wall
    assert subject_of([metric("verify_ms", "same", 1, 1), wall]) is wall


def test_a_limit_that_was_raised_cannot_have_made_it_slower() -> None:
    found = ranked(gpus(450), gpus(600), [VERIFY], FREE, FREE)[POWER]
    assert found.likelihood == "unlikely"
    assert any("should have made verify_ms better" in evidence.says for evidence in found.against)


def test_what_cannot_reach_the_number_stands_behind_all_that_can() -> None:
    loading = metric("load_time", "worse", 40.0, 80.0)
    found = list(ranked(gpus(600), gpus(450, width=4), [loading], FREE, CAPPED).values())
    assert [one.change.text for one in found] == [WIDTH, POWER]
    assert [one.reaches for one in found] == [True, False]
    assert found[1].likelihood == "unlikely"


def test_what_is_unlikely_stands_behind_what_may_be_however_suspicious() -> None:
    """A quota that nothing reached, and a locale."""
    ran = (("A", 11.0, "800000 100000", "C"), ("B", 15.0, "200000 100000", "en"))
    a, b = (
        subject(
            name,
            None,
            Process(cgroup=Cgroup(cpu_max=quota), env=Map({"LC_ALL": locale})),
            measured("wall_time", level, level + 0.1, level - 0.1),
            samples={"usage/main/cgroup/nr_throttled": Growth(0, 0, 0, 10.0)},
        )
        for name, level, quota, locale in ran
    )
    first, second = explain(a, b).suspects
    assert [first.likelihood, second.likelihood] == ["possible", "unlikely"]
    assert (first.facts, second.facts) == (("process/main/env/LC_ALL",), ("process/main/cgroup/cpu_max",))
    assert first.score < second.score


def test_what_is_judged_counts_for_a_limit_that_was_reached_and_not_for_one_that_nothing_reached() -> None:
    calm = sampled(1980, 300, 0)
    assert ranked(gpus(600), gpus(450), [VERIFY], FREE, CAPPED)[POWER].parts["judged"] > 0
    assert "judged" not in ranked(gpus(600), gpus(450), [VERIFY], calm, calm)[POWER].parts


def test_without_a_metric_all_are_ranked_and_none_explains_anything() -> None:
    found = ranked(gpus(600), gpus(450, width=4), [], FREE, CAPPED)
    assert {one.reaches for one in found.values()} == {True}
    assert {one.explains.range for one in found.values()} == {None}
    assert {one.explains.why_not for one in found.values()} == {"no metric moved"}


@given(st.integers(100, 700), st.sampled_from(["default", "exclusive_process"]), st.sampled_from([4, 8]))
def test_what_cannot_reach_the_number_never_reorders_those_that_can(watts: int, mode: str, width: int) -> None:
    loading = metric("load_time", "worse", 40.0, 80.0)
    alone = ranked(gpus(600), gpus(600, width, mode), [loading], FREE, CAPPED)
    together = ranked(gpus(600), gpus(watts, width, mode), [loading], FREE, CAPPED)
    assert [text for text in together if text != POWER] == list(alone)
    assert [one.score for text, one in together.items() if text != POWER] == [one.score for one in alone.values()]


def test_swapped_sides_swap_the_direction() -> None:
    there = ranked(gpus(600), gpus(450), [VERIFY], FREE, CAPPED)[POWER]
    faster = metric("verify_ms", "better", 29.6, 19.2, unit="ms")
    back = ranked(gpus(450), gpus(600), [faster], CAPPED, FREE)[POWER]
    assert (there.likelihood, there.score) == (back.likelihood, back.score)


@pytest.mark.parametrize(
    ("name", "unit", "phase"),
    [
        ("verify_ms", "ms", "verify step"), ("median_ttft_ms", "ms", "prefill"), ("mean_tpot_ms", "ms", "decode step"),
        ("cycle_ms", "ms", "verify step"),
        ("accept_length", "", "accept length"), ("busbw", "GB/s", "transfer"), ("load_time", "s", "start-up"),
        ("upload_ms", "ms", "any work"), ("download_time", "s", "any work"), ("kv_offload_ms", "ms", "any work"),
        ("payload_rate", "1/s", "any work"), ("workload_time", "s", "any work"), ("reload_time", "s", "start-up"),
        ("weights_load_s", "s", "start-up"), ("step_ms", "ms", "decode step"), ("optimizer_step_ms", "ms", "any work"),
        ("backward_step_ms", "ms", "any work"), ("train_step_time", "s", "any work"),
        ("wall_time", "s", "any work"), ("score", "", "any work"), ("output_throughput", "tok/s", "decode step"),
    ],
)  # fmt: skip
def test_a_metric_is_about_the_phases_that_its_name_or_unit_tells(name: str, unit: str, phase: str) -> None:
    found = phases_of_metric(name, unit)
    assert phase in found
    assert (found == {"any work"}) is (phase == "any work")
