"""The tables manifest and snapshot."""

from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from fingerprint.sections import Blob
from fingerprint.snapshot import Key, Outcome, Provenance, Reading, Snapshot
from fingerprint.store import blobs
from fingerprint.store.errors import Damaged, StoreError
from fingerprint.store.packing import packed, unpacked

if TYPE_CHECKING:
    from sqlite3 import Connection

QUIET_AT_MOST_NS = 3_600_000_000_000  # volatile values are kept hourly, however quiet it is


class SnapshotRow(msgspec.Struct, frozen=True):
    """A stored snapshot without its content. Rows of one host with equal `manifest` are equal in all that lasts.

    taken_at, seen_until: ns since 1970; nothing lasting changed between them.
    """

    id: str
    host: str
    taken_at: int
    seen_until: int
    manifest: str
    origin: str = ""


class _Line(msgspec.Struct, frozen=True, array_like=True):
    """What a snapshot has of a section beside its manifest."""

    area: str
    target: str
    detail: str
    duration_ms: float
    volatile: msgspec.Raw


_lines = msgspec.json.Decoder(tuple[_Line, ...])
_provenance = msgspec.json.Decoder(Provenance)
_Entry = tuple[str, str, Outcome, "int | None"]


def save(connection: "Connection", snapshot: Snapshot, *, keep_volatile: bool, seen_until: int = 0) -> str:
    """The id under which the snapshot is found: that of an earlier, equal one when a quiet moment extends it."""
    manifest = _put_manifest(connection, snapshot)
    provenance = msgspec.json.encode(snapshot.provenance)
    if not keep_volatile and (quiet := _quiet_since(connection, snapshot, manifest, provenance)):
        connection.execute(
            "UPDATE snapshot SET seen_until = max(seen_until, ?) WHERE id = ?", (snapshot.taken_at, quiet)
        )
        return quiet
    lines = [_Line(*key, r.detail, r.duration_ms, r.volatile) for key, r in snapshot.readings.items()]
    columns = (
        snapshot.id, snapshot.host, snapshot.taken_at, max(snapshot.taken_at, seen_until), snapshot.duration_ms,
        provenance, manifest, packed(lines),
    )  # fmt: skip
    connection.execute(
        "INSERT INTO snapshot VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING", columns
    )
    return snapshot.id


def load(connection: "Connection", snapshot_id: str) -> Snapshot:
    """Raises StoreError for an unknown id."""
    columns = "taken_at, duration_ms, host, provenance, manifest, volatile"
    row = connection.execute(f"SELECT {columns} FROM snapshot WHERE id = ?", (snapshot_id,)).fetchone()  # noqa: S608
    if row is None:
        raise StoreError(f"there is no snapshot {snapshot_id} in this store: `fingerprint runs` lists what there is")
    taken_at, duration_ms, host, provenance, manifest, volatile = row
    readings = _readings(connection, manifest, unpacked(volatile))
    return Snapshot(snapshot_id, taken_at, duration_ms, host, _provenance.decode(provenance), readings)


def rows(
    connection: "Connection", *, host: str, since: int, until: int, limit: int, origin: str
) -> tuple[SnapshotRow, ...]:
    """The newest `limit`, oldest first, of those current at some moment from `since` until `until`.

    An empty host: of all.
    """
    query = """SELECT snapshot.id, host, taken_at, seen_until, manifest.digest
               FROM snapshot JOIN manifest ON manifest.id = manifest
               WHERE seen_until >= ? AND taken_at <= ? AND ? IN ('', host)
               ORDER BY taken_at DESC, number DESC LIMIT ?"""
    found = connection.execute(query, (since, until, host, limit)).fetchall()
    return tuple(SnapshotRow(*(*row, origin)) for row in reversed(found))


def seen_until_of(connection: "Connection", snapshot_id: str) -> int:
    """Ns since 1970; 0 for an unknown id."""
    row = connection.execute("SELECT seen_until FROM snapshot WHERE id = ?", (snapshot_id,)).fetchone()
    return 0 if row is None else int(row[0])


def _put_manifest(connection: "Connection", snapshot: Snapshot) -> int:
    entries = [_entry(connection, key, reading) for key, reading in sorted(snapshot.readings.items())]
    digest = blake2b(msgspec.json.encode(entries), digest_size=16).hexdigest()
    row = connection.execute("SELECT id FROM manifest WHERE digest = ?", (digest,)).fetchone()
    if row is not None:
        return int(row[0])
    manifest = connection.execute("INSERT INTO manifest VALUES (NULL, ?)", (digest,)).lastrowid
    connection.executemany(
        "INSERT INTO manifest_entry VALUES (?, ?, ?, ?, ?)", [(manifest, *entry) for entry in entries]
    )
    assert manifest is not None
    return manifest


def _entry(connection: "Connection", key: Key, reading: Reading) -> _Entry:
    return (*key, reading.outcome, None if reading.lasting is None else blobs.put(connection, reading.lasting))


def _quiet_since(connection: "Connection", snapshot: Snapshot, manifest: int, provenance: bytes) -> str:
    """The id of the host's last row, if it is equal in all that lasts and not too old; else empty. By a clock that was
    set back since, another row is newer: one of each minute would be kept until that is past."""
    query = """SELECT id, manifest, provenance, taken_at FROM snapshot NOT INDEXED WHERE host = ?
               ORDER BY number DESC LIMIT 1"""
    row = connection.execute(query, (snapshot.host,)).fetchone()
    if row is None or (row[1], row[2]) != (manifest, provenance):
        return ""
    return str(row[0]) if 0 <= snapshot.taken_at - row[3] < QUIET_AT_MOST_NS else ""


def _readings(connection: "Connection", manifest: int, volatile: bytes) -> dict[Key, Reading]:
    query = f"""SELECT area, target, outcome, {blobs.COLUMNS}
                FROM manifest_entry LEFT JOIN blob ON blob.id = blob WHERE manifest = ?"""  # noqa: S608
    entries: dict[tuple[str, str], tuple[Outcome, Blob | None]] = {}
    for area, target, outcome, *blob in connection.execute(query, (manifest,)):
        entries[area, target] = (outcome, None if blob[0] is None else blobs.blob_of_row(*blob))
    readings: dict[Key, Reading] = {}
    for line in _lines.decode(volatile):
        if (line.area, line.target) not in entries:
            raise Damaged(f"the section {line.area} of a snapshot is in no manifest")
        outcome, lasting = entries[line.area, line.target]
        readings[Key(line.area, line.target)] = Reading(outcome, line.detail, line.duration_ms, lasting, line.volatile)
    return readings
