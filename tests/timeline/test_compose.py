"""All that stores hold of a host and a time becomes one list: what was noticed, what readings tell, what ran."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from fingerprint.ids import new_id
from fingerprint.report.json import render, schema
from fingerprint.runs.record import AnyRecord, Closed, Measured, Process, Snapped
from fingerprint.snapshot import reading_of
from fingerprint.store import Event, Store
from fingerprint.timeline import Asked, timeline
from fingerprint.timeline.contract import Timeline
from fingerprint.timeline.found import MOST_RUNS
from fingerprint.words import moment
from probes.kit.facts import Map, Section
from probes.kit.probe import Probe
from tests.diff.made_up import KNOWN, Device, Made, Task, snapshot
from tests.runs.recorded import SECOND, measured, opened

START = 1_768_510_800 * SECOND
HOUR = 3600 * SECOND
END = START + 24 * HOUR


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.db") as found:
        yield found


def at(hours: float) -> int:
    return START + int(hours * HOUR)


def kept(
    store: Store, name: str, hours: float, made: Section, task: Section | None = None, *more: AnyRecord, **of: Any
) -> str:
    """A run of half an hour with a snapshot before and after it."""
    begun, ended = at(hours), at(hours) + HOUR // 2
    run_id = store.open_run(name, lambda attempt: opened(name, at=begun, attempt=attempt, **of))
    for when, taken_at in (("before", begun + SECOND), ("after", ended - SECOND)):
        taken = snapshot({"made": made}, host=of.get("host", "h"), at=taken_at, id_=new_id())
        store.save(taken)
        store.append(run_id, Snapped(taken_at, when, taken.id))  # type: ignore[arg-type]
    if task is not None:
        store.append(run_id, Process(at=begun, area="process", target="main", reading=reading_of(task)))
    for record in (*more, Closed(ended, "exited", 0)):
        store.append(run_id, record)
    return run_id


def noticed(store: Store, kind: Any, since: float, until: float, what: str = "", **more: Any) -> None:
    """Hours since the start."""
    store.add_events([Event(new_id(), "h", at(since), at(until), kind, what, **more)])


def known(area: str) -> Probe[Section] | None:
    return KNOWN.get(area)


def told(*sources: Store, alive: bool = False, **asked: Any) -> Timeline:
    given: dict[str, Any] = {"hosts": ("h",), "since": START, "until": END} | asked
    found = timeline(sources, Asked(**given), lambda _opener: alive, known)
    jsonschema.validate(json.loads(render(found)), schema(Timeline), cls=jsonschema.Draft202012Validator)
    assert msgspec.json.decode(render(found), type=Timeline) == found
    return found


def brief(found: Timeline) -> list[tuple[str, str, Any, Any]]:
    return [(event.kind, event.what, event.was, event.is_) for event in found.events]


def test_nothing_kept_says_so_and_what_to_ask_for(store: Store) -> None:
    found = told(store)
    assert found.says == "h: nothing is kept of this time: --since asks for more of it, --host for another host."
    assert (found.events, found.runs, found.notes) == ((), (), ())


# What readings tell where nobody watched.


def test_a_state_that_differs_from_one_run_to_the_next_changed_between_their_readings(store: Store) -> None:
    a, b = kept(store, "run-A", 1, Made(mode="a")), kept(store, "run-B", 5, Made(mode="b"))
    (event,) = told(store).events
    assert (event.kind, event.what, event.was, event.is_) == ("state", "made/mode", "a", "b")
    assert (event.since, event.until) == (moment(at(1.5) - SECOND), moment(at(5)))
    assert (event.told_by, event.runs) == ("readings", (a, b))


def test_what_follows_from_a_change_stands_beside_it(store: Store) -> None:
    kept(store, "run-A", 1, Made(mode="a", after_mode=1))
    kept(store, "run-B", 5, Made(mode="b", after_mode=2))
    assert [(event.what, event.follows) for event in told(store).events] == [("made/mode", ("made/after_mode",))]


def test_many_devices_that_changed_alike_are_one(store: Store) -> None:
    for name, hours, limit in (("run-A", 1, 600), ("run-B", 5, 450)):
        kept(store, name, hours, Made(devices=Map({key: Device(limit=limit) for key in "123"})))
    (event,) = told(store).events
    assert (event.what, event.count, event.unit) == ("made/devices/*/limit", 3, "mW")


def test_a_section_that_a_snapshot_did_not_read_stands_as_it_was_read_before(store: Store) -> None:
    for hours, sections in ((1, {"made": Made(mode="a")}), (2, {}), (3, {"made": Made(mode="b")})):
        store.save(snapshot(sections, at=at(hours), id_=new_id()))
    (event,) = told(store).events
    assert (event.since, event.until) == (moment(at(1)), moment(at(3)))


def test_a_quiet_time_narrows_when_it_changed(store: Store) -> None:
    for hours, mode in ((1, "a"), (1.9, "a"), (3, "b")):
        store.save(snapshot({"made": Made(mode=mode)}, at=at(hours), id_=new_id()), keep_volatile=False)
    (event,) = told(store).events
    assert (event.since, event.until) == (moment(at(1.9)), moment(at(3)))


def test_what_was_read_last_before_the_time_asked_for_is_what_a_change_is_held_against(store: Store) -> None:
    store.save(snapshot({"made": Made(mode="a")}, at=at(-30), id_=new_id()))
    store.save(snapshot({"made": Made(mode="b")}, at=at(2), id_=new_id()))
    assert brief(told(store)) == [("state", "made/mode", "a", "b")]
    assert brief(told(store, until=at(1))) == []


def test_the_same_benchmark_that_was_started_otherwise_is_a_change_between_its_runs(store: Store) -> None:
    kept(store, "run-A", 1, Made(), Task(nice=0))
    kept(store, "other", 3, Made(), Task(nice=9), benchmark="another")
    kept(store, "run-B", 5, Made(), Task(nice=5))
    (event,) = told(store).events
    assert (event.what, event.was, event.is_) == ("process/main/nice", 0, 5)
    assert (event.since, event.until) == (moment(at(1.5)), moment(at(5)))


def test_what_is_kept_of_another_host_is_not_told(store: Store) -> None:
    kept(store, "run-A", 1, Made(mode="a"))
    kept(store, "run-B", 5, Made(mode="b"), host="other")
    assert brief(told(store)) == []
    assert [run.name for run in told(store).runs] == ["run-A"]


def test_that_nobody_watched_is_told_where_there_is_something_to_tell(store: Store) -> None:
    kept(store, "run-A", 1, Made())
    assert told(store).notes[0].startswith("No service watched meanwhile")
    noticed(store, "kernel", 2, 2, "xid")
    assert told(store).notes == ()


# What the service noticed.


def test_what_was_noticed_is_told_in_place_of_what_readings_tell_of_the_same(store: Store) -> None:
    kept(store, "run-A", 1, Made(mode="a", bytes=1))
    kept(store, "run-B", 5, Made(mode="b", bytes=2))
    noticed(store, "state", 3, 3.02, "made/mode", was="a", is_="b")
    assert [(event.what, event.told_by) for event in told(store).events] == [
        ("made/mode", "service"), ("made/bytes", "readings"),
    ]  # fmt: skip


def test_what_was_noticed_of_many_devices_at_one_time_is_one(store: Store) -> None:
    for key in "123":
        noticed(store, "state", 3, 3.02, f"made/devices/{key}/limit", was=600, is_=450)
    noticed(store, "state", 4, 4.02, "made/devices/1/limit", was=450, is_=600)
    assert [(event.what, event.count, event.unit) for event in told(store).events] == [
        ("made/devices/*/limit", 3, "mW"), ("made/devices/1/limit", 1, "mW"),
    ]  # fmt: skip


def test_what_follows_from_what_was_noticed_with_it_stands_under_it(store: Store) -> None:
    for fact, was, is_ in (
        ("after_that", 1, 2),
        ("after_mode", 1, 2),
        ("mode", "a", "b"),
        ("bytes", 1, 2),
        ("ratio", 1, 2),
    ):
        noticed(store, "state", 3, 3.02, f"made/{fact}", was=was, is_=is_)
    noticed(store, "state", 5, 5.02, "made/after_mode", was=2, is_=3)
    assert [(event.what, event.follows) for event in told(store).events] == [
        ("made/bytes", ("made/ratio",)),
        ("made/mode", ("made/after_mode", "made/after_that")),
        ("made/after_mode", ()),
    ]


def test_events_are_in_the_order_in_which_they_were_over_and_of_the_time_asked_for(store: Store) -> None:
    for since, until, what in ((1, 9, "late"), (2, 3, "early"), (-5, -4, "before"), (30, 31, "after")):
        noticed(store, "serving", since, until, what, says="It serves.")
    assert [event.what for event in told(store).events] == ["early", "late"]


def test_a_path_of_another_release_is_told_as_it_was_written(store: Store) -> None:
    noticed(store, "state", 1, 1.1, "gone/x", was=1, is_=2)
    assert brief(told(store)) == [("state", "gone/x", 1, 2)]


# Runs, and the two sides.


def test_a_run_has_what_it_measured_with_its_benchmarks_own_metrics_first(store: Store) -> None:
    records: tuple[Measured, ...] = (measured("wall_time", 4.0), measured("verify_ms", 19.0, 20.0, 24.0, unit="ms"))
    kept(store, "run-A", 1, Made(), None, *records)
    (run,) = told(store).runs
    assert [(it.name, it.value, it.unit) for it in run.metrics] == [("verify_ms", 20.0, "ms"), ("wall_time", 4.0, "s")]
    assert (run.started, run.ended, run.how) == (moment(at(1)), moment(at(1.5)), "exited 0")


@pytest.mark.parametrize(("alive", "how", "has_ended"), [(True, "still open", False), (False, "interrupted", True)])
def test_a_run_that_was_not_closed_is_open_as_long_as_somebody_holds_it(
    store: Store, alive: bool, how: str, has_ended: bool
) -> None:
    store.open_run("run-A", lambda attempt: opened("run-A", at=at(1), attempt=attempt))
    (run,) = told(store, alive=alive).runs
    assert run.how.startswith(how)
    assert bool(run.ended) is has_ended


def test_with_two_sides_it_says_what_lies_between_them(store: Store) -> None:
    a, b = kept(store, "run-A", 1, Made(mode="a")), kept(store, "run-B", 5, Made(mode="b"))
    noticed(store, "boot", 3, 3)
    noticed(store, "kernel", 9, 9, "xid")
    found = told(store, names=("run-A", "run-B"), marks={a: "a", b: "b"})
    assert [run.mark for run in found.runs] == ["a", "b"]
    assert found.says == "Between run-A and run-B on h: 1 boot and made/mode a -> b."


def test_a_run_that_is_in_a_file_and_in_a_store_is_one(store: Store, tmp_path: Path) -> None:
    run_id = kept(store, "run-A", 1, Made())
    (tmp_path / "run.json").write_bytes(store.export([run_id]))
    with Store.of_file(tmp_path / "run.json") as file:
        assert [run.id for run in told(store, file).runs] == [run_id]


def test_readings_of_two_files_are_held_against_each_other(store: Store, tmp_path: Path) -> None:
    for name, hours, mode in (("run-A", 1, "a"), ("run-B", 5, "b")):
        (tmp_path / name).write_bytes(store.export([kept(store, name, hours, Made(mode=mode))]))
    with Store.of_file(tmp_path / "run-A") as one, Store.of_file(tmp_path / "run-B") as other:
        assert brief(told(one, other)) == [("state", "made/mode", "a", "b")]


def test_of_too_many_runs_the_newest_are_told_and_how_many_are_left_out(store: Store) -> None:
    for number in range(MOST_RUNS + 3):
        begun = at(0) + number * SECOND
        run_id = store.open_run("x", lambda attempt, begun=begun: opened("x", at=begun, attempt=attempt))  # type: ignore[misc]
        store.append(run_id, Closed(begun, "exited", 0))
    found = told(store)
    assert len(found.runs) == MOST_RUNS
    assert found.runs[-1].attempt == MOST_RUNS + 3
    assert found.notes[0].startswith("3 older runs of this time are left out")
