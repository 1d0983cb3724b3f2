"""What nobody could see: what leads to the number first, and what no probe reads where nothing likely was found."""

from typing import Any, get_args

import pytest

from fingerprint.explain import explain
from fingerprint.explain.blind import SIGHTS, blind
from fingerprint.explain.contract import Diff
from fingerprint.explain.mechanisms.graph import Phase
from fingerprint.report.text import render
from probes.gpu import Gpu, Gpus
from probes.kit.facts import Gap, Map
from probes.process import Process
from tests.explain.subjects import subject
from tests.explain.test_programs import ran
from tests.report.cases import metric, suspect
from tests.runs.recorded import measured

WORSE = metric("verify_ms", "worse", 19.2, 29.6, unit="ms")


def looks(*metrics: Any, likelihood: Any = "possible", held_up: bool = False, ran: Process | None = None) -> list[str]:
    sides = [subject(name, None, ran) for name in "AB"]
    found = blind(metrics or (WORSE,), [suspect(1, "a/b", 1, 2, likelihood=likelihood)], held_up, sides)
    return [sight.what for sight in found]


def test_what_no_probe_sees_is_told_by_the_phase_that_the_metric_is_about() -> None:
    accept = looks(metric("accept_length", "worse", 2.4, 2.0))
    assert any("temperature, seed" in what for what in accept)
    assert not any("NCCL" in what for what in accept)
    assert any("NCCL" in what for what in looks(metric("busbw", "worse", 40.0, 20.0, unit="GB/s", better="higher")))


def test_it_is_told_only_where_a_number_moved_that_nothing_likely_goes_with() -> None:
    assert looks()
    assert not looks(likelihood="likely")
    assert not looks(held_up=True)
    assert not looks(metric("verify_ms", "same", 19.2, 19.3, unit="ms"))
    assert not looks(metric("verify_ms", "unassessed", 19.2, 19.3, unit="ms"))
    assert looks(metric("verify_ms", "unassessed", 19.2, 29.6, unit="ms"))


def test_of_what_clients_ask_nothing_is_told_of_a_program_that_has_none() -> None:
    tokens = metric("tokens_per_second", "worse", 41000.0, 9100.0, unit="tok/s", better="higher")
    step = metric("step_ms", "worse", 41.0, 91.0, unit="ms")
    asked = {
        "the text that was asked for",
        "temperature, seed, tokens drafted",
        "sequences in a step and their lengths",
    }
    for number in (tokens, step):
        training = looks(number, ran=ran("/srv/train.py"))
        assert training[0] == "the input: what was worked on"
        assert not asked & {*training}
        assert asked & {*looks(number)}  # nobody knows what ran
        assert asked & {*looks(number, ran=ran("/opt/venv/bin/vllm", "serve m"))}
    transfer = metric("busbw", "worse", 40.0, 20.0, unit="GB/s", better="higher")
    assert looks(transfer, ran=ran("/usr/bin/all_reduce_perf", compiled=True))[0].startswith("NCCL")
    for path in ("/opt/venv/bin/genai-perf", "/opt/venv/bin/text-generation-server"):
        throughput = metric("total_throughput", "worse", 41000.0, 9100.0, unit="tok/s", better="higher")
        assert asked & {*looks(throughput, ran=ran(path))}
    first_token = metric("ttft_ms", "worse", 41.0, 91.0, unit="ms")
    assert "what the prefix cache held already" in looks(first_token, ran=ran("/srv/bench.py"))


@pytest.mark.parametrize("phase", get_args(Phase))
def test_of_every_phase_something_is_told(phase: Phase) -> None:
    assert [sight for sight in SIGHTS if phase in sight.phases]


def hidden(**gaps: Any) -> Gpus:
    return Gpus(gpus=Map({"0000:17:00.0": Gpu(uuid="GPU-1", **gaps)}))


def unseen(ratio: float, made: Gpus) -> Diff:
    a = subject("A", made, None, measured("decode_ms", 1.0), area="gpu")
    return explain(a, subject("B", made, None, measured("decode_ms", ratio), area="gpu"))


def test_what_leads_to_the_number_is_told_first_with_the_mechanism() -> None:
    diff = unseen(2.0, hidden(accounting_mode=Gap("denied"), power_limit=Gap("timed_out")))
    assert [(u.fact, u.rules) for u in diff.not_known] == [
        ("gpu/0000:17:00.0/power_limit", ("power-limit",)), ("gpu/0000:17:00.0/accounting_mode", ()),
    ]  # fmt: skip
    assert "gpu/0000:17:00.0/power_limit (power-limit)" in render(diff, width=120)
    assert "first what may have moved the metric" in render(diff, width=120)


def test_what_nobody_can_read_leads_nowhere_and_without_a_moved_number_nothing_does() -> None:
    assert [u.rules for u in unseen(2.0, hidden(power_limit=Gap("not_observable"))).not_known] == [()]
    diff = unseen(1.0, hidden(power_limit=Gap("denied")))
    assert [u.rules for u in diff.not_known] == [()]
    assert diff.blind == ()


def test_of_a_device_that_nobody_could_read_the_mechanisms_of_all_its_facts_are_told() -> None:
    card: dict[str, Any] = dict.fromkeys(("power_limit", "persistence_mode", "compute_mode", "name"), Gap("asleep"))
    a = Gpus(gpus=Map({"0000:17:00.0": Gpu(**card)}))
    rules = [rule for u in unseen(2.0, a).not_known for rule in u.rules]
    assert "power-limit" in rules
