"""What keeps a store in order: renaming, removing, pruning and retention."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from fingerprint.store import runs
from fingerprint.store.errors import StoreError
from fingerprint.store.runs import RunRow
from fingerprint.store.schema import ALWAYS

if TYPE_CHECKING:
    from sqlite3 import Connection

DAY_NS = 86_400_000_000_000
AT_ONCE = 256  # so that no other writer waits long
# What goes with time: no run that a person named or marked good, and no snapshot of one. ?: _idle()
_PASSING = """
    SELECT last_at AS at, 'run' AS part, id FROM run
    WHERE service AND NOT good AND (closed IS NOT NULL OR last_at < ?)
    UNION ALL SELECT seen_until, 'snapshot', id FROM snapshot WHERE number NOT IN (SELECT snapshot FROM run_snapshot)
    UNION ALL SELECT until, 'event', id FROM event"""


class Removed(msgspec.Struct, frozen=True):
    """What is gone: the runs as they were listed, and how many snapshots, blobs and events."""

    runs: tuple[RunRow, ...] = ()
    snapshots: int = 0
    blobs: int = 0
    events: int = 0

    def and_(self, more: "Removed") -> "Removed":
        return Removed(
            self.runs + more.runs, self.snapshots + more.snapshots, self.blobs + more.blobs, self.events + more.events
        )


def rename(connection: "Connection", old: str, new: str) -> None:
    """Gives a series another name. Raises StoreError for an unknown series or a name that is taken."""
    if runs.select(connection, "name = ?", (runs.check_name(new),), "", limit=1):
        raise StoreError(f"runs named {new} exist already: choose another name, or `fingerprint rm {new}` first")
    if connection.execute("UPDATE run SET name = ?, service = 0 WHERE name = ?", (new, old)).rowcount == 0:
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
    """Removes old runs, old events, and old snapshots that belong to no run. See Store.prune."""
    cutoff = time.time_ns() if older_than is None else older_than
    removed = remove(connection, [run.id for run in _prunable(connection, cutoff, keep_last, keep_good)], origin)
    if older_than is None:
        return removed
    snapshots = _remove_lone_snapshots(connection, cutoff)
    events = connection.execute("DELETE FROM event WHERE until < ?", (cutoff,)).rowcount
    return removed.and_(Removed(snapshots=snapshots, blobs=_sweep(connection), events=events))


def retain_some(connection: "Connection", *, older_than: int, most_bytes: int, origin: str) -> Removed:
    """Some of what Store.retain removes, the oldest first; nothing is left to remove where it is equal to Removed()."""
    if size(connection) > most_bytes:
        count = connection.execute(f"SELECT count(*) FROM ({_PASSING})", (_idle(),)).fetchone()[0]  # noqa: S608
        some = _oldest(connection, ALWAYS, min(AT_ONCE, 1 + count // 16))
    else:
        some = _oldest(connection, older_than, AT_ONCE)
    snapshots = sum(_remove_snapshot(connection, snapshot) for snapshot in some["snapshot"])
    connection.executemany("DELETE FROM event WHERE id = ?", [(event,) for event in some["event"]])
    passed = Removed(snapshots=snapshots, events=len(some["event"]))
    return passed.and_(remove(connection, some["run"], origin)) if any(some.values()) else passed


def size(connection: "Connection") -> int:
    """Bytes that the content takes in the file: without what removals left free."""
    pages, free, bytes_each = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * bytes_each)


def _oldest(connection: "Connection", before: int, most: int) -> dict[str, list[str]]:
    """Ids of what passes with time, by table."""
    query = f"SELECT part, id FROM ({_PASSING}) WHERE at < ? ORDER BY at LIMIT ?"  # noqa: S608
    found = connection.execute(query, (_idle(), before, most)).fetchall()
    return {part: [row_id for each, row_id in found if each == part] for part in ("run", "snapshot", "event")}


def _prunable(connection: "Connection", cutoff: int, keep_last: int, keep_good: bool) -> list[RunRow]:
    """A run without its last record may still be running: it stays until nothing was added to it for a day."""
    kept: dict[str, int] = {}
    found = []
    for run in reversed(runs.select(connection, "TRUE", (), "")):
        kept[run.benchmark] = kept.get(run.benchmark, 0) + 1
        idle = run.closed is not None or run.last_at < _idle()
        if idle and run.last_at < cutoff and kept[run.benchmark] > keep_last and not (keep_good and run.good):
            found.append(run)
    return found


def _idle() -> int:
    """Before this time something was added last to a run that has no end and is held to have none any more."""
    return time.time_ns() - DAY_NS


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
