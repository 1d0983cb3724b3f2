"""One SQLite file: how it is opened, read and written by several processes at once.

A connection never crosses a fork: the child opens its own, and the parent's, copied into it, is neither
used nor closed there (https://sqlite.org/howtocorrupt.html, 2.6). Transactions are short; a writer waits
for another up to `patience` seconds.
"""

import os
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from fingerprint.store import schema
from fingerprint.store.errors import Damaged, NoStore, StoreError, explained, unreadable
from fingerprint.store.place import check_kind, is_missing, make_private, network_of

if TYPE_CHECKING:
    from sqlite3 import Connection

PATIENCE_SECONDS = 5.0
_inherited: list["Connection"] = []


class Database:
    """network: the type of the network file system that the file lies on, else empty; no WAL is used there."""

    def __init__(self, path: Path, *, readonly: bool, patience: float = PATIENCE_SECONDS) -> None:
        """Raises StoreError; NoStore where there is nothing to read."""
        self.path = path
        self.readonly = readonly
        self.patience = patience
        self.network = network_of(path)
        self._open()

    @property
    def is_gone(self) -> bool:
        """Another file has its name now, or none."""
        return _inode(self.path) != self._inode

    def connection(self) -> "Connection":
        if self._pid != os.getpid():
            _inherited.append(self._connection)
            self._open()
        return self._connection

    @contextmanager
    def reading(self) -> Iterator["Connection"]:
        """One consistent view."""
        try:
            with self._transaction("BEGIN") as connection:
                yield connection
        except msgspec.DecodeError as error:
            raise unreadable(error, self.path) from error

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator["Connection"]:
        """All or nothing. durable: on the disk when this returns, so that a power loss does not take it."""
        self._still_there()
        if durable:
            self.connection().execute("PRAGMA synchronous = FULL")
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection
        if durable and not self.network:
            self.connection().execute("PRAGMA synchronous = NORMAL")

    def wait_at_most(self, seconds: float) -> None:
        """For another writer, from now on."""
        if seconds != self.patience:
            self.patience = seconds
            self.connection().execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")

    def give_back_pages(self) -> None:
        """Shortens the file by what removals left free, in steps that let other writers in between.

        What a writer who stays does not let through is left for the next removal.
        """
        with self._explaining(), _unless_locked():
            while self.connection().execute("PRAGMA freelist_count").fetchone()[0]:
                self.connection().execute("PRAGMA incremental_vacuum(1000)").fetchall()
            self.connection().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()  # only then the file is cut

    def close(self) -> None:
        if self._pid == os.getpid():
            self._connection.close()

    def _open(self) -> None:
        self._pid = os.getpid()
        check_kind(self.path)
        if not self.readonly:
            make_private(self.path)
        elif is_missing(self.path):
            raise NoStore(f"{self.path} does not exist yet: a first `fingerprint run` makes it")
        with self._explaining():
            self._connection = _read_only(self.path, self.patience) if self.readonly else self._writable()
        self._inode = _inode(self.path)

    def _writable(self) -> "Connection":
        with _or_closed(_connect(self.path, "mode=rw", self.patience)) as connection:
            if schema.check(connection, self.path) == 0:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # takes effect in an empty file only
            _set_journal(connection, "TRUNCATE" if self.network else "WAL", self.patience)
            # NORMAL in a WAL survives the death of any process, FULL also that of the machine.
            connection.execute(f"PRAGMA synchronous = {'FULL' if self.network else 'NORMAL'}")
            schema.prepare(connection, self.path, readonly=False)
            return connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator["Connection"]:
        with self._explaining():
            connection = self.connection()
            _execute_when_free(connection, begin, self.patience)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # SQLite rolls back itself when the disk is full
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        import sqlite3

        try:
            yield
        except (sqlite3.Error, zlib.error) as error:
            raise explained(error, self.path) from error
        except Damaged as error:
            raise unreadable(error, self.path) from error

    def _still_there(self) -> None:
        """An unlinked file takes writes that nobody will ever read."""
        if self.is_gone:
            raise StoreError(f"{self.path} was moved or removed while it was in use: put it back, or start anew")


class InMemory(Database):
    """A store that dies with its connection: for an exported file that is only looked at."""

    def __init__(self, path: Path) -> None:
        """path: the file whose content this will hold, for messages."""
        self.path = path
        self.readonly = False
        self.patience = PATIENCE_SECONDS
        self.network = ""
        self._open()

    def _open(self) -> None:
        import sqlite3

        self._pid = os.getpid()
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        schema.prepare(self._connection, self.path, readonly=False)

    @property
    def is_gone(self) -> bool:
        """Memory cannot be moved away."""
        return False


def _connect(path: Path, options: str, patience: float) -> "Connection":
    import sqlite3

    uri = f"file:{quote(os.fsencode(os.path.abspath(path)))}?{options}"
    # One thread after the other may use it; who has several at once gives each a Store of its own.
    opened = sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None, check_same_thread=False)
    with _or_closed(opened) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        return connection


@contextmanager
def _or_closed(connection: "Connection") -> Iterator["Connection"]:
    """Closes it where it turns out to be of no use."""
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def _read_only(path: Path, patience: float) -> "Connection":
    """A WAL database needs a shared memory file beside it: where none can be made and nobody writes, immutable."""
    import sqlite3

    try:
        return _checked(_connect(path, "mode=ro", patience), path)
    except sqlite3.OperationalError:
        wal = Path(f"{path}-wal")
        if os.access(path.parent, os.W_OK) or (wal.exists() and wal.stat().st_size):
            raise
        return _checked(_connect(path, "mode=ro&immutable=1", patience), path)


def _checked(connection: "Connection", path: Path) -> "Connection":
    with _or_closed(connection):
        schema.prepare(connection, path, readonly=True)
        return connection


def _set_journal(connection: "Connection", mode: str, patience: float) -> None:
    now = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if now.upper() != mode:
        _execute_when_free(connection, f"PRAGMA journal_mode = {mode}", patience)


def _execute_when_free(connection: "Connection", statement: str, patience: float) -> None:
    """Some locks (WAL recovery, the change of the journal mode) are refused at once, whatever the busy timeout."""
    import sqlite3

    deadline = time.monotonic() + patience
    while True:
        try:
            connection.execute(statement).fetchall()
            return
        except sqlite3.OperationalError as error:
            if "lock" not in str(error) or time.monotonic() >= deadline:
                raise
        time.sleep(0.01)


@contextmanager
def _unless_locked() -> Iterator[None]:
    import sqlite3

    try:
        yield
    except sqlite3.OperationalError as error:
        if "lock" not in str(error):
            raise


def _inode(path: Path) -> tuple[int, int]:
    try:
        info = os.stat(path)
    except OSError:
        return (0, 0)
    return (info.st_dev, info.st_ino)
