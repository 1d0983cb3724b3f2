"""What a run writes through: trouble with the store never reaches the run."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from fingerprint.ids import new_id
from fingerprint.runs.record import AnyRecord, Closed, Opened, Snapped, Trouble
from fingerprint.snapshot import Snapshot
from fingerprint.store.bundle import Line, StoredSnapshot
from fingerprint.store.errors import StoreError, Unusable
from fingerprint.store.spill import Spill, folders
from fingerprint.store.store import Store

PATIENCE_SECONDS, IMPATIENT_SECONDS = 2.0, 0.005
# Of encoding: text with lone surrogates, an object that JSON does not have, NaN, a Document that is too deep.
_Unwritable = (ValueError, TypeError, RecursionError)
Make = Callable[[int], Opened]


class Patience:
    """With another writer, of one journal or of several: one of them waits in vain, and the others no more, until the
    store takes something again."""

    def __init__(self, seconds: float = PATIENCE_SECONDS) -> None:
        self.seconds = seconds
        self._was_in_vain = False

    @property
    def left(self) -> float:
        """Seconds."""
        return min(self.seconds, IMPATIENT_SECONDS) if self._was_in_vain else self.seconds

    @contextmanager
    def waiting(self) -> Iterator[float]:
        """How long to wait for what is done with the store here."""
        try:
            yield self.left
        except Unusable:
            self._was_in_vain = True
            raise
        self._was_in_vain = False


class Journal:
    """One run's way into the store. Nothing here raises for what the store or the disk does.

    When the store cannot be written, the run goes on into a spill file that `fingerprint import` takes;
    it holds the whole run, also what the store had taken before.
    """

    def __init__(
        self,
        path: Path,
        environ: Mapping[str, str] = os.environ,
        patience: Patience | None = None,
        writer: str = "fingerprint",
    ) -> None:
        """patience: shared with other journals; by default its own. writer: the program, after which a spill file is
        called."""
        self.run_id = ""
        self._patience = patience or Patience()
        self._writer = writer
        self._path = path
        self._environ = environ
        self._store: Store | None = None
        self._spill: Spill | None = None
        self._opened: Opened | None = None
        self._saved: list[str] = []
        self._why = ""

    @property
    def why(self) -> str:
        """What went wrong, in one sentence; empty as long as all is well."""
        return self._why

    @property
    def trouble(self) -> str:
        """What went wrong and where the records are, in one sentence; empty as long as all is well."""
        if self._spill is None:
            return self._why
        if self._spill.path is None:
            return f"{self._why}; no folder took the run's records either: they are lost"
        lost = f", without {self._spill.lost} records that found no room" if self._spill.lost else ""
        return f"{self._why}; the run is in {self._spill.path}{lost}: `fingerprint import {self._spill.path}` stores it"

    def open_run(self, name: str, make: Make) -> str:
        """The new run's id. The name must have passed check_name."""
        try:
            return self._open_run(name, make)
        except _Unwritable:
            return self._open_run(name, lambda attempt: _printable(make(attempt)))

    def append(self, record: AnyRecord) -> None:
        """A record that cannot be written becomes a trouble record."""
        try:
            self._append(record)
        except _Unwritable as error:
            self._confess(f"a record of kind {type(record).__name__.lower()} could not be written: {error}")

    def save(self, snapshot: Snapshot) -> None:
        """Keeps the snapshot whole, volatile values too: it is one of a run's borders."""
        try:
            self._save(snapshot)
        except _Unwritable as error:
            self._confess(f"the snapshot {snapshot.id} could not be written: {error}")

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
        if self._spill is not None:
            self._spill.close()

    def _open_run(self, name: str, make: Make) -> str:
        def remembered(attempt: int) -> Opened:
            self._opened = make(attempt)
            return self._opened

        try:
            with self._patience.waiting() as seconds:
                self._store = self._store or Store.open(self._path, patience=seconds)
                self.run_id = self._store.open_run(name, remembered)
        except StoreError as error:
            remembered(_attempt_by_reading(self._path, name))
            self.run_id = new_id()
            self._go_on_elsewhere(error)
        return self.run_id

    def _append(self, record: AnyRecord) -> None:
        if isinstance(record, Snapped) and record.snapshot not in self._saved:
            raise ValueError(f"its snapshot {record.snapshot} was not stored")
        if self._spill is None:
            try:
                with self._writable() as store:
                    return store.append(self.run_id, record)
            except StoreError as error:
                self._go_on_elsewhere(error)
        return self._spilling.write(Line(record=record), durable=isinstance(record, Closed))

    def _save(self, snapshot: Snapshot) -> None:
        if self._spill is None:
            try:
                with self._writable() as store:
                    self._saved.append(store.save(snapshot))
                return
            except StoreError as error:
                self._go_on_elsewhere(error)
        self._spilling.write(Line(snapshot=StoredSnapshot.of(snapshot)))
        self._saved.append(snapshot.id)

    @contextmanager
    def _writable(self) -> Iterator[Store]:
        assert self._store is not None, "open_run comes first"
        with self._patience.waiting() as seconds:
            self._store.wait_at_most(seconds)
            yield self._store

    @property
    def _spilling(self) -> Spill:
        assert self._spill is not None
        return self._spill

    def _go_on_elsewhere(self, error: StoreError) -> None:
        self._why = str(error)
        self._spill = Spill(self.run_id, folders(self._path, self._environ), self._writer)
        for line in self._so_far():
            self._spill.write(line)
        self._spill.write(Line(record=Trouble(time.time_ns(), self._why)))

    def _so_far(self) -> list[Line]:
        """What the store took before it failed; its first record at least, which is kept in memory."""
        assert self._opened is not None
        if self._store is None:
            return [Line(record=self._opened)]
        try:
            records = [Line(record=record) for record in self._store.records(self.run_id)]
            return [*records, *(Line(snapshot=StoredSnapshot.of(self._store.snapshot(saved))) for saved in self._saved)]
        except StoreError:
            return [Line(record=self._opened)]

    def _confess(self, what: str) -> None:
        self._why = what.encode("utf-8", "backslashreplace").decode()
        self._append(Trouble(time.time_ns(), self._why))


def _attempt_by_reading(path: Path, name: str) -> int:
    """The next attempt in a store that can be read but not written; import gives another if it is taken."""
    try:
        with Store.open(path, readonly=True) as store:
            return 1 + max((run.attempt for run in store.runs(name=name)), default=0)
    except StoreError:
        return 1


def _printable(opened: Opened) -> Opened:
    """With what is no Unicode, e.g. in a working directory, written as \\udcNN."""
    return msgspec.convert(_printable_value(msgspec.to_builtins(opened)), Opened)


def _printable_value(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _printable_value(item) for key, item in value.items()}
    return [_printable_value(item) for item in value] if isinstance(value, (list, tuple)) else value
