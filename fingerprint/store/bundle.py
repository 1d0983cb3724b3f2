"""Runs and snapshots outside a store: an exported document, or the spill file of a run whose store failed.

`fingerprint.export/1` is one JSON document; readings in it are hollow and its blobs stand once. A spill
file, `fingerprint.records/1`, is JSON lines, written as things happen, each reading whole: a header
(`Head`), then one `Line` for each record and snapshot. Redacted values are redacted in both, as in the store.
"""

from typing import Literal

import msgspec

from fingerprint.runs.record import AnyRecord
from fingerprint.sections import Blob
from fingerprint.snapshot import Key, Provenance, Reading, Snapshot

EXPORT: Literal["fingerprint.export/1"] = "fingerprint.export/1"
RECORDS: Literal["fingerprint.records/1"] = "fingerprint.records/1"


class Entry(msgspec.Struct, frozen=True):
    area: str
    target: str
    reading: Reading


class StoredSnapshot(msgspec.Struct, frozen=True):
    """A Snapshot in JSON, with the end of the quiet time that it stands for."""

    id: str
    taken_at: int
    seen_until: int
    duration_ms: float
    host: str
    provenance: Provenance
    readings: tuple[Entry, ...]

    @classmethod
    def of(cls, snapshot: Snapshot, seen_until: int = 0) -> "StoredSnapshot":
        return cls(
            snapshot.id, snapshot.taken_at, max(seen_until, snapshot.taken_at), snapshot.duration_ms, snapshot.host,
            snapshot.provenance, tuple(Entry(*key, reading) for key, reading in snapshot.readings.items()),
        )  # fmt: skip

    def snapshot(self) -> Snapshot:
        readings = {Key(entry.area, entry.target): entry.reading for entry in self.readings}
        return Snapshot(self.id, self.taken_at, self.duration_ms, self.host, self.provenance, readings)


class StoredRun(msgspec.Struct, frozen=True):
    """name and attempt as they are now: a series may have been renamed since its first record."""

    id: str
    name: str
    attempt: int
    records: tuple[AnyRecord, ...]


class Export(msgspec.Struct, frozen=True):
    schema: Literal["fingerprint.export/1"]
    fingerprint: str
    runs: tuple[StoredRun, ...]
    snapshots: tuple[StoredSnapshot, ...]
    blobs: tuple[Blob, ...]


class Head(msgspec.Struct, frozen=True):
    """First line of a spill file."""

    schema: Literal["fingerprint.records/1"]
    run: str


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """Any other line of a spill file: one of the two."""

    record: AnyRecord | None = None
    snapshot: StoredSnapshot | None = None
