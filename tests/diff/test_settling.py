"""States that settle under load are compared by what samples saw while the device was busy."""

from typing import Any

import pytest

from fingerprint.diff import Changes, compare
from fingerprint.diff.changes import Unsteady
from fingerprint.runs.effective import Effective, effective
from fingerprint.runs.record import Distribution, Growth, Held, Sample, Sampled, Snapped, Uncounted
from probes.kit.facts import Gap, Map, Section
from tests.diff.made_up import Card, Rack, Task, known, rack, snapshot, state_of
from tests.runs.recorded import run

WIDE, NARROW = Held(((16, 40),)), Held(((8, 40),))
DROPPED = Held(((16, 30), (8, 10)))
IDLE = Uncounted(40)


def ran(section: Section, *, host: str = "h", **samples: Sample) -> Effective:
    """A run before and after which the section was read; samples of facts of the card `x`."""
    facts = {f"rack/x/{name}": sample for name, sample in samples.items()}
    return ran_with(section, facts, host)


def ran_with(section: Section, facts: dict[str, Sample], host: str = "h") -> Effective:
    moments: Any = ("before", "after")
    taken = {id_: snapshot({"rack": section}, id_=id_) for id_ in moments}
    told = [Snapped(at=1, moment=moment, snapshot=moment) for moment in moments]
    return effective(run(*told, Sampled(at=1, ticks=40, missed=0, facts=facts), host=host), taken)


def card(**facts: Any) -> Rack:
    return rack(x=Card(**facts))


def compared(a: Effective, b: Effective) -> Changes:
    return compare(a, b, known=known)


def verdicts(a: Effective, b: Effective) -> list[tuple[str, str, Any, Any]]:
    changes = compared(a, b).changes
    return [(c.text, c.first.verdict, c.first.before, c.first.after) for c in changes]


def test_a_link_that_is_narrower_under_load_changed_whatever_it_was_at_rest() -> None:
    a, b = ran(card(width=1), width=WIDE), ran(card(width=1), width=NARROW)
    assert verdicts(a, b) == [("rack/x/width", "changed", 16, 8)]


def test_a_link_that_is_as_wide_under_load_is_ruled_out_whatever_it_was_at_rest() -> None:
    a, b = ran(card(width=1), width=WIDE), ran(card(width=4), width=Held(((16, 38), (8, 2))))
    assert (verdicts(a, b), compared(a, b).not_known) == ([], ())
    assert compared(a, b).ruled_out == {"rack": 2}, "the width and the keys of the collection"


@pytest.mark.parametrize("samples", [{}, {"width": IDLE}, {"width": Held(((16, 4),), left_out=36)}])
def test_a_link_that_differs_at_rest_alone_is_not_comparable(samples: dict[str, Any]) -> None:
    a, b = ran(card(width=16), **samples), ran(card(width=8), **samples)
    assert verdicts(a, b) == [("rack/x/width", "not comparable", 16, 8)]


def test_what_one_run_held_under_load_says_nothing_of_another_at_rest() -> None:
    a, b = ran(card(width=16), width=WIDE), ran(card(width=8), width=IDLE)
    assert [it[1] for it in verdicts(a, b)] == ["not comparable"]


def test_it_is_said_in_how_many_samples_the_condition_held() -> None:
    [change] = compared(ran(card(width=16), width=IDLE), ran(card(width=8), width=NARROW)).changes
    assert change.first.says == (
        "compared only while gpu busy; A: gpu busy in 0 of 40 samples; B: gpu busy in 40 of 40 samples"
    )


def test_what_is_equal_at_rest_is_not_known() -> None:
    state = ran(card(width=16), width=IDLE)
    [unknown] = [u for u in compared(state, state).not_known if u.names[-1] == "width"]
    assert (unknown.a, unknown.b) == ("seen", "seen")
    assert unknown.says.startswith("equal, and read while not gpu busy; A: gpu busy in 0 of 40")


def test_too_few_samples_and_no_reading_are_not_known() -> None:
    a, b = ran(card(slot=1), width=Held(((16, 4),), left_out=36)), ran(card(slot=1), width=WIDE)
    [unknown] = [u for u in compared(a, b).not_known if u.names[-1] == "width"]
    assert (unknown.a, unknown.b) == ("too few samples", "seen")
    assert unknown.says == "A: gpu busy in 4 of 40 samples; B: gpu busy in 40 of 40 samples"


def test_a_link_that_dropped_for_a_part_of_a_run_changed_during_it() -> None:
    a, b = ran(card(width=16), width=WIDE), ran(card(width=16), width=DROPPED)
    assert verdicts(a, b) == [("rack/x/width", "changed during the run", 16, Unsteady(16, 8))]
    assert compared(a, b).changes[0].first.leads
    assert "B: gpu busy in 40 of 40 samples, 16 in 75 %, 8 in 25 % of these" in compared(a, b).changes[0].first.says


def test_what_dropped_alike_in_both_runs_is_context() -> None:
    state = ran(card(width=16), width=DROPPED)
    [change] = compared(state, state).changes
    assert change.first.context


def test_a_state_with_a_list_for_its_value_is_compared_as_it_was_read() -> None:
    """A record has lists where a section has tuples."""
    a = ran(card(reasons=("power",)), reasons=Held(((["power"], 40),)))
    assert verdicts(a, ran(card(reasons=()), reasons=Held(((["power"], 40),)))) == []
    assert verdicts(a, ran(card(reasons=("power",)), reasons=IDLE)) == []


def test_the_same_drop_on_several_devices_is_one_line_that_counts_them() -> None:
    three = Rack(cards=Map({key: Card(width=16) for key in "xyz"}))
    a = ran_with(three, {f"rack/{key}/width": WIDE for key in "xyz"})
    b = ran_with(three, {f"rack/{key}/width": NARROW if key != "z" else WIDE for key in "xyz"})
    [change] = compared(a, b).changes
    assert (change.text, change.on) == ("rack/*/width", "2/3")


def test_a_device_that_moved_is_compared_with_itself() -> None:
    a = ran_with(rack(x=Card(uuid="1"), y=Card(uuid="2")), {"rack/x/width": WIDE, "rack/y/width": NARROW})
    b = ran_with(rack(x=Card(uuid="2"), y=Card(uuid="1")), {"rack/x/width": NARROW, "rack/y/width": WIDE})
    assert verdicts(a, b) == []


def test_of_a_device_that_only_one_side_has_no_state_is_told() -> None:
    a = ran_with(rack(x=Card(uuid="1"), y=Card(uuid="2")), {"rack/x/width": WIDE, "rack/y/width": NARROW})
    b = ran_with(rack(x=Card(uuid="1")), {"rack/x/width": WIDE})
    assert [it[:2] for it in verdicts(a, b)] == [("rack/y", "vanished")]
    assert not [u for u in compared(a, b).not_known if u.names[0] == "y"]


def test_a_reading_while_the_command_ran_needs_no_samples() -> None:
    states = []
    for width in (16, 8):
        taken = {"d": snapshot({"rack": card(width=width)}, id_="d")}
        states.append(effective(run(Snapped(at=1, moment="during", snapshot="d")), taken))
    assert [it[1] for it in verdicts(*states)] == ["changed"]


def test_telemetry_of_which_too_few_samples_count_is_not_known() -> None:
    few, many = Distribution(2, 1.0, (1.0,) * 7, left_out=38), Distribution(40, 1.0, (1.0,) * 7)
    found = compared(ran(card(slot=1), clock=few), ran(card(slot=1), clock=many)).not_known
    assert [(u.names, u.a, u.b, u.says) for u in found if u.names[-1] == "clock"] == [
        (
            ("x", "clock"), "too few samples", "seen",
            "A: gpu busy in 2 of 40 samples; B: gpu busy in 40 of 40 samples",
        )
    ]  # fmt: skip


def test_telemetry_that_needs_no_condition_is_never_too_few() -> None:
    few = Distribution(1, 1.0, (1.0,) * 7)
    state = ran(card(slot=1), busy=few, errors=Growth(0, 1, 1, 1.0))
    assert not [u for u in compared(state, state).not_known if u.names[-1] in ("busy", "errors")]


def test_samples_of_what_nobody_declares_are_passed_over() -> None:
    facts: dict[str, Sample] = {"rack/x/odd": WIDE, "odd": IDLE, "process": IDLE, "rack": IDLE}
    state = ran_with(card(slot=1), facts)
    assert verdicts(state, state) == []
    whole = state_of({"process/main": Task(nice=1)})
    assert compared(whole, whole).changes == ()


def test_a_gap_under_load_is_told_as_of_any_fact() -> None:
    a, b = ran(card(width=Gap("asleep"))), ran(card(width=Gap("asleep")))
    assert [(u.a, u.b) for u in compared(a, b).not_known if u.names[-1:] == ("width",)] == [("asleep", "asleep")]
