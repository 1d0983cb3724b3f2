"""Snapshots and runs come back as they were saved."""

import string
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fingerprint.ids import new_id
from fingerprint.metrics import Metric
from fingerprint.runs.record import AnyRecord, Closed, Measured, Noted, Opened, Sampled, Snapped
from fingerprint.snapshot import Key, Reading, Snapshot, reading_of
from fingerprint.store import Store, StoreError
from probes.kit.facts import Gap, Map
from tests.store.samples import (
    MINUTE,
    PROVENANCE,
    Bus,
    Link,
    bus,
    opened,
    records,
    short_run,
    snapshot,
    store_at,
    whole_run,
)

GAPS = st.sampled_from([Gap("denied", "why"), Gap("absent"), Gap("timed_out", "späť\n")])
NUMBERS = st.integers(-(2**70), 2**70) | GAPS
WIDTHS = st.builds(lambda width, errors: Link(width=width, errors=errors), NUMBERS, NUMBERS)


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    if draw(st.booleans()):
        return Reading(draw(st.sampled_from(["failed", "timed_out", "skipped"])), draw(st.text(max_size=9)), 3.25)
    links = draw(st.dictionaries(st.text(max_size=5), WIDTHS, max_size=3))
    return reading_of(Bus(speed=draw(NUMBERS), heat=draw(NUMBERS), links=Map(links)), draw(st.floats(0, 1e6)))


KEYS = st.builds(Key, st.sampled_from(["bus", "cpu", "gpu"]), st.text(string.ascii_letters + "./é", max_size=6))


@given(st.dictionaries(KEYS, readings(), max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_a_loaded_snapshot_equals_the_saved_one(tmp_path: Path, sections: dict[Key, Reading]) -> None:
    saved = Snapshot(new_id(), 7, 0.5, "host", PROVENANCE, sections)
    with store_at(tmp_path) as store:
        assert store.save(saved) == saved.id
        loaded = store.snapshot(saved.id)
    assert loaded == saved
    assert list(loaded.readings) == list(saved.readings)


def test_sections_are_loaded_whole(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    store.save(saved := snapshot(speed=7, heat=9))
    reading = Store.open(store.path, readonly=True).snapshot(saved.id).readings[Key("bus")]
    assert reading.section(Bus) == bus(7, 9)
    assert reading.lasting is not None
    assert reading.lasting.gaps == {"links/0000:18:00.0/width": "denied"}


def test_records_of_every_kind_come_back_in_order(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    store.save(before := snapshot())
    store.save(after := snapshot())
    run_id = store.open_run("run-A", lambda attempt: opened("run-A", attempt, at=5))
    written = records(before.id, after.id)
    for record in written:
        store.append(run_id, record)
    assert store.records(run_id) == (opened("run-A", 1, at=5), *written)


def test_the_list_tells_how_a_run_ended_without_its_records(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    run_id = store.open_run("run-A", lambda attempt: opened("run-A", attempt, at=5))
    assert store.run(run_id).closed is None
    store.append(run_id, closed := Closed(9, "killed", 9, interrupted=True))
    store.good(run_id)
    row = store.runs()[0]
    assert (row.id, str(row), row.closed, row.good, row.opened_at) == (run_id, "run-A#1", closed, True, 5)
    store.good(run_id, False)
    assert not store.run(run_id).good


def test_runs_are_filtered_and_limited_to_the_newest(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    ids = [short_run(store, name, bench) for name, bench in [("a", "x"), ("b", "y"), ("a", "x"), ("c", "x")]]
    assert [row.id for row in store.runs(limit=2)] == ids[2:]
    assert [row.id for row in store.runs(name="a")] == [ids[0], ids[2]]
    assert [row.id for row in store.runs(benchmark="x", limit=1)] == [ids[3]]
    assert store.runs(good=True) == ()


def test_a_quiet_repetition_only_extends_the_last_snapshot(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    first = snapshot(1 * MINUTE, heat=1)
    assert store.save(first, keep_volatile=False) == first.id
    assert store.save(snapshot(2 * MINUTE, heat=2), keep_volatile=False) == first.id
    assert store.save(snapshot(3 * MINUTE, heat=3), keep_volatile=False) == first.id
    (row,) = store.snapshots()
    assert (row.taken_at, row.seen_until) == (1 * MINUTE, 3 * MINUTE)
    assert store.snapshot(first.id) == first


@pytest.mark.parametrize(
    ("later", "keep_volatile"),
    [
        (snapshot(2 * MINUTE, speed=50), False),
        (snapshot(2 * MINUTE), True),
        (snapshot(61 * MINUTE), False),
        (msgspec.structs.replace(snapshot(2 * MINUTE), provenance=msgspec.structs.replace(PROVENANCE, uid=0)), False),
        (msgspec.structs.replace(snapshot(2 * MINUTE), readings={Key("bus"): Reading("failed")}), False),
        (snapshot(1), False),
        (snapshot(2 * MINUTE, host="other"), False),
    ],
    ids=[
        "changed",
        "border of a run",
        "an hour later",
        "another reader",
        "a section failed",
        "clock set back",
        "other host",
    ],
)
def test_a_snapshot_that_is_no_quiet_repetition_is_kept(tmp_path: Path, later: Snapshot, keep_volatile: bool) -> None:
    store = store_at(tmp_path)
    store.save(snapshot(1 * MINUTE), keep_volatile=False)
    assert store.save(later, keep_volatile=keep_volatile) == later.id
    assert store.snapshot(later.id) == later
    assert len(store.snapshots()) == 2


def test_a_state_that_came_back_is_not_quiet_over_the_change(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    for minute, speed in [(1, 100), (2, 50), (3, 100)]:
        store.save(snapshot(minute * MINUTE, speed), keep_volatile=False)
    rows = store.snapshots()
    assert [row.taken_at for row in rows] == [1 * MINUTE, 2 * MINUTE, 3 * MINUTE]
    assert rows[0].manifest == rows[2].manifest != rows[1].manifest


def test_after_the_clock_was_set_back_a_quiet_minute_extends_the_last_one_written(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    for minute in (1500, 60, 61, 62):
        store.save(snapshot(minute * MINUTE), keep_volatile=False)
    assert [(row.taken_at, row.seen_until) for row in store.snapshots()] == [
        (60 * MINUTE, 62 * MINUTE),
        (1500 * MINUTE, 1500 * MINUTE),
    ]


def test_snapshots_of_a_time_are_those_current_in_it(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    for minute, speed in [(1, 100), (3, 100), (4, 50)]:
        store.save(snapshot(minute * MINUTE, speed), keep_volatile=False)
    assert [row.taken_at for row in store.snapshots(since=2 * MINUTE, until=2 * MINUTE)] == [1 * MINUTE]
    assert store.snapshots(host="other") == ()


def test_what_would_not_load_again_is_not_stored(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    run_id = short_run(store)
    known = store.records(run_id)
    unloadable: list[AnyRecord] = [
        Measured(1, Metric("speed", samples=(float("nan"),))),
        Noted(1, "\udcff"),
        Sampled(1, 1, 0, {"a": object()}),  # type: ignore[dict-item]
        Snapped(1, "before", new_id()),
    ]
    for record in unloadable:
        with pytest.raises((ValueError, TypeError)):
            store.append(run_id, record)
    assert store.records(run_id) == known


def test_an_unknown_id_is_refused_by_name(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    asks: list[Callable[[str], object]] = [store.records, store.snapshot, store.run, store.good]
    for ask in asks:
        with pytest.raises(StoreError, match="no (run|snapshot) 01ABC .*`fingerprint runs`"):
            ask("01ABC")


@pytest.mark.parametrize("name", ["", "a b", "a#1", "@good", "a/b", "ä", "a\n"])
def test_a_name_that_no_reference_can_write_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="letters, digits"):
        store_at(tmp_path).open_run(name, lambda attempt: opened(name, attempt))


def open_many(folder: Path, count: int) -> None:
    store = store_at(folder)
    for _ in range(count):
        short_run(store, "series")


@pytest.mark.long
def test_attempts_of_one_name_are_counted_without_gaps_by_four_processes(tmp_path: Path) -> None:
    workers = [get_context("spawn").Process(target=open_many, args=(tmp_path, 25)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    rows = store_at(tmp_path).runs(name="series")
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert sorted(row.attempt for row in rows) == list(range(1, 101))
    assert all(isinstance(store_at(tmp_path).records(row.id)[0], Opened) for row in rows[:3])


def test_equal_sections_are_kept_once(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    for _ in range(20):
        whole_run(store)
    with store._database.reading() as connection:
        counts = [
            connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("blob", "manifest", "snapshot")
        ]
    assert counts == [2, 1, 40]
