"""Out of a store into a document, and back."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from fingerprint.runs.record import AnyRecord, Opened
from fingerprint.sections import Blob
from fingerprint.snapshot import Snapshot
from fingerprint.store import blobs, runs, snapshots
from fingerprint.store.bundle import EXPORT, Entry, Export, StoredRun, StoredSnapshot
from fingerprint.store.errors import StoreError
from fingerprint.store.packing import hollow, record_of, unpacked
from fingerprint.version import __version__

if TYPE_CHECKING:
    from sqlite3 import Connection


class Imported(msgspec.Struct, frozen=True):
    """runs: those that are new or got records that were missing. known: ids that were complete already."""

    runs: tuple[runs.RunRow, ...]
    snapshots: int
    known: tuple[str, ...]


def export(connection: "Connection", run_ids: Iterable[str], snapshot_ids: Iterable[str]) -> Export:
    """The runs with all that they refer to, and further snapshots. Raises StoreError for an unknown id."""
    kept: dict[blobs.Address, Blob] = {}
    taken = [_run(connection, run_id, kept) for run_id in run_ids]
    wanted = [*(s for run in taken for s in runs.snapshots_of(connection, run.id)), *snapshot_ids]
    stored = tuple(_snapshot(connection, snapshot, kept) for snapshot in dict.fromkeys(wanted))
    return Export(EXPORT, __version__, tuple(taken), stored, tuple(kept.values()))


def of_snapshot(snapshot: Snapshot) -> Export:
    """One that may be in no store."""
    blobs_of = {blobs.address(it.lasting): it.lasting for it in snapshot.readings.values() if it.lasting is not None}
    return Export(EXPORT, __version__, (), (_hollow(StoredSnapshot.of(snapshot)),), tuple(blobs_of.values()))


def take_in(connection: "Connection", bundle: Export, name: str | None, origin: str) -> Imported:
    """Enters a bundle whose readings are whole. What is there already is left; a run gets the records it lacks.

    name: what the runs are called here instead of their own name.
    """
    fresh = sum(_take_snapshot(connection, snapshot) for snapshot in bundle.snapshots)
    grown = [run.id for run in bundle.runs if _take_run(connection, run, name)]
    known = tuple(run.id for run in bundle.runs if run.id not in grown)
    return Imported(tuple(runs.get(connection, run_id, origin) for run_id in grown), fresh, known)


def _run(connection: "Connection", run_id: str, kept: dict[blobs.Address, Blob]) -> StoredRun:
    row = runs.get(connection, run_id, "")
    kept.update(runs.blobs_of(connection, run_id))
    records = tuple(record_of(unpacked(body)) for body in runs.bodies(connection, run_id))
    return StoredRun(run_id, row.name, row.attempt, records)


def _snapshot(connection: "Connection", snapshot_id: str, kept: dict[blobs.Address, Blob]) -> StoredSnapshot:
    snapshot = snapshots.load(connection, snapshot_id)
    for reading in snapshot.readings.values():
        if reading.lasting is not None:
            kept[blobs.address(reading.lasting)] = reading.lasting
    stored = StoredSnapshot.of(snapshot, snapshots.seen_until_of(connection, snapshot_id))
    return _hollow(stored)


def _hollow(stored: StoredSnapshot) -> StoredSnapshot:
    entries = tuple(Entry(entry.area, entry.target, hollow(entry.reading)) for entry in stored.readings)
    return msgspec.structs.replace(stored, readings=entries)


def _take_snapshot(connection: "Connection", stored: StoredSnapshot) -> bool:
    if snapshots.seen_until_of(connection, stored.id):
        return False
    snapshots.save(connection, stored.snapshot(), keep_volatile=True, seen_until=stored.seen_until)
    return True


def _take_run(connection: "Connection", run: StoredRun, name: str | None) -> bool:
    """Whether anything was added."""
    first, *rest = run.records
    if not runs.select(connection, "run.id = ?", (run.id,), ""):
        called = runs.check_name(name or run.name)
        runs.start(connection, run.id, _opened(first), called, _attempt(connection, called, run.attempt))
    elif not (rest := _missing(connection, run)):
        return False
    for record in rest:
        runs.append(connection, run.id, record)
    return True


def _missing(connection: "Connection", run: StoredRun) -> list[AnyRecord]:
    """The records that the stored run lacks, told by their bytes; the same one twice counts twice."""
    there = [unpacked(body) for body in runs.bodies(connection, run.id)]
    lacking = []
    for record in run.records:
        body = unpacked(runs.stored_body(record))
        if body in there:
            there.remove(body)
        else:
            lacking.append(record)
    return lacking


def _attempt(connection: "Connection", name: str, wanted: int) -> int:
    """The attempt as exported, unless another run has it."""
    taken = runs.select(connection, "name = ? AND attempt = ?", (name, wanted), "")
    return runs.next_attempt(connection, name) if taken else wanted


def _opened(record: AnyRecord) -> Opened:
    if not isinstance(record, Opened):
        raise StoreError("a run's first record is not `opened`: export it again")
    return record
