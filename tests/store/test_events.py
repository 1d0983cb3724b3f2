"""Events: what is taken in, what is found again, and what happens to them while the store is busy."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.ids import new_id
from fingerprint.store import Event, Store, StoreError, Stores
from tests.store.samples import MINUTE, event, segment, short_run, store_at


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_at(tmp_path)


def test_an_event_is_found_as_it_was_and_in_json_says_is(store: Store) -> None:
    limit = "gpu/0000:17:00.0/power_limit"
    changed = Event(new_id(), "h", 1, 2, "state", limit, 600, {"gap": "denied"}, "It went dark.", "01RUN")
    store.add_events([changed])
    assert store.events() == (changed,)
    assert msgspec.to_builtins(changed)["is"] == {"gap": "denied"}
    assert "was" not in msgspec.to_builtins(event(1))


def test_events_are_asked_for_by_host_kind_what_and_number(store: Store) -> None:
    found = [event(1), event(2, what="aer"), event(3, kind="boot", what="host"), event(4, host="other")]
    store.add_events(reversed(found))
    assert store.events() == tuple(found)
    assert store.events(host="other") == (found[3],)
    assert store.events(kinds=("boot", "suspend")) == (found[2],)
    assert store.events(what="aer") == (found[1],)
    assert store.events(limit=2) == tuple(found[2:])
    assert store.events(limit=0) == ()
    assert store.events(host="h200x8", kinds={"kernel"}, what="xid", since=1, until=1, limit=5) == (found[0],)


Times = st.integers(0, 50)


@given(st.lists(st.tuples(Times, Times), max_size=12), Times, Times)
def test_those_that_may_have_happened_in_the_time_asked_for_are_found_oldest_first(
    tmp_path_factory: pytest.TempPathFactory, brackets: list[tuple[int, int]], since: int, until: int
) -> None:
    with store_at(tmp_path_factory.mktemp("store")) as store:
        store.add_events(event(min(it), max(it)) for it in brackets)
        found = [(each.since, each.until) for each in store.events(since=since, until=until)]
    overlapping = [(min(it), max(it)) for it in brackets if max(it) >= since and min(it) <= until]
    assert sorted(found) == sorted(overlapping)
    assert [last for _, last in found] == sorted(last for _, last in found)


def test_an_event_across_a_clock_that_was_set_back_is_kept_as_it_was_seen(store: Store) -> None:
    jump = Event(new_id(), "h", 90 * MINUTE, 30 * MINUTE, "clock jump", "realtime")
    store.add_events([jump, later := event(100 * MINUTE)])
    assert store.events(since=60 * MINUTE, until=70 * MINUTE) == (jump,)
    assert store.events() == (jump, later)


def test_what_was_added_already_is_left_so_that_trying_again_adds_nothing_twice(store: Store) -> None:
    first, second = event(1), event(2)
    store.add_events([first])
    store.add_events([first, second])
    store.add_events([first, second])
    assert store.events() == (first, second)


Unwritable = {
    "no kind": {"kind": "weather"},
    "no JSON": {"was": object()},
    "no text": {"says": "\udc80"},
    "before 1970": {"since": -1},
    "after the last time": {"until": 1 << 63},
}


@pytest.mark.parametrize("change", Unwritable.values(), ids=Unwritable)
def test_one_that_could_not_be_loaded_again_keeps_all_out_that_came_with_it(
    store: Store, change: dict[str, Any]
) -> None:
    odd = msgspec.structs.replace(event(2), **change)
    with pytest.raises((ValueError, TypeError)):
        store.add_events([event(1), odd, event(3)])
    assert store.events() == ()


def test_events_of_all_stores_come_in_one_order(store: Store, tmp_path: Path) -> None:
    other = Store.open(tmp_path / "other.db")
    store.add_events([event(1), event(3)])
    other.add_events([event(2)])
    assert [each.since for each in Stores([store, other]).events()] == [1, 2, 3]
    assert [each.since for each in Stores([store, other]).events(limit=2)] == [2, 3]


def test_a_damaged_event_says_so(store: Store) -> None:
    store.add_events([event(1)])
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("UPDATE event SET body = '{}'")
        connection.commit()
    with pytest.raises(StoreError, match="holds what this release cannot read .*upgrade fingerprint"):
        store.events()


@pytest.fixture
def locked(store: Store) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as blocker:
        blocker.execute("BEGIN IMMEDIATE")
        yield blocker


@pytest.mark.parametrize("seconds", [1.0, pytest.param(60.0, marks=pytest.mark.long)])
def test_what_a_locked_store_refuses_is_there_once_after_it_was_tried_again(
    store: Store, locked: sqlite3.Connection, seconds: float
) -> None:
    waiting, until = [event(1)], time.monotonic() + seconds
    with Store.open(store.path, patience=0.05) as writing:
        while time.monotonic() < until:
            with pytest.raises(StoreError, match=f"{store.path} is locked by another process"):
                writing.add_events(waiting)
            assert store.events() == ()
            waiting.append(event(1 + len(waiting)))
        locked.execute("ROLLBACK")
        writing.add_events(waiting)
    assert store.events() == tuple(waiting)


def test_a_full_disk_takes_none_of_them_and_what_was_there_stays(store: Store) -> None:
    store.add_events([first := event(1)])
    pages = store._database.connection().execute("PRAGMA page_count").fetchone()[0]
    store._database.connection().execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="no space is left"):
        store.add_events(msgspec.structs.replace(event(2), says=os.urandom(4000).hex()) for _ in range(20))
    assert store.events() == (first,)


def test_threads_each_with_a_store_of_its_own_write_at_once_and_others_read(store: Store) -> None:
    """As the service does: each cadence is a thread, one file, and the command line reads it meanwhile."""
    begin, failures = threading.Barrier(5), []

    def writing(number: int) -> None:
        try:
            with Store.open(store.path, patience=30) as own:
                begin.wait()
                for step in range(1, 26):
                    own.add_events([event(step, what=f"thread {number}"), event(step, what="all")])
                    segment(own, step, step + 1)
        except Exception as error:  # noqa: BLE001  # whatever it is, it must not be lost with the thread
            failures.append(error)

    threads = [threading.Thread(target=writing, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    begin.wait()
    with Store.open(store.path, readonly=True) as reader:
        counts = [len(reader.events(what="all"))]
        while any(thread.is_alive() for thread in threads):
            counts.append(len(reader.events(what="all")))
    for thread in threads:
        thread.join()
    assert failures == []
    assert counts == sorted(counts)
    assert [len(store.events(what=f"thread {number}")) for number in range(4)] == [25] * 4
    assert sorted(row.attempt for row in store.runs()) == list(range(1, 101))


def test_a_removed_run_leaves_the_events_that_name_it(store: Store) -> None:
    run_id = short_run(store)
    store.add_events([opened := msgspec.structs.replace(event(1, kind="serving"), run=run_id)])
    store.remove([run_id])
    assert store.events() == (opened,)
