"""Each verdict by a small example; what is folded; what is paired."""

from typing import Any

import msgspec
import pytest

from fingerprint.diff import Changes, Folded, compare
from fingerprint.diff.changes import Unsteady
from fingerprint.runs.effective import Effective
from fingerprint.snapshot import Reading, reading_of
from probes.kit.facts import Document, Gap, Map, Redacted
from probes.libraries.sections import Libraries, Package
from probes.process import Process
from probes.process.sections import Program
from tests.diff.made_up import Device, Links, Made, Task, known, made, state_of


def compared(a: Effective, b: Effective, **more: Any) -> Changes:
    return compare(a, b, known=known, **more)


def the_change(a: Effective, b: Effective) -> Folded:
    changes = compared(a, b).changes
    assert len(changes) == 1, [change.text for change in changes]
    return changes[0]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ({"mode": "a"}, {"mode": "b"}, "changed"),
        ({"name": "a"}, {"name": "b"}, "another part"),
        ({"mode": "a"}, {"mode": Gap("absent")}, "vanished"),
        ({"mode": Gap("absent")}, {"mode": "a"}, "appeared"),
        ({"mode": "a"}, {"mode": Gap("lost")}, "vanished"),
        ({"mode": "a"}, {"mode": Gap("denied")}, "went dark"),
        ({"mode": Gap("timed_out")}, {"mode": "a"}, "came to light"),
        ({"variables": Map({})}, {"variables": Map({"X": "1"})}, "appeared"),
        ({"variables": Map({"X": "1"})}, {"variables": Map({})}, "vanished"),
        ({"variables": Map({"X": Redacted("k", "1")})}, {"variables": Map({"X": Redacted("k", "2")})}, "changed"),
        (
            {"variables": Map({"X": Redacted("k", "1")})},
            {"variables": Map({"X": Redacted("l", "2")})},
            "not comparable",
        ),
    ],
)
def test_the_verdict_of_one_fact(before: dict[str, Any], after: dict[str, Any], verdict: str) -> None:
    assert the_change(made(**before), made(**after)).first.verdict == verdict


def test_a_fact_that_one_side_never_looked_at_is_not_known_and_no_drift() -> None:
    changes = compared(made(mode="a"), made(mode="a", after_mode=1))
    assert changes.changes == ()
    assert [(u.names, u.a, u.b) for u in changes.not_known] == [(("after_mode",), "not_read", "seen")]


def test_a_gap_on_both_sides_is_unknown_and_never_equal() -> None:
    same = compared(made(mode=Gap("denied")), made(mode=Gap("denied")))
    other = compared(made(mode=Gap("denied")), made(mode=Gap("absent")))
    assert (same.ruled_out, [(u.a, u.b) for u in same.not_known]) == ({}, [("denied", "denied")])
    assert (other.ruled_out, [(u.a, u.b) for u in other.not_known]) == ({}, [("denied", "absent")])


def test_a_section_that_failed_whole_is_said_once() -> None:
    changes = compared(state_of({"made": Made(mode="a")}), state_of({"made": Reading("timed_out", "hung since noon")}))
    assert [(str(u.key), u.names, u.a, u.b, u.detail) for u in changes.not_known] == [
        ("made", (), "seen", "timed_out", "hung since noon")
    ]


def test_an_area_that_one_side_lacks_was_not_read_then() -> None:
    changes = compared(state_of({}), state_of({"made": Made(mode="a")}))
    assert [(u.a, u.b) for u in changes.not_known] == [("not_read", "seen")]


def test_an_area_of_another_release_is_compared_by_digest_alone() -> None:
    a, b = state_of({"later": Made(mode="a")}), state_of({"later": Made(mode="b")})
    assert compared(a, a).ruled_out == {"later": 1}
    assert [u.detail for u in compared(a, b).not_known] == ["this release does not know the area"]


def test_a_stored_section_that_no_longer_fits_is_not_known() -> None:
    reading = reading_of(Made(mode="a"))
    assert reading.lasting is not None
    odd = msgspec.structs.replace(reading.lasting, body=msgspec.Raw(b'{"mode":1}'), digest="odd")
    changes = compared(made(mode="a"), state_of({"made": msgspec.structs.replace(reading, lasting=odd)}))
    assert "stored by another release" in changes.not_known[0].detail


def test_telemetry_and_counters_are_not_compared() -> None:
    changes = compared(made(mode="a", heat=1, events=1), made(mode="a", heat=9, events=9))
    assert (changes.changes, changes.ruled_out) == ((), {"made": 1})


def test_a_difference_within_the_tolerance_is_none() -> None:
    a, within, beyond = (made(links=Links(width=width)) for width in (8, 9, 10))
    assert compared(a, within).changes == ()
    assert compared(a, within).ruled_out == {"made": 1}
    assert the_change(a, beyond).text == "made/links/width"


def test_a_document_tells_only_the_parts_that_differ() -> None:
    change = the_change(
        made(document=Document({"a": 1, "b": [1, 2]})), made(document=Document({"a": 1, "b": [1, 3], "c": 4}))
    )
    assert change.first.before == {"root['b'][1]": 2, "root['c']": "absent"}
    assert change.first.after == {"root['b'][1]": 3, "root['c']": 4}


def test_a_state_that_had_not_settled_is_not_comparable() -> None:
    a, b = (made(devices=Map({"0": Device(speed=speed)})) for speed in (1, 2))
    assert the_change(a, b).first.verdict == "not comparable"
    assert [u.says for u in compared(a, a).not_known] == ["equal, and read while not gpu busy"]


def test_what_was_declared_is_intended_and_so_is_its_consequence() -> None:
    a, b = made(mode="a", after_mode=1, bytes=1), made(mode="b", after_mode=2, bytes=2)
    changes = compared(a, b, waivers=["made/mode"])
    assert [change.text for change in changes.changes] == ["made/bytes"]
    assert [(change.text, change.follows) for change in changes.intended] == [
        ("made/mode", None),
        ("made/after_mode", "made/mode"),
    ]


def test_a_chain_of_consequences_leads_to_its_first_cause() -> None:
    changes = compared(made(mode="a", after_mode=1, after_that=1), made(mode="b", after_mode=2, after_that=2)).changes
    assert {change.text: change.follows for change in changes} == {
        "made/mode": None, "made/after_mode": "made/mode", "made/after_that": "made/mode",
    }  # fmt: skip


def test_a_consequence_without_its_cause_stands_for_itself() -> None:
    assert the_change(made(mode="a", after_mode=1), made(mode="a", after_mode=2)).follows is None


@pytest.mark.parametrize(("set_", "zeroed"), [("ratio", "bytes"), ("bytes", "ratio")])
def test_of_two_facts_that_zero_each_other_the_one_that_was_set_leads(set_: str, zeroed: str) -> None:
    changes = compared(made(**{set_: 0, zeroed: 7}), made(**{set_: 9, zeroed: 0})).changes
    assert {change.text: change.follows for change in changes} == {
        f"made/{set_}": None,
        f"made/{zeroed}": f"made/{set_}",
    }


def test_a_fact_follows_one_of_its_own_process_only() -> None:
    a = state_of({"process/main": Task(nice=0, weight=1), "process/main.x.1": Task(nice=0, weight=1)})
    b = state_of({"process/main": Task(nice=5, weight=1), "process/main.x.1": Task(nice=0, weight=2)})
    assert {change.text: change.follows for change in compared(a, b).changes} == {
        "process/main/nice": None,
        "process/main.x.1/weight": None,
    }


def test_what_a_descendant_is_started_with_follows_from_what_its_starter_was_given() -> None:
    a, b = (
        state_of({"process/main": Task(env=Map({"TP": n})), "process/main.x.1": Task(operands=("--tp", n))})
        for n in "12"
    )
    assert {change.text: change.follows for change in compared(a, b).changes} == {
        "process/main/env/TP": None,
        "process/main.x.1/operands": "process/main/env/TP",
    }


def test_what_a_descendant_has_from_its_starter_is_the_starters_change_and_no_consequence_of_another() -> None:
    names = ("process/main", "process/main.x.1")
    a, b = (state_of({name: Task(operands=(n,), env=Map({"TP": n})) for name in names}) for n in "12")
    assert {change.text: change.follows for change in compared(a, b).changes} == {
        "process/*/operands": None,
        "process/*/env/TP": None,
    }


def test_what_several_descendants_lack_alike_is_a_change_of_all_of_them_and_of_none_by_another() -> None:
    workers = ("process/main.x.1", "process/main.x.2")
    everything, nothing = Task(env=Map({"A": "1", "B": "2"})), Task(env=Map({}))
    a = state_of({"process/main": everything, **dict.fromkeys(workers, everything)})
    b = state_of({"process/main": everything, **dict.fromkeys(workers, nothing)})
    found = compare(a, b, known=known).changes
    assert [(change.text, change.on, change.follows) for change in found] == [
        ("process/*/env/A", "2/3", None),
        ("process/*/env/B", "2/3", None),
    ]


def test_a_starter_follows_none_of_its_descendants() -> None:
    a, b = (state_of({"process/main": Task(operands=(n,)), "process/main.x.1": Task(env=Map({"TP": n}))}) for n in "12")
    assert {change.follows for change in compared(a, b).changes} == {None}


def test_a_fact_of_a_process_may_follow_one_of_the_host() -> None:
    a, b = (state_of({"made": Made(mode=mode), "process/main": Task(cap=cap)}) for mode, cap in (("a", 1), ("b", 2)))
    assert {change.text: change.follows for change in compared(a, b).changes} == {
        "made/mode": None,
        "process/main/cap": "made/mode",
    }


def test_the_same_change_of_a_process_and_its_descendants_is_one_line() -> None:
    names = ("process/main", "process/main.x.1", "process/main.x.2")
    a, b = (state_of({name: Task(nice=nice, weight=nice + 1) for name in names}) for nice in (0, 5))
    assert [(change.text, change.on, change.follows) for change in compared(a, b).changes] == [
        ("process/*/nice", "3/3", None),
        ("process/*/weight", "3/3", "process/*/nice"),
    ]


def test_the_same_change_on_many_devices_is_one_line_and_another_change_another() -> None:
    a = made(devices=Map({str(n): Device(uuid=f"u{n}", limit=600) for n in range(8)}))
    b = made(devices=Map({str(n): Device(uuid=f"u{n}", limit=450 if n else 300) for n in range(8)}))
    assert [(change.text, change.on, change.first.after) for change in compared(a, b).changes] == [
        ("made/devices/0/limit", "1/8", 300),
        ("made/devices/*/limit", "7/8", 450),
    ]


def test_variables_that_cannot_be_compared_are_one_line() -> None:
    a, b = (made(variables=Map({n: Redacted(key, n) for n in "XYZ"})) for key in "kl")
    assert [(change.text, len(change.changes)) for change in compared(a, b).changes] == [("made/variables/*", 3)]


def test_variables_with_the_same_change_stay_apart() -> None:
    a, b = (made(variables=Map({"X": value, "Y": value})) for value in "12")
    assert [change.text for change in compared(a, b).changes] == ["made/variables/X", "made/variables/Y"]


def test_processes_that_come_or_go_are_context() -> None:
    a, b = (
        state_of({"process/main": Task(nice=0)}),
        state_of({"process/main": Task(nice=0), "process/main.x.1": Task(nice=0)}),
    )
    change = the_change(a, b)
    assert (change.text, change.first.verdict, change.first.context) == ("process/main.x.1", "appeared", True)


def test_siblings_that_started_in_another_order_are_paired_by_their_state() -> None:
    first, second = Task(nice=0, operands=("a",)), Task(nice=0, operands=("b",))
    a = state_of({"process/main.x.1": first, "process/main.x.2": second})
    b = state_of({"process/main.x.1": second, "process/main.x.2": first})
    assert compared(a, b).changes == ()


def test_a_descendants_temporary_paths_are_no_suspects() -> None:
    a, b = (state_of({"process/main.cc.1": Task(operands=("-o", f"/tmp/cc{n}.s"))}) for n in (1, 2))
    assert the_change(a, b).first.context
    a, b = (state_of({"process/main": Task(operands=("-o", f"/tmp/cc{n}.s"))}) for n in (1, 2))
    assert not the_change(a, b).first.context


@pytest.mark.parametrize(("held", "told"), [(("x", "x"), True), (("x", "y"), False), ((Gap("absent"),) * 2, False)])
def test_a_script_that_is_written_anew_for_each_start_is_no_suspect(held: tuple[Any, Any], told: bool) -> None:
    a, b = (
        state_of({"process/main.bash.1": Process(program=Program(path=f"/tmp/tmp{n}", sha256=held[n]))}) for n in (0, 1)
    )
    [path] = [it.first for it in compare(a, b).changes if it.text.endswith("/path")]
    assert path.context is told


def test_a_unit_that_moved_is_compared_with_itself_and_the_move_is_stated() -> None:
    a = made(devices=Map({"0": Device(uuid="u", limit=1), "1": Device(uuid="v", limit=2)}))
    b = made(devices=Map({"0": Device(uuid="v", limit=2), "1": Device(uuid="u", limit=1)}))
    changes = compared(a, b)
    assert changes.changes == ()
    assert [(p.a, p.b, p.how) for p in changes.pairing[1:]] == [("0", "1", "unit moved"), ("1", "0", "unit moved")]


def test_another_unit_in_the_same_slot_is_another_part() -> None:
    a, b = (made(devices=Map({"0": Device(uuid=unit, limit=1)})) for unit in "uv")
    assert the_change(a, b).first.verdict == "another part"
    assert [p.how for p in compared(a, b).pairing[1:]] == ["slot has another unit"]


def test_devices_of_another_host_are_paired_by_order() -> None:
    a = state_of({"made": Made(devices=Map({"17": Device(limit=1), "18": Device(limit=1)}))})
    b = state_of({"made": Made(devices=Map({"65": Device(limit=1), "66": Device(limit=2)}))}, host="other")
    changes = compared(a, b)
    assert [(p.a, p.b, p.how) for p in changes.pairing[1:]] == [
        ("17", "65", "paired by order"),
        ("18", "66", "paired by order"),
    ]
    assert [change.text for change in changes.changes] == ["made/devices/18/limit"]


def test_a_unit_is_compared_with_itself_whatever_its_host_is_called() -> None:
    a = state_of({"made": Made(devices=Map({"17": Device(uuid="u", limit=1), "18": Device(uuid="v", limit=2)}))})
    devices = Map({"17": Device(uuid="v", limit=2), "65": Device(uuid="u", limit=1)})
    changes = compared(a, state_of({"made": Made(devices=devices)}, host="other"))
    assert [(p.a, p.b, p.how) for p in changes.pairing[1:]] == [("17", "65", "unit moved"), ("18", "17", "unit moved")]
    assert changes.changes == ()


def test_a_device_that_is_gone_is_one_change() -> None:
    a = made(devices=Map({"0": Device(uuid="u", limit=1), "1": Device(uuid="v", limit=1)}))
    b = made(devices=Map({"0": Device(uuid="u", limit=1)}))
    change = the_change(a, b)
    assert (change.text, change.first.verdict, change.on) == ("made/devices/1", "vanished", "1/2")


def test_only_equal_schemas_are_pruned_by_digest() -> None:
    reading = reading_of(Made(mode="a"))
    assert reading.lasting is not None
    older = msgspec.structs.replace(reading, lasting=msgspec.structs.replace(reading.lasting, schema="older"))
    assert compared(made(mode="a"), state_of({"made": older})).ruled_out == {"made": 1}


def test_a_fact_that_changed_while_one_run_ran_is_said_with_both_values() -> None:
    a = made(mode="a", bytes=1)
    b = made(mode="a", bytes=1)
    after = reading_of(Made(mode="b", bytes=1)).lasting
    ((key, standing),) = b.sections.items()
    b = msgspec.structs.replace(b, sections={key: msgspec.structs.replace(standing, later=after)})
    changes = compared(a, b)
    assert [(c.text, c.first.verdict, c.first.before, c.first.after) for c in changes.changes] == [
        ("made/mode", "changed during the run", "a", Unsteady("a", "b"))
    ]
    assert changes.ruled_out == {"made": 1}
    alike = compared(b, b).changes
    assert [(c.first.context, c.first.says) for c in alike] == [(True, "it changed alike in both runs")]


def test_two_packages_of_one_version_are_two_changes() -> None:
    """`libraries/*/packages/*/version 2.5.1 -> 2.6.0` would tell nobody that it is torch."""
    a, b = (
        state_of(
            {"libraries": Libraries(packages=Map({name: Package(version=version) for name in ("torch", "vision")}))}
        )
        for version in ("2.5.1", "2.6.0")
    )
    found = [change.text for change in compare(a, b).changes]
    assert found == ["libraries/packages/torch/version", "libraries/packages/vision/version"]
