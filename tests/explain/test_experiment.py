"""What to try next: the cheapest experiment that tells the leading suspects apart."""

from typing import Any

import pytest

from fingerprint.diff.known import probe_of
from fingerprint.explain.answer import next_steps
from fingerprint.explain.contract import Suspect
from fingerprint.explain.experiment import besides, command, deciding
from fingerprint.explain.mechanisms.graph import SERVES
from probes.process import Process
from tests.explain.subjects import subject
from tests.explain.test_programs import ran
from tests.report.cases import metric, suspect

WORSE = metric("verify_ms", "worse", 19.2, 29.6, unit="ms")
BACK = "nvidia-smi -pl 600"


def power(**more: Any) -> Suspect:
    told = {"rules": ("power-limit",), "restore": BACK, "confirm": "watch it under load"}
    return suspect(1, "gpu/*/power_limit", 600, 450, **told | more)


def rival(**more: Any) -> Suspect:
    return suspect(2, "process/main/env/NCCL_ALGO", "Ring", "Tree", **{"rules": ("nccl-algorithm",)} | more)


def test_the_first_is_set_back_and_the_second_kept_and_what_will_be_seen_is_said() -> None:
    assert deciding([WORSE], [power(), rival()]) == (
        "Set only the first suspect back, keep process/main/env/NCCL_ALGO, and run again: "
        f"verify_ms near 19.2 ms says that it was this one: {BACK}"
    )


def test_where_only_the_second_has_a_command_or_the_first_needs_a_reboot_the_second_is_set_back() -> None:
    for first in (power(restore=None), power(restore="reboot")):
        step = deciding([WORSE], [first, rival(restore="export NCCL_ALGO=Ring")])
        assert step.startswith("Set only the second suspect back, keep gpu/*/power_limit, and run again")
        assert step.endswith(": export NCCL_ALGO=Ring")


def test_what_is_set_where_a_run_is_started_is_set_back_by_the_command_that_it_has() -> None:
    step = deciding([WORSE], [rival(restore="export NCCL_ALGO=Ring"), power(restore=None)])
    assert step.startswith("Set only the first suspect back, keep gpu/*/power_limit")


def test_what_is_set_where_a_run_is_started_is_set_back_first_although_no_command_does_it() -> None:
    variable, batch = rival(), suspect(1, "process/main/flags/--max-num-seqs", "16", "256", rules=("batches",))
    assert deciding([WORSE], [variable, power()]) == deciding([WORSE], [batch, power()]) == ""
    model = suspect(1, "process/main/operands", ["a"], ["b"], rules=("batches",))
    assert deciding([WORSE], [model, power()]) == ""
    assert deciding([WORSE], [power(restore="renice -n 0 -p PID"), rival(restore="x")]) == ""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"likelihood": "likely"}, {}),
        ({"score": 0.6}, {"score": 0.4}),
        ({}, {"parts": {"alone": -0.2}}),
        ({}, {"parts": {"unread": -0.3}}),
        ({}, {"parts": {"idle": -0.2}}),
        ({}, {"parts": {"through": -0.2}}),
    ],
)
def test_who_is_far_behind_or_cannot_act_here_is_no_rival(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert deciding([WORSE], [power(), rival()])
    assert deciding([WORSE], [power(**first), rival(**second)]) == ""
    assert [*besides([WORSE], [power(**first), rival(**second)])] == []


def test_without_a_rival_or_a_command_nothing_has_to_be_decided() -> None:
    assert deciding([WORSE], [power()]) == ""
    assert deciding([WORSE], [power(), rival(reaches=False)]) == ""
    assert deciding([WORSE], [power(), rival(likelihood="unlikely")]) == ""
    assert deciding([WORSE], [power(restore=None), rival()]) == ""
    assert deciding([WORSE], [power(parts={"lost": 1.0}), rival(restore=BACK)]) == ""


def test_nothing_is_promised_of_a_metric_that_did_not_move() -> None:
    still = metric("verify_ms", "same", 19.2, 19.3, unit="ms")
    assert deciding([still], [power(), rival()]) == (
        f"Set only the first suspect back, keep process/main/env/NCCL_ALGO, and run again: {BACK}"
    )


def test_a_number_that_nobody_took_and_that_tells_the_two_apart_is_asked_for() -> None:
    """Decoding waits for both; a collective that is measured by itself for NCCL alone."""
    tell = "process/main/env/NCCL_ALGO should move it, gpu/*/power_limit should not"
    assert [*besides([WORSE], [power(), rival()])] == [f"Measure an all-reduce by itself as well, in both: {tell}"]
    collective = metric("busbw", "same", 40.0, 40.1, unit="GB/s")
    assert [*besides([WORSE, collective], [power(), rival()])] == []
    every_run = [metric("wall_time", "worse", 4.0, 8.0), metric("peak_memory", "same", 9.0, 9.0, unit="B")]
    assert [*besides(every_run, [power(), rival()])] == []


def test_no_number_is_asked_for_that_other_code_need_not_move() -> None:
    """A compiler's variable can move whatever is built with it, the accept length least of all."""
    compilers = suspect(2, "process/main/env/CUDA_INC_DIR", "/a", "/b", rules=("compilers",))
    step = metric("decode_ms", "worse", 10.0, 13.0, unit="ms")
    told = [*besides([step], [suspect(1, "driver/module/version", "1", "2", rules=("power-limit",)), compilers])]
    assert not any("accept length" in line for line in told)
    driver = one("driver/module/version", "driver-version")
    assert [*besides([step], [driver, one("other/fact", "file-watches", 2)])] == []
    assert [*besides([step], [one("gpu/*/x", "driver-version"), one("other/fact", "file-watches", 2)])]


def test_no_number_is_asked_for_of_a_phase_that_its_rule_leaves_out() -> None:
    """Kernels of a sampler are chosen as others are, and a prompt waits for none of them."""
    step = metric("decode_ms", "worse", 10.0, 13.0, unit="ms")
    sampler = one("process/main/env/VLLM_USE_FLASHINFER_SAMPLER", "sampler-kernels")
    assert [*besides([step], [sampler, one("other/fact", "file-watches", 2)])] == []


def test_an_all_reduce_is_measured_for_transfers_alone() -> None:
    moved = [metric("ttft_ms", "worse", 90.0, 130.0, unit="ms"), metric("busbw", "same", 40.0, 40.1, unit="GB/s")]
    (told,) = besides(moved, [one("x", "nccl-algorithm"), one("y", "file-watches", 2)])
    assert told.startswith("Measure plain decoding, without speculation as well")


@pytest.mark.parametrize(
    ("number", "unit", "task"),
    [
        ("busbw", "GB/s", ran("/usr/bin/all_reduce_perf", compiled=True)),
        ("busbw", "GB/s", None),
        ("step_ms", "ms", ran("/home/u/train.py")),
    ],
)
def test_of_what_does_not_serve_no_number_is_asked_for_that_only_serving_has(
    number: str, unit: str, task: Process | None
) -> None:
    moved = [metric(number, "worse", 90.0, 130.0, unit=unit)]
    for name in "", "accept_":  # a name that tells of drafts is no server
        two = [one(f"{name}x", "power-limit"), one("y", "file-watches", 2)]
        assert [*besides(moved, two, [subject(side, None, task) for side in "AB"])] == []
    start = [one("x", "storage-file-system"), one("y", "power-limit", 2)]
    (told,) = besides(moved, start, [subject(side, None, task) for side in "AB"])
    assert told.startswith("Measure the start as well")


def test_what_only_serving_has_is_asked_for_by_what_ran_in_both_and_by_the_unit() -> None:
    two = [one("x", "power-limit"), one("y", "file-watches", 2)]
    a, b = (subject(side, None, ran("/home/u/main.py")) for side in "AB")
    steps = [metric("step_ms", "worse", 90.0, 130.0, unit="ms")]
    tokens = [metric("step_throughput", "worse", 90.0, 70.0, unit="tok/s", better="higher")]
    for moved, is_told in ((steps, False), (tokens, True)):
        told = [line for line in next_steps(a, b, moved, two, (), (), probe_of) if "a long prompt" in line]
        assert bool(told) is is_told
    serves = subject("B", None, ran("/opt/venv/bin/vllm", "serve m"))
    assert [line for line in next_steps(a, serves, steps, two, (), (), probe_of) if "a long prompt" in line]


@pytest.mark.parametrize(
    ("number", "fact", "is_told"),
    [("decode_ms", "x", False), ("decode_ms", "x/speculative", True), ("draft_ms", "x", True)],
)
def test_an_accept_length_is_asked_for_where_something_tells_of_drafts(number: str, fact: str, is_told: bool) -> None:
    moved = [metric(number, "worse", 10.0, 13.0, unit="ms"), metric("ttft_ms", "same", 9.0, 9.0, unit="ms")]
    told = [*besides(moved, [one(fact, "engine-simulations"), one("y", "file-watches", 2)])]
    assert [line.startswith("Measure the accept length") for line in told] == [True] * is_told


def one(fact: str, rule: str, rank: int = 1) -> Suspect:
    return suspect(rank, fact, "a", "b", rules=(rule,))


@pytest.mark.parametrize(
    ("mover", "other", "what"),
    [
        (("storage/main/models/target/mount/type", "storage-file-system"), "power-limit", "the start"),
        (("process/main/flags/--enforce-eager", "no-graphs"), "file-watches", "plain decoding, without speculation"),
        (("gpu/*/ecc/mode_current", "ecc-mode"), "file-watches", "plain decoding, without speculation"),
        (("kernel/release", "kernel-release"), "power-limit", ""),
        (("libraries/main/packages/fastapi/version", "package-front-end"), "power-limit", ""),
    ],
)
def test_a_number_is_asked_for_that_is_moved_whatever_else_is_so(mover: tuple[str, str], other: str, what: str) -> None:
    """A graph that is missing moves no long prompt, and without speculation no verify step is there to be measured."""
    first = metric("ttft_ms", "worse", 90.0, 130.0, unit="ms")
    told = [*besides([first], [one(*mover), one("other/fact", other, 2)])]
    assert [line for line in told if f"{mover[0]} should move it" in line] == told
    assert all(what in line for line in told)
    assert bool(told) is bool(what)


def test_a_verify_step_waits_for_what_a_decode_step_waits_for() -> None:
    for resource, phases in SERVES.items():
        assert ("decode step" in phases) == ("verify step" in phases) or resource == "accept length", resource


def test_the_first_is_confirmed_by_its_rule_where_no_command_sets_it_back() -> None:
    assert [*besides([WORSE], [power()])] == []
    assert [*besides([WORSE], [power(restore=None)])] == ["To confirm the first suspect: watch it under load"]
    assert command(power(restore="renice -n 0 -p PID")) == ""
