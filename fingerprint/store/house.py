"""What keeps a store in order: renaming, removing and pruning."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from fingerprint.store import runs
from fingerprint.store.errors import StoreError

if TYPE_CHECKING:
    from sqlite3 import Connection

DAY_NS = 86_400_000_000_000


class Removed(msgspec.Struct, frozen=True):
    """What is gone: the runs as they were listed, and the numbers of snapshots and blobs that only they needed."""

    runs: tuple[runs.RunRow, ...]
    snapshots: int
    blobs: int


def rename(connection: "Connection", old: str, new: str) -> None:
    """Gives a series another name. Raises StoreError for an unknown series or a name that is taken."""
    if runs.select(connection, "name = ?", (runs.check_name(new),), "", limit=1):
        raise StoreError(f"runs named {new} exist already: choose another name, or `fingerprint rm {new}` first")
    if connection.execute("UPDATE run SET name = ? WHERE name = ?", (new, old)).rowcount == 0:
        raise StoreError(f"there is no run named {old}: `fingerprint runs` lists what there is")


def remove(connection: "Connection", run_ids: Iterable[str], origin: str) -> Removed:
    """Removes runs with the snapshots and blobs that nothing else refers to. Raises StoreError for an unknown id."""
    gone = tuple(runs.get(connection, run_id, origin) for run_id in run_ids)
    snapshots = 0
    for run in gone:
        theirs = runs.snapshots_of(connection, run.id)
        connection.execute("DELETE FROM run WHERE id = ?", (run.id,))
        snapshots += sum(_remove_snapshot(connection, snapshot) for snapshot in theirs)
    return Removed(gone, snapshots, _sweep(connection))


def prune(connection: "Connection", *, older_than: int | None, keep_last: int, keep_good: bool, origin: str) -> Removed:
    """Removes old runs, and old snapshots that belong to no run. See Store.prune."""
    cutoff = time.time_ns() if older_than is None else older_than
    removed = remove(connection, [run.id for run in _prunable(connection, cutoff, keep_last, keep_good)], origin)
    lone = 0 if older_than is None else _remove_lone_snapshots(connection, cutoff)
    return Removed(removed.runs, removed.snapshots + lone, removed.blobs + _sweep(connection))


def _prunable(connection: "Connection", cutoff: int, keep_last: int, keep_good: bool) -> list[runs.RunRow]:
    """A run without its last record may still be running: it stays until nothing was added to it for a day."""
    kept: dict[str, int] = {}
    found = []
    for run in reversed(runs.select(connection, "TRUE", (), "")):
        kept[run.benchmark] = kept.get(run.benchmark, 0) + 1
        idle = run.closed is not None or run.last_at < time.time_ns() - DAY_NS
        if idle and run.last_at < cutoff and kept[run.benchmark] > keep_last and not (keep_good and run.good):
            found.append(run)
    return found


def _remove_snapshot(connection: "Connection", snapshot_id: str) -> int:
    """1 if no run refers to it any more and it was removed."""
    query = "DELETE FROM snapshot WHERE id = ? AND number NOT IN (SELECT snapshot FROM run_snapshot)"
    return connection.execute(query, (snapshot_id,)).rowcount


def _remove_lone_snapshots(connection: "Connection", cutoff: int) -> int:
    query = "DELETE FROM snapshot WHERE seen_until < ? AND number NOT IN (SELECT snapshot FROM run_snapshot)"
    return connection.execute(query, (cutoff,)).rowcount


def _sweep(connection: "Connection") -> int:
    """Removes manifests and blobs that nothing refers to; the number of blobs."""
    connection.execute("DELETE FROM manifest WHERE id NOT IN (SELECT manifest FROM snapshot)")
    return connection.execute(
        """DELETE FROM blob WHERE id NOT IN (SELECT blob FROM manifest_entry WHERE blob IS NOT NULL)
           AND id NOT IN (SELECT blob FROM run_blob)"""
    ).rowcount
