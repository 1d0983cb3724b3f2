"""One store, several readers and writers: other users, other processes, forks, and who waits for whom."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fingerprint.store import Store, StoreError
from tests.store.samples import short_run, snapshot, store_at

READ = """
import os, sqlite3, sys  # while the interpreter's files can still be read
from pathlib import Path
from fingerprint.store import Store, StoreError
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
path = Path(sys.argv[1])
print(len(Store.open(path, readonly=True).runs()))
try:
    Store.open(path)
except StoreError as error:
    print(error)
"""


def as_plain_user(path: Path) -> list[str]:
    ran = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


@pytest.fixture
def shared() -> Iterator[Store]:
    """Like a service's store that others may read; pytest's own folders are closed to them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        store = store_at(Path(folder))
        short_run(store)
        yield store
        store.path.parent.chmod(0o755)


def test_another_users_readable_store_is_read_although_its_folder_cannot_be_written(shared: Store) -> None:
    shared.close()
    shared.path.chmod(0o444)
    shared.path.parent.chmod(0o555)
    count, refusal = as_plain_user(shared.path)
    assert count == "1"
    assert f"{shared.path} cannot be written by this user" in refusal


def test_a_store_in_use_is_read_while_its_writer_has_it_open(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    reader = Store.open(store.path, readonly=True)
    for count in range(3):
        assert len(reader.runs()) == count
        short_run(store)


def test_a_writer_waits_for_another_and_then_says_that_it_is_locked(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    waiting = Store.open(store.path, patience=0.05)
    with store._database.writing():
        with pytest.raises(StoreError, match="locked by another process"):
            waiting.save(snapshot())
        assert waiting.runs() == ()  # readers are not kept waiting
    waiting.save(snapshot())


def test_a_lock_that_is_released_in_time_is_waited_for(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    blocker = sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)
    blocker.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.2, lambda: blocker.execute("ROLLBACK"))
    release.start()
    short_run(store)
    release.join()
    blocker.close()


def test_opening_a_second_time_drops_no_lock_of_this_process(tmp_path: Path) -> None:
    """POSIX locks go when any descriptor of the file is closed: then the next process would take the WAL away."""
    store = store_at(tmp_path)
    short_run(store)
    Store.open(store.path).close()
    argv = [
        sys.executable,
        "-c",
        "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA journal_mode=DELETE')",
    ]
    ran = subprocess.run([*argv, str(store.path)], capture_output=True, text=True, check=False)
    assert "database is locked" in ran.stderr


def test_a_forked_child_writes_on_a_connection_of_its_own(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    short_run(store)
    parents = store._database.connection()
    child = os.fork()
    if child == 0:
        short_run(store)
        os._exit(0 if store._database.connection() is not parents else 1)
    assert os.waitpid(child, 0)[1] == 0
    short_run(store)
    assert [row.attempt for row in store.runs()] == [1, 2, 3]
    assert store._database.connection() is parents


def forked(act: Callable[[], object]) -> int:
    """The pid of a child that exits 0 if `act` raises nothing."""
    child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(1 if sys.exc_info()[0] else 0)
    return child


@pytest.mark.parametrize("times", [10, pytest.param(40, marks=pytest.mark.long)])
def test_four_processes_that_make_one_store_at_once_all_use_it(tmp_path: Path, times: int) -> None:
    for number in range(times):
        path = tmp_path / f"{number}.db"
        children = [forked(lambda path=path: short_run(Store.open(path, patience=30))) for _ in range(4)]  # type: ignore[misc]
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
        assert [row.attempt for row in Store.open(path, readonly=True).runs()] == [1, 2, 3, 4]
