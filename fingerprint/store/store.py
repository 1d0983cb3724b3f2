"""A Store: snapshots, runs and events in one SQLite file."""

import time
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from fingerprint.runs.record import AnyRecord, Closed, Marked, Noted, Opened
from fingerprint.snapshot import Snapshot
from fingerprint.store import events, house, runs, snapshots, transfer
from fingerprint.store.bundle import Export
from fingerprint.store.database import PATIENCE_SECONDS, Database, InMemory
from fingerprint.store.errors import StoreError
from fingerprint.store.events import Event
from fingerprint.store.house import Removed
from fingerprint.store.place import service_path
from fingerprint.store.runs import RunRow
from fingerprint.store.schema import ALWAYS
from fingerprint.store.snapshots import SnapshotRow
from fingerprint.store.transfer import Imported

Origin = Literal["user", "service", "file"]
REST_SECONDS = 0.02  # between two removals of many, for whoever waits to write


class Store:
    """All methods raise StoreError with one sentence when the file cannot be used, or an id is unknown.

    Usable by several processes at once, and across a fork; a thread opens its own. Times are ns since 1970.
    """

    def __init__(self, database: Database, origin: Origin) -> None:
        self._database = database
        self.origin: Origin = origin

    @classmethod
    def open(cls, path: Path, *, readonly: bool = False, patience: float = PATIENCE_SECONDS) -> "Store":
        """Makes folder (0700) and file (0600) unless `readonly`; then NoStore is raised where there is nothing.

        patience: seconds to wait for another writer.
        """
        origin: Origin = "service" if path == service_path() else "user"
        return cls(Database(path, readonly=readonly, patience=patience), origin)

    @classmethod
    def of_file(cls, path: Path) -> "Store":
        """An exported file, looked at without importing it anywhere."""
        with ExitStack() as unless_taken:
            store = unless_taken.enter_context(cls(InMemory(path), "file"))
            store.import_file(path)
            unless_taken.pop_all()
        return store

    @property
    def path(self) -> Path:
        return self._database.path

    @property
    def is_gone(self) -> bool:
        """Another file has its name now, or none: it takes nothing any more."""
        return self._database.is_gone

    @property
    def network(self) -> str:
        """The type of the network file system that the store lies on, else empty: there, no WAL is used."""
        return self._database.network

    def writable(self) -> "Store":
        """This store, open for writing. A file that is only looked at cannot be."""
        if self.origin == "file":
            raise StoreError(f"{self.path} is an exported file: take it in with `fingerprint import {self.path}` first")
        return Store.open(self.path) if self._database.readonly else self

    def wait_at_most(self, seconds: float) -> None:
        """For another writer, from now on."""
        self._database.wait_at_most(seconds)

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Snapshots

    def save(self, snapshot: Snapshot, *, keep_volatile: bool = True) -> str:
        """The id under which it is found from now on.

        Without `keep_volatile`, a snapshot that equals the host's last one in all that lasts only extends
        that one's `seen_until`, for an hour at most, and the last one's id is returned.
        """
        with self._database.writing() as connection:
            return snapshots.save(connection, snapshot, keep_volatile=keep_volatile)

    def snapshot(self, snapshot_id: str) -> Snapshot:
        """Its sections are not decoded."""
        with self._database.reading() as connection:
            return snapshots.load(connection, snapshot_id)

    def snapshots(
        self, *, host: str = "", since: int = 0, until: int = ALWAYS, limit: int = -1
    ) -> tuple[SnapshotRow, ...]:
        """The newest `limit` (all when negative), oldest first: those current at some moment of the time asked for."""
        with self._database.reading() as connection:
            return snapshots.rows(connection, host=host, since=since, until=until, limit=limit, origin=self.origin)

    # Runs

    def open_run(self, name: str, make: Callable[[int], Opened]) -> str:
        """The id of a new run. `make` is given the next attempt of this name, which nobody else gets."""
        with self._database.writing() as connection:
            return runs.open_run(connection, name, make)

    def append(self, run_id: str, record: AnyRecord) -> None:
        """Adds a record; once `closed` is acknowledged, a power loss does not take it.

        Raises ValueError or TypeError for a record that could not be loaded again.
        """
        with self._database.writing(durable=isinstance(record, Closed)) as connection:
            runs.append(connection, run_id, record)

    def records(self, run_id: str) -> tuple[AnyRecord, ...]:
        """In the order written; readings whole, their halves undecoded."""
        with self._database.reading() as connection:
            return runs.records(connection, run_id)

    def run(self, run_id: str) -> RunRow:
        with self._database.reading() as connection:
            return runs.get(connection, run_id, self.origin)

    def runs(
        self,
        *,
        name: str | None = None,
        benchmark: str | None = None,
        good: bool | None = None,
        service: bool | None = None,
        limit: int = -1,
    ) -> tuple[RunRow, ...]:
        """The newest `limit` (all when negative), oldest first."""
        asked = {"name": name, "benchmark": benchmark, "good": good, "service": service}
        given = {column: value for column, value in asked.items() if value is not None}
        where = " AND ".join(f"{column} = ?" for column in given) or "TRUE"
        with self._database.reading() as connection:
            return runs.select(connection, where, tuple(given.values()), self.origin, limit)

    def ids(self, prefix: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Ids of runs and of snapshots that begin with `prefix`."""
        with self._database.reading() as connection:
            return runs.beginning(connection, "run", prefix), runs.beginning(connection, "snapshot", prefix)

    # Events

    def add_events(self, found: Iterable[Event]) -> None:
        """All or none; those that are here already are left, so that what failed may be tried again as it was.

        A power loss does not take them once this returns: the last ones before it may tell why. Raises ValueError or
        TypeError for one that could not be loaded again.
        """
        with self._database.writing(durable=True) as connection:
            events.put(connection, found)

    def events(
        self,
        *,
        host: str = "",
        since: int = 0,
        until: int = ALWAYS,
        kinds: Collection[str] = (),
        what: str = "",
        limit: int = -1,
    ) -> tuple[Event, ...]:
        """The newest `limit` (all when negative), oldest first, of those that may have happened in the time asked for.

        host, kinds, what: empty for all.
        """
        with self._database.reading() as connection:
            return events.select(connection, host=host, since=since, until=until, kinds=kinds, what=what, limit=limit)

    # House

    def good(self, run_id: str, good: bool = True) -> None:
        """Marks a run as good, or takes the mark away."""
        self.append(run_id, Marked(time.time_ns(), good))

    def note(self, run_id: str, text: str) -> None:
        self.append(run_id, Noted(time.time_ns(), text))

    def rename(self, old: str, new: str) -> None:
        """Gives a series another name, which no run may have yet."""
        with self._database.writing() as connection:
            house.rename(connection, old, new)

    def remove(self, run_ids: Iterable[str]) -> Removed:
        """Runs, with the snapshots and blobs that nothing else needs."""
        with self._database.writing() as connection:
            removed = house.remove(connection, run_ids, self.origin)
        self._database.give_back_pages()
        return removed

    def prune(self, *, older_than: int | None = None, keep_last: int = 0, keep_good: bool = True) -> Removed:
        """Removes runs whose newest record is older than `older_than`, older events and older snapshots of no run.

        Of each benchmark the newest `keep_last` stay, and those marked good unless `keep_good` is false.
        Without `older_than`, age does not matter, and events and snapshots of no run stay.
        """
        with self._database.writing() as connection:
            removed = house.prune(
                connection, older_than=older_than, keep_last=keep_last, keep_good=keep_good, origin=self.origin
            )
        self._database.give_back_pages()
        return removed

    def retain(self, *, older_than: int, most_bytes: int) -> Removed:
        """Removes what is older than `older_than`, then the oldest until the content takes `most_bytes` at most.

        Never a run that a person named or marked good, nor what belongs to one, nor a run that goes on. It lets others
        write in between: what was removed before a StoreError is gone, the rest is left to the next time.
        """
        removed = Removed()
        while (some := self._retain_some(older_than, most_bytes)) != Removed():
            removed = removed.and_(some)
            time.sleep(REST_SECONDS)
        self._database.give_back_pages()
        return removed

    def _retain_some(self, older_than: int, most_bytes: int) -> Removed:
        with self._database.writing() as connection:
            return house.retain_some(connection, older_than=older_than, most_bytes=most_bytes, origin=self.origin)

    def size(self) -> int:
        """Bytes that the content takes; the file is larger while removed content was not given back."""
        with self._database.reading() as connection:
            return house.size(connection)

    def export(self, run_ids: Iterable[str], snapshot_ids: Iterable[str] = ()) -> bytes:
        """One JSON document, `fingerprint.export/1`, with all that the runs refer to."""
        with self._database.reading() as connection:
            return msgspec.json.encode(transfer.export(connection, run_ids, snapshot_ids))

    def import_file(self, path: Path, name: str | None = None) -> Imported:
        """Takes in an exported file or a spill file, wholly or not at all; what is here already is left.

        name: what its runs are called here instead of their own name.
        """
        from fingerprint.store import foreign

        return self._take_in(foreign.read(path), name)

    def import_stream(self, stream: BinaryIO, called: str, name: str | None = None) -> Imported:
        """The same of what a stream gives until it ends. called: what messages call it."""
        from fingerprint.store import foreign

        return self._take_in(foreign.parsed(stream.read(foreign.SIZE_CAP + 1), called), name)

    def _take_in(self, bundle: Export, name: str | None) -> Imported:
        with self._database.writing(durable=self.origin != "file") as connection:
            return transfer.take_in(connection, bundle, name, self.origin)
