"""What is not known in as few lines as it has reasons."""

from typing import Any

import pytest

from fingerprint.explain.contract import Diff
from fingerprint.report.text import render
from fingerprint.runs.record import Sample, Uncounted
from probes.kit.facts import Gap, GapCode, Map
from tests.diff.made_up import Card, Device, Made, Rack, Task, rack
from tests.explain.subjects import explained, subject

FACTS = ("uuid", "limit", "mode", "slot", "width", "reasons", "lanes")


def unseen(code: GapCode, *but: str) -> Card:
    """A card of which nothing is seen for one reason, but for some facts."""
    gaps: dict[str, Any] = {name: Gap(code) for name in FACTS if name not in but}
    return Card(**{**gaps, **dict.fromkeys(but, 1)})


def ran(name: str, made: Rack, samples: dict[str, Sample] | None = None) -> Any:
    return subject(name, area="rack", made=made, samples=samples or {})


def lines(diff: Diff) -> list[tuple[str, str, str, int]]:
    return [(u.fact, u.a, u.b, u.facts) for u in diff.not_known]


def both(made: Rack) -> Diff:
    return explained(ran("A", made), ran("B", made))


def test_a_device_that_sleeps_in_both_is_one_line() -> None:
    assert lines(both(rack(x=unseen("asleep")))) == [("rack/x/**", "asleep", "asleep", 7)]


def test_devices_that_sleep_alike_are_one_line() -> None:
    diff = both(rack(x=unseen("asleep"), y=unseen("asleep")))
    assert lines(diff) == [("rack/*/**", "asleep", "asleep", 14)]
    assert "rack/*/** (14 facts)" in render(diff)


def test_what_is_unknown_for_another_reason_is_told_beside_it() -> None:
    diff = both(rack(x=Card(**{**dict.fromkeys(FACTS, Gap("asleep")), "mode": Gap("denied")})))
    assert lines(diff) == [("rack/x/mode", "denied", "denied", 1), ("rack/x/**", "asleep", "asleep", 6)]


def test_of_a_device_of_which_most_is_seen_each_fact_is_told() -> None:
    diff = both(rack(x=Card(uuid="1", limit=1, mode="a", slot=Gap("denied"), width=Gap("denied"), reasons=())))
    assert [it[0] for it in lines(diff)][:2] == ["rack/x/slot", "rack/x/width"]


def test_one_fact_that_is_unknown_alike_of_several_devices_is_one_line() -> None:
    each = Card(uuid=Gap("denied"), limit=1, mode="a", slot=1)
    assert lines(both(rack(x=each, y=each))) == [("rack/*/uuid", "denied", "denied", 2)]


@pytest.mark.parametrize("code", ["asleep", "timed_out"])
def test_a_device_seen_in_one_run_only_is_no_change(code: GapCode) -> None:
    """It went dark; nobody saw it change."""
    diff = explained(ran("A", rack(x=unseen("denied", "limit"))), ran("B", rack(x=unseen(code))))
    assert diff.suspects == ()


def test_facts_outside_of_collections_are_told_one_by_one() -> None:
    made = Made(mode=Gap("denied"), after_mode=Gap("denied"), ratio=Gap("denied"), devices=Map({"0": Device(limit=1)}))
    diff = explained(subject("A", made), subject("B", made))
    assert [it[0] for it in lines(diff)] == ["made/after_mode", "made/mode", "made/ratio"]


def test_too_few_samples_are_said_with_how_many_were_left_out() -> None:
    samples: dict[str, Sample] = {f"rack/{key}/clock": Uncounted(41) for key in "xy"}
    two = rack(x=Card(uuid="1"), y=Card(uuid="2"))
    diff = explained(ran("A", two, samples), ran("B", two, samples))
    [line] = diff.not_known
    assert (line.fact, line.a, line.facts) == ("rack/*/clock", "too few samples", 2)
    assert line.says == "A: gpu busy in 0 of 41 samples; B: gpu busy in 0 of 41 samples"


def test_what_failed_of_the_host_is_told_by_the_doctor_who_reads_it_once_more() -> None:
    made = Made(mode=Gap("failed"))
    diff = explained(subject("run-A", made), subject("run-B", made))
    assert [u.says for u in diff.not_known if u.fact == "made/mode"] == ["fingerprint doctor says what went wrong"]


@pytest.mark.parametrize(("a", "b", "run"), [("failed", "failed", "B"), ("failed", "denied", "A")])
def test_what_failed_of_a_process_is_told_by_the_run_in_which_it_did(a: GapCode, b: GapCode, run: str) -> None:
    diff = explained(subject("A", None, Task(nice=Gap(a))), subject("B", None, Task(nice=Gap(b))))
    command = f"fingerprint show {run} --facts process/main/nice"
    [line] = [u for u in diff.not_known if u.fact == "process/main/nice"]
    assert line.says == f"{command} says what went wrong" or b == "denied"
    assert f"See why process/main/nice could not be read: {command}" in diff.next
