"""What the service's store forgets, what it never forgets, and that the file gets smaller."""

import random
import threading
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.runs.record import Noted
from fingerprint.store import Removed, Store, StoreError
from fingerprint.store.schema import ALWAYS
from tests.store.samples import event, opened, segment, short_run, snapshot, store_at, whole_run

HOUR = 3_600_000_000_000
NO_LIMIT = 1 << 60


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_at(tmp_path)


def test_what_is_too_old_goes_and_what_a_person_named_or_marked_stays(store: Store) -> None:
    old, good, new = (segment(store, hour * HOUR, (hour + 1) * HOUR) for hour in (1, 2, 9))
    store.append(good, store.records(whole_run(store, "by-hand", at=1 * HOUR))[-1])
    store.good(good)
    for hour in (1, 9):
        store.save(snapshot(hour * HOUR, speed=5))
        store.add_events([event(hour * HOUR)])
    removed = store.retain(older_than=5 * HOUR, most_bytes=NO_LIMIT)
    assert ([row.id for row in removed.runs], removed.snapshots, removed.events) == ([old], 2, 1)
    assert {row.id for row in store.runs(name="sglang-30000")} == {good, new}
    assert len(store.records(store.runs(name="by-hand")[0].id)) == 11
    assert len(store.records(good)) == 5
    assert [each.since for each in store.events()] == [9 * HOUR]
    assert store.retain(older_than=5 * HOUR, most_bytes=NO_LIMIT) == Removed()


def test_a_server_that_a_person_gave_a_name_is_a_named_run_from_then_on(store: Store) -> None:
    run_id = segment(store, 1 * HOUR, 2 * HOUR)
    store.rename("sglang-30000", "before-the-update")
    assert not store.run(run_id).service
    assert store.retain(older_than=ALWAYS, most_bytes=0).runs == ()
    assert len(store.records(run_id)) == 3


def test_a_server_that_was_taken_in_under_a_name_stays_too(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_bytes(store.export([segment(store, 1 * HOUR, 2 * HOUR)]))
    with Store.open(tmp_path / "other.db") as other:
        other.import_file(file, "kept")
        assert other.retain(older_than=ALWAYS, most_bytes=0).runs == ()
    with Store.open(tmp_path / "third.db") as third:
        third.import_file(file)
        assert len(third.retain(older_than=ALWAYS, most_bytes=0).runs) == 1


def test_a_run_that_goes_on_stays_until_nothing_was_added_for_a_day(store: Store) -> None:
    now = time.time_ns()
    segment(store, now - 26 * HOUR, None)
    going_on = segment(store, now - 2 * HOUR, None)
    assert len(store.retain(older_than=ALWAYS, most_bytes=0).runs) == 1
    assert [row.id for row in store.runs()] == [going_on]
    assert len(store.records(going_on)) == 2


def filled(store: Store) -> None:
    """Some 1.5 MB that pass with time, hour by hour, and 100 kB that do not."""
    for hour in range(1, 61):
        run_id = segment(store, hour * HOUR, (hour + 1) * HOUR)
        store.append(run_id, Noted((hour + 1) * HOUR, random.Random(hour).randbytes(8000).hex()))
        store.save(snapshot(hour * HOUR, speed=hour))
        store.add_events([msgspec.structs.replace(event(hour * HOUR), says=random.Random(hour).randbytes(4000).hex())])
    for _ in range(6):
        store.note(short_run(store, "by-hand", at=1), random.Random(0).randbytes(8000).hex())


def test_what_is_too_large_loses_its_oldest_first_until_it_is_small_enough_and_so_does_the_file(store: Store) -> None:
    filled(store)
    before = store.size()
    most = before // 2
    removed = store.retain(older_than=0, most_bytes=most)
    assert most * 0.8 < store.size() <= most
    assert store.path.stat().st_size == store.size()
    oldest_run = store.runs(name="sglang-30000")[0].last_at
    assert oldest_run > max(row.last_at for row in removed.runs)
    assert store.events()[0].until >= oldest_run - 2 * HOUR
    assert len(store.runs(name="sglang-30000")) + len(removed.runs) == 60
    assert len(store.runs(name="by-hand")) == 6
    assert store.retain(older_than=0, most_bytes=most) == Removed()


def test_where_all_that_is_left_has_a_name_it_stays_however_large_it_is(store: Store) -> None:
    filled(store)
    store.retain(older_than=0, most_bytes=1)
    assert {row.name for row in store.runs()} == {"by-hand"}
    assert (store.events(), store.snapshots()) == ((), ())
    assert store.size() > 1


@given(
    st.lists(st.tuples(st.integers(1, 30), st.booleans(), st.booleans()), max_size=8),
    st.integers(0, 32),
    st.booleans(),
)
def test_no_run_goes_that_is_named_or_good_or_new_unless_there_is_too_much(
    tmp_path_factory: pytest.TempPathFactory,
    made: list[tuple[int, bool, bool]],
    older_than: int,
    is_too_large: bool,
) -> None:
    with store_at(tmp_path_factory.mktemp("store")) as store:
        staying = []
        for hour, by_hand, good in made:
            at = hour * HOUR
            run_id = short_run(store, "by-hand", at=at) if by_hand else segment(store, at, at)
            store.save(snapshot(at))
            if good:
                store.good(run_id)
            if by_hand or good or (hour >= older_than and not is_too_large):
                staying.append(run_id)
        store.retain(older_than=older_than * HOUR, most_bytes=0 if is_too_large else NO_LIMIT)
        assert {row.id for row in store.runs()} == set(staying)
        assert all(store.records(run_id) for run_id in staying)


@pytest.mark.long
def test_others_write_while_much_is_removed(store: Store) -> None:
    for hour in range(1, 30):
        store.add_events(event(hour * HOUR) for _ in range(100))
    waited: list[float] = []
    removing = threading.Event()

    def writing() -> None:
        with Store.open(store.path, patience=2.0) as own:
            while not removing.is_set():
                begun = time.monotonic()
                own.add_events([event(50 * HOUR)])
                waited.append(time.monotonic() - begun)

    writer = threading.Thread(target=writing)
    writer.start()
    try:
        removed = store.retain(older_than=40 * HOUR, most_bytes=NO_LIMIT)
    finally:
        removing.set()
        writer.join()
    assert removed.events == 2900
    assert len(store.events()) == len(waited)
    assert max(waited) < 2.0


def test_a_store_that_is_locked_says_so_and_the_next_time_goes_on(store: Store) -> None:
    segment(store, 1 * HOUR, 2 * HOUR)
    with Store.open(store.path, patience=0.05) as waiting:
        with store._database.writing(), pytest.raises(StoreError, match="locked by another process"):
            waiting.retain(older_than=9 * HOUR, most_bytes=NO_LIMIT)
        assert len(waiting.retain(older_than=9 * HOUR, most_bytes=NO_LIMIT).runs) == 1


def test_prune_takes_events_that_are_older_and_without_an_age_none(store: Store) -> None:
    store.open_run("open", lambda attempt: opened("open", attempt))
    store.add_events([event(1 * HOUR), event(3 * HOUR)])
    assert store.prune(keep_last=1).events == 0
    assert store.prune(older_than=2 * HOUR).events == 1
    assert [each.since for each in store.events()] == [3 * HOUR]
