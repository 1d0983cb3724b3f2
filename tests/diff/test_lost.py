"""A device that was lost is one line, whether between two runs or in the middle of one."""

from typing import Any

import pytest

from fingerprint.diff import Changes, compare
from fingerprint.diff.changes import Unsteady
from fingerprint.runs.effective import Effective, effective, resolve
from fingerprint.runs.record import Snapped
from fingerprint.snapshot import Key
from probes.kit.facts import Gap, GapCode, Map
from tests.diff.made_up import Card, Lane, Peer, Rack, known, rack, snapshot, state_of
from tests.runs.recorded import run

LANES = Map({"0": Lane(name="up"), "1": Lane(name="down")})
WELL = Card(uuid="1", limit=700, mode="a", slot=3, width=16, lanes=LANES)
TWIN = Card(uuid="2", limit=700, mode="a", slot=3, width=16, lanes=LANES)
GONE: dict[str, Any] = dict.fromkeys(("uuid", "limit", "mode", "width", "lanes"), Gap("lost"))
LOST = Card(**GONE, slot=3)


def ran(before: Rack, after: Rack) -> Effective:
    taken = {"s1": snapshot({"rack": before}, id_="s1"), "s2": snapshot({"rack": after}, id_="s2")}
    return effective(
        run(Snapped(at=1, moment="before", snapshot="s1"), Snapped(at=2, moment="after", snapshot="s2")), taken
    )


def compared(a: Effective, b: Effective) -> Changes:
    return compare(a, b, known=known)


def between(a: Rack, b: Rack) -> Changes:
    return compared(state_of({"rack": a}), state_of({"rack": b}))


def told(changes: Changes) -> list[tuple[str, str, Any, Any]]:
    return [(c.text, c.first.verdict, c.first.before, c.first.after) for c in changes.changes]


def test_a_device_that_was_lost_between_two_runs_vanished() -> None:
    changes = between(rack(x=TWIN, y=WELL), rack(x=TWIN, y=LOST))
    assert told(changes) == [("rack/y", "vanished", "seen", Gap("lost"))]
    assert not [u for u in changes.not_known if u.names[0] == "y"], "its states are not told beside it"


def test_what_else_is_seen_of_a_lost_device_is_not_ruled_out() -> None:
    alone = between(rack(x=TWIN), rack(x=TWIN)).ruled_out["rack"]
    assert between(rack(x=TWIN, y=WELL), rack(x=TWIN, y=LOST)).ruled_out == {"rack": alone}


def test_a_device_that_came_back_appeared() -> None:
    assert told(between(rack(x=LOST), rack(x=WELL))) == [("rack/x", "appeared", Gap("lost"), "seen")]


def test_a_device_of_which_little_was_lost_keeps_its_lines() -> None:
    some = Card(uuid="1", limit=Gap("lost"), mode=Gap("lost"), slot=3, lanes=LANES)
    assert [it[0] for it in told(between(rack(x=WELL), rack(x=some)))] == ["rack/x/limit", "rack/x/mode"]


def test_a_device_that_was_lost_in_the_middle_changed_during_the_run() -> None:
    steady, broken = ran(rack(x=WELL), rack(x=WELL)), ran(rack(x=WELL), rack(x=LOST))
    assert told(compared(steady, broken)) == [
        ("rack/x", "changed during the run", "seen", Unsteady("seen", Gap("lost")))
    ]
    assert list(resolve(broken.sections[Key("rack")], Rack).unsteady) == [("x",)]


def test_a_device_that_was_lost_in_both_runs_is_context() -> None:
    broken = ran(rack(x=WELL), rack(x=LOST))
    [change] = compared(broken, broken).changes
    assert change.first.context


def test_what_changed_on_one_device_during_a_run_counts_all_that_have_the_fact() -> None:
    twin, lower = Card(uuid="2", limit=700), Card(uuid="2", limit=450)
    steady, changed = ran(rack(x=WELL, y=twin), rack(x=WELL, y=twin)), ran(rack(x=WELL, y=twin), rack(x=WELL, y=lower))
    [change] = compared(steady, changed).changes
    assert (change.text, change.on) == ("rack/y/limit", "1/2")


def test_a_device_that_was_lost_before_either_run_is_no_change() -> None:
    changes = between(rack(x=LOST), rack(x=LOST))
    assert changes.changes == ()
    assert {u.names[-1] for u in changes.not_known} >= {"limit", "mode"}


@pytest.mark.parametrize("code", ["asleep", "denied", "failed", "timed_out", "settling"])
def test_a_device_that_nobody_could_ask_is_one_line_and_not_gone(code: GapCode) -> None:
    silent = Card(**dict.fromkeys(GONE, Gap(code)), slot=3)
    assert told(between(rack(x=TWIN, y=WELL), rack(x=TWIN, y=silent))) == [("rack/y", "went dark", "seen", Gap(code))]
    assert told(between(rack(x=TWIN, y=silent), rack(x=TWIN, y=WELL))) == [
        ("rack/y", "came to light", Gap(code), "seen")
    ]


def test_what_others_say_of_a_device_that_nobody_could_ask_goes_dark_with_it() -> None:
    with_peer = Card(uuid="2", limit=700, peers=Map({"y": Peer(status="ok"), "z": Peer(status="ok")}))
    without = Card(uuid="2", limit=700, peers=Map({"z": Peer(status="ok")}))
    asleep = Card(**dict.fromkeys(GONE, Gap("asleep")), slot=3)
    changes = between(rack(x=with_peer, y=WELL), rack(x=without, y=asleep)).changes
    assert {(c.text, c.first.verdict, c.follows) for c in changes} == {
        ("rack/y", "went dark", None),
        ("rack/x/peers/y", "went dark", "rack/y"),
    }


def test_of_an_item_that_came_or_went_nothing_is_told_but_that_it_was_there() -> None:
    assert told(between(rack(x=TWIN, y=WELL), rack(x=TWIN))) == [
        ("rack/y", "vanished", "seen", Gap("absent", "no such key"))
    ]
