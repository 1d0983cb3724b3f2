"""What was it while the command ran?"""

from typing import Any

from fingerprint.diff import Changes, compare
from fingerprint.runs.effective import Effective, effective, resolve
from fingerprint.runs.record import AnyRecord, Passed, Process, Snapped
from fingerprint.snapshot import Key, Reading, reading_of
from probes.kit.facts import Gap, Map, Redacted, Section
from tests.diff.made_up import Device, Links, Made, Task, known, snapshot
from tests.runs.recorded import run

KEY = Key("made")
MAIN = Key("process", "main")


def taken(**moments: Section | Reading) -> Effective:
    """The effective state of a run with one section `made` per moment."""
    snapshots = {name: snapshot({"made": section}, id_=name, at=n) for n, (name, section) in enumerate(moments.items())}
    names: Any = moments
    return effective(run(*(Snapped(at=1, moment=name, snapshot=name) for name in names)), snapshots)


def started(*records: AnyRecord) -> Effective:
    return effective(run(*records), {})


def passed(task: Section) -> Passed:
    return Passed(at=1, area="process", reading=reading_of(task))


def read(task: Section, target: str = "main") -> Process:
    return Process(at=2, area="process", target=target, reading=reading_of(task))


def compared(a: Effective, b: Effective) -> Changes:
    return compare(a, b, known=known)


def test_a_reading_under_load_stands_alone() -> None:
    state = taken(before=Made(mode="a"), during=Made(mode="b"), after=Made(mode="c"))
    assert resolve(state.sections[KEY], Made).section == Made(mode="b")
    assert state.sections[KEY].under_load


def test_a_failed_reading_under_load_leaves_before_and_after() -> None:
    state = taken(before=Made(mode="a"), during=Reading("timed_out"), after=Made(mode="a"))
    assert resolve(state.sections[KEY], Made).section == Made(mode="a")


def test_equal_digests_are_not_decoded() -> None:
    state = taken(before=Made(mode="a", heat=1), after=Made(mode="a", heat=2))
    assert (state.sections[KEY].later, compared(state, state).changes) == (None, ())


def test_a_fact_that_changed_in_between_is_unsteady_and_only_that_one() -> None:
    state = taken(before=Made(mode="a", bytes=1), after=Made(mode="b", bytes=1))
    assert list(resolve(state.sections[KEY], Made).unsteady) == [("mode",)]


def test_where_one_side_is_a_gap_the_other_stands() -> None:
    state = taken(before=Made(mode=Gap("denied"), bytes=1), after=Made(mode="b", bytes=Gap("timed_out")))
    resolved = resolve(state.sections[KEY], Made)
    assert (resolved.section, dict(resolved.unsteady)) == (Made(mode="b", bytes=1), {})


def test_a_device_that_was_lost_while_the_command_ran_is_unsteady() -> None:
    state = taken(
        before=Made(devices=Map({"0": Device(limit=1)})), after=Made(devices=Map({"0": Device(limit=Gap("lost"))}))
    )
    assert list(resolve(state.sections[KEY], Made).unsteady) == [("devices", "0", "limit")]


def test_a_key_that_came_in_between_is_unsteady() -> None:
    state = taken(before=Made(variables=Map({})), after=Made(variables=Map({"X": "1"})))
    assert list(resolve(state.sections[KEY], Made).unsteady) == [("variables", "X")]


def test_digests_under_two_keys_are_no_change_during_the_run() -> None:
    by_service, by_the_run = Redacted("1", "a"), Redacted("2", "b")
    state = taken(before=Made(variables=Map({"X": by_service})), after=Made(variables=Map({"X": by_the_run})))
    resolved = resolve(state.sections[KEY], Made)
    assert (resolved.section, dict(resolved.unsteady)) == (Made(variables=Map({"X": by_service})), {})


def test_a_difference_within_the_tolerance_is_steady() -> None:
    state = taken(before=Made(links=Links(width=8)), after=Made(links=Links(width=9)))
    assert not resolve(state.sections[KEY], Made).unsteady


def test_when_all_readings_failed_the_last_outcome_is_told() -> None:
    standing = taken(before=Reading("timed_out", "one"), after=Reading("failed", "two")).sections[KEY]
    assert (standing.outcome, standing.detail, standing.blob) == ("failed", "two", None)


def test_a_snapshot_that_could_not_be_loaded_is_passed_over() -> None:
    state = effective(run(Snapped(at=1, moment="before", snapshot="gone")), {})
    assert (state.sections, state.first) == ({}, 10**18)


def test_what_exec_was_given_stands_until_a_reading_replaces_it() -> None:
    only_given = started(passed(Task(nice=5)))
    replaced = started(passed(Task(nice=5)), read(Task(nice=7)))
    assert resolve(only_given.sections[MAIN], Task).assumed == {("nice",)}
    assert resolve(replaced.sections[MAIN], Task).section == Task(nice=7)
    assert not resolve(replaced.sections[MAIN], Task).assumed


def test_a_gap_of_the_reading_is_filled_by_what_exec_was_given() -> None:
    state = started(passed(Task(nice=5, operands=("x",))), read(Task(nice=Gap("denied"), operands=("y",))))
    resolved = resolve(state.sections[MAIN], Task)
    assert (resolved.section, resolved.assumed) == (Task(nice=5, operands=("y",)), {("nice",)})


def test_a_run_that_was_read_and_one_that_was_not_are_compared_by_what_both_were_given() -> None:
    """`taskset` sets the affinity after exec: the reading knows, what exec was given does not."""
    was_read = started(passed(Task(nice=0)), read(Task(nice=5)))
    too_short = started(passed(Task(nice=0)))
    assert compared(was_read, too_short).changes == ()
    assert compared(too_short, was_read).changes == ()
    assert compared(was_read, too_short).ruled_out == {"process": 1}


def test_what_exec_was_given_differently_is_a_change_though_one_run_was_not_read() -> None:
    was_read = started(passed(Task(nice=0)), read(Task(nice=0)))
    too_short = started(passed(Task(nice=9)))
    assert [(c.text, c.first.before, c.first.after) for c in compared(was_read, too_short).changes] == [
        ("process/main/nice", 0, 9)
    ]


def test_a_variable_that_only_one_run_was_given_is_a_change_though_one_was_not_read() -> None:
    was_read = started(passed(Task(env=Map({"X": "1"}))), read(Task(env=Map({"X": "1", "SET_BY_A_WRAPPER": "1"}))))
    too_short = started(passed(Task(env=Map({"X": "1", "Y": "2"}))))
    assert [(c.text, c.first.verdict) for c in compared(was_read, too_short).changes] == [
        ("process/main/env/Y", "appeared")
    ]


def test_what_neither_reading_nor_exec_tells_for_both_runs_is_not_known() -> None:
    was_read, too_short = started(read(Task(nice=5))), started(passed(Task(nice=0)))
    assert [(u.names, u.a, u.b) for u in compared(was_read, too_short).not_known] == [
        ((), "seen", "not_read"),
        (("nice",), "seen", "not_read"),
    ]


def test_that_nobody_read_the_process_is_said_though_what_both_were_given_is_equal() -> None:
    too_short = started(passed(Task(nice=0)))
    changes = compared(too_short, too_short)
    assert [(str(u.key), u.names, u.a, u.b) for u in changes.not_known] == [
        ("process/main", (), "not_read", "not_read")
    ]
    assert changes.ruled_out == {"process": 1}
