"""Keeping a store in order."""

import time
from pathlib import Path

import pytest

from fingerprint.runs.record import Marked, Noted, Opened
from fingerprint.store import Store, StoreError
from tests.store.samples import opened, short_run, snapshot, store_at, whole_run

DAY = 86_400_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_at(tmp_path)


def count(store: Store, table: str) -> int:
    with store._database.reading() as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_good_and_note_are_records_of_the_run(store: Store) -> None:
    run_id = short_run(store)
    store.good(run_id)
    store.note(run_id, "after the driver update")
    _, _, good, note = store.records(run_id)
    assert isinstance(good, Marked)
    assert good.good
    assert isinstance(note, Noted)
    assert note.text == "after the driver update"


def test_a_renamed_series_keeps_its_attempts_and_its_records_tell_the_new_name(store: Store) -> None:
    ids = [short_run(store, "old") for _ in range(2)]
    store.rename("old", "new")
    assert [(str(row), row.id) for row in store.runs()] == [("new#1", ids[0]), ("new#2", ids[1])]
    first = store.records(ids[1])[0]
    assert isinstance(first, Opened)
    assert (first.name, first.attempt) == ("new", 2)


def test_a_series_is_not_renamed_to_a_name_that_is_taken_or_that_nobody_could_write(store: Store) -> None:
    short_run(store, "a")
    short_run(store, "b")
    with pytest.raises(StoreError, match="runs named b exist already"):
        store.rename("a", "b")
    with pytest.raises(StoreError, match="no run named c"):
        store.rename("c", "d")
    with pytest.raises(StoreError, match="letters, digits"):
        store.rename("a", "a b")
    assert {row.name for row in store.runs()} == {"a", "b"}


def test_a_removed_run_takes_along_what_only_it_needed(store: Store) -> None:
    kept, gone = whole_run(store, "kept", speed=1), whole_run(store, "gone", speed=2)
    store.save(alone := snapshot(speed=3))
    kept_records = store.records(kept)
    removed = store.remove([gone])
    assert ([row.id for row in removed.runs], removed.snapshots, removed.blobs) == ([gone], 2, 1)
    assert store.records(kept) == kept_records
    assert store.snapshot(alone.id) == alone
    assert [count(store, table) for table in ("run", "snapshot", "manifest", "blob")] == [1, 3, 2, 3]
    with pytest.raises(StoreError, match="no run"):
        store.records(gone)


def test_a_removal_with_an_unknown_id_removes_nothing(store: Store) -> None:
    run_id = whole_run(store)
    with pytest.raises(StoreError, match="no run 01UNKNOWN"):
        store.remove([run_id, "01UNKNOWN"])
    assert len(store.runs()) == 1


def test_the_file_becomes_smaller_when_runs_are_removed(store: Store) -> None:
    ids = []
    for number in range(30):
        ids.append(short_run(store, "a"))
        store.note(ids[-1], bytes(range(256)).hex() * number * 20)
    store._database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    full = store.path.stat().st_size
    store.remove(ids)
    store._database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert store.path.stat().st_size < full / 2


def test_prune_keeps_the_newest_of_each_benchmark_and_the_good_ones(store: Store) -> None:
    ids = [whole_run(store, "a", benchmark, at=day * DAY) for day, benchmark in enumerate("xxxxyy", 1)]
    store.append(ids[0], Marked(1 * DAY, True))
    removed = store.prune(older_than=4 * DAY, keep_last=1)
    assert [row.id for row in removed.runs] == [ids[2], ids[1]]
    assert [row.id for row in store.runs()] == [ids[0], *ids[3:]]
    assert [row.id for row in store.prune(keep_last=1, keep_good=False).runs] == [ids[4], ids[0]]


def test_prune_removes_old_snapshots_that_belong_to_no_run(store: Store) -> None:
    run_id = whole_run(store, at=1 * DAY)
    for day in (1, 2, 3):
        store.save(snapshot(day * DAY))
    removed = store.prune(older_than=3 * DAY, keep_last=1)
    assert (removed.runs, removed.snapshots) == ((), 2)
    assert len(store.snapshots()) == 3
    assert len(store.records(run_id)) == 11
    assert store.prune(keep_last=1).snapshots == 0


def test_prune_leaves_a_run_that_may_still_be_running(store: Store) -> None:
    now = time.time_ns()
    running = store.open_run("running", lambda attempt: opened("running", attempt, at=now - 1000))
    dead = store.open_run("dead", lambda attempt: opened("dead", attempt, at=now - 2 * DAY))
    assert [row.id for row in store.prune().runs] == [dead]
    assert [row.id for row in store.runs()] == [running]
