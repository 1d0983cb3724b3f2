"""Files from outside, read without trust.

msgspec checks the shape of an export before anything is decoded from it, then its records and sections, and this
module what no type tells: that blobs have the digest they claim and that everything referred to is there. pydantic
is asked only to say why a shape was refused.
"""

import os
import stat
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, ValidationError

from fingerprint.runs.record import AnyRecord, Distribution, Held, Opened, Sampled, Snapped
from fingerprint.sections import Blob
from fingerprint.snapshot import Reading
from fingerprint.store import blobs
from fingerprint.store.bundle import EXPORT, RECORDS, Entry, Export, Head, Line, StoredRun, StoredSnapshot
from fingerprint.store.errors import Damaged, StoreError, Unreadable
from fingerprint.store.packing import with_reading
from fingerprint.store.runs import NAME
from probes.kit.paths import parse_glob, parse_path

T = TypeVar("T")
Change = Callable[[Reading], Reading]

SIZE_CAP = 1 << 28  # of a file; read as JSON values it takes some ten times as much memory
QUANTILES = 7
_canonical = msgspec.json.Encoder(order="sorted").encode
_line = msgspec.json.Decoder(Line)
_Refused = (msgspec.MsgspecError, UnicodeError, RecursionError)

Ulid = Annotated[str, Meta(pattern=r"^[0-7][0-9A-HJKMNP-TV-Z]{25}\Z")]
Name = Annotated[str, Meta(pattern=rf"^{NAME.pattern}\Z")]
Nanoseconds = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Count = Annotated[int, Meta(ge=0, le=(1 << 31) - 1)]
Attempt = Annotated[int, Meta(ge=1, le=(1 << 31) - 1)]
Object = dict[str, msgspec.Raw]


class _Entry(msgspec.Struct):
    area: Name
    target: str
    reading: Object


class _Snapshot(msgspec.Struct):
    id: Ulid
    taken_at: Nanoseconds
    seen_until: Nanoseconds
    duration_ms: float
    host: str
    provenance: Object
    readings: tuple[_Entry, ...]


class _Run(msgspec.Struct):
    id: Ulid
    name: Name
    attempt: Attempt
    records: Annotated[tuple[Object, ...], Meta(min_length=1)]


class _Blob(msgspec.Struct):
    digest: Annotated[str, Meta(pattern=r"^[0-9a-f]{40}\Z")]
    schema: Annotated[str, Meta(pattern=r"^[0-9a-f]{20}\Z")]
    seen: Count
    gaps: dict[str, str]
    body: Object


class _Export(msgspec.Struct):
    """The shape of an Export, with bounds for what a database or a path is made of."""

    schema: Literal["fingerprint.export/1"]
    fingerprint: str
    runs: tuple[_Run, ...]
    snapshots: tuple[_Snapshot, ...]
    blobs: tuple[_Blob, ...]


def read(path: Path) -> Export:
    """What an exported file or a spill file holds, all readings whole. Raises StoreError naming file and place."""
    return parsed(_content(path), str(path))


def parsed(data: bytes, path: str) -> Export:
    """The same of its content. path: for messages."""
    if len(data) > SIZE_CAP:
        raise StoreError(f"{path} is larger than {SIZE_CAP >> 20} MiB: export fewer runs into one file")
    first = data[:4096].lstrip()
    if first.startswith(b"{") and RECORDS.encode() in first.split(b"\n", 1)[0]:
        return _spilled(data, path)
    return _exported(data, path)


def _content(path: Path) -> bytes:
    """To one byte above the cap, of a regular file: another kind may never end, or never begin."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise StoreError(f"{path} is no regular file: name one that `fingerprint export` wrote")
            return file.read(SIZE_CAP + 1)
    except OSError as error:
        raise Unreadable(f"{path} cannot be read ({error.strerror}): check its name and permissions") from error


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _exported(data: bytes, path: str) -> Export:
    try:
        _check_shape(data, path)
        export = msgspec.json.decode(data, type=Export)
    except _Refused as error:
        raise _wrong(path, str(error)) from error
    try:
        kept = {blobs.address(blob): _checked_blob(blob, path) for blob in export.blobs}
        return _checked(_whole(export, kept), path)
    except (Damaged, *_Refused) as error:
        raise _wrong(path, str(error)) from error


def _check_shape(data: bytes, path: str) -> None:
    try:
        msgspec.json.decode(data, type=_Export)
    except ValidationError as error:
        raise _wrong(path, _first_complaint(msgspec.json.decode(data)) or str(error)) from error


def _first_complaint(document: Any) -> str:
    from fingerprint.refused import complaints

    found = complaints(_Export, document)
    return f"{found[0].key or 'the document'}: {found[0].says}" if found else ""


def _wrong(path: str, what: str) -> StoreError:
    return StoreError(f"{path} is not what `fingerprint export` writes ({what}): export it again with this release")


def _whole(export: Export, kept: Mapping[blobs.Address, Blob]) -> Export:
    def whole(reading: Reading) -> Reading:
        return _canonical_reading(blobs.filled(reading, kept))

    runs = tuple(_run_with(run, whole) for run in export.runs)
    snapshots = tuple(_snapshot_with(snapshot, whole) for snapshot in export.snapshots)
    return msgspec.structs.replace(export, runs=runs, snapshots=snapshots, blobs=())


def _run_with(run: StoredRun, change: Change) -> StoredRun:
    return msgspec.structs.replace(run, records=tuple(with_reading(record, change) for record in run.records))


def _snapshot_with(snapshot: StoredSnapshot, change: Change) -> StoredSnapshot:
    entries = tuple(Entry(entry.area, entry.target, change(entry.reading)) for entry in snapshot.readings)
    return msgspec.structs.replace(snapshot, readings=entries)


def _canonical_reading(reading: Reading) -> Reading:
    """The volatile part as it was before somebody's editor or `jq` laid it out anew."""
    return msgspec.structs.replace(reading, volatile=_canonical_raw(reading.volatile))


def _canonical_raw(raw: msgspec.Raw) -> msgspec.Raw:
    return msgspec.Raw(_canonical(msgspec.json.decode(raw)))


def _checked_blob(blob: Blob, path: str) -> Blob:
    body = _canonical_raw(blob.body)
    if blobs.digest_of(body) != blob.digest:
        raise _wrong(path, f"blob {blob.digest}: its body has another digest, so it was changed")
    return msgspec.structs.replace(blob, body=body)


def _checked(export: Export, path: str) -> Export:
    known = {snapshot.id for snapshot in export.snapshots}
    for run in export.runs:
        if [place for place, record in enumerate(run.records) if isinstance(record, Opened)] != [0]:
            raise _wrong(path, f"run {run.id}: its first record is not `opened`, or another one is too")
        for place, record in enumerate(run.records):
            if what := _oddity(record, known):
                raise _wrong(path, f"run {run.id}, record {place}: {what}")
    return export


def _oddity(record: AnyRecord, snapshots: Collection[str]) -> str:
    """What no type tells of a record: why others would stumble over it, or empty."""
    if not 0 <= record.at < 1 << 63:
        return f"{record.at} is no time"
    if isinstance(record, Snapped) and record.snapshot not in snapshots:
        return f"its snapshot {record.snapshot} is missing"
    try:
        for glob in record.vary if isinstance(record, Opened) else ():
            parse_glob(glob)
        for path, seen in record.facts.items() if isinstance(record, Sampled) else ():
            parse_path(path)
            if isinstance(seen, Distribution) and len(seen.quantiles) != QUANTILES:
                return f"{path} has {len(seen.quantiles)} quantiles, not {QUANTILES}"
            if isinstance(seen, Held) and len(seen.values) < 1 + bool(seen.others):
                return f"{path} held values that are not there"
    except ValueError as error:
        return str(error)
    return ""


def _spilled(data: bytes, path: str) -> Export:
    """A spill file's last line may be torn, when its writer was killed: what stands before it counts."""
    first, *rest = data.split(b"\n")
    head = _decoded(msgspec.json.Decoder(Head), first, path, 1)
    lines = [_decoded(_line, text, path, number) for number, text in enumerate(rest[:-1], 2)]
    records = tuple(line.record for line in lines if line.record is not None)
    snapshots = tuple(line.snapshot for line in lines if line.snapshot is not None)
    if not records or not isinstance(records[0], Opened):
        raise _torn(path, 2, "a run's first record is `opened`")
    run = StoredRun(head.run, records[0].name, records[0].attempt, records)
    return _revalidated(Export(EXPORT, records[0].fingerprint, (run,), snapshots, ()), path)


def _decoded(decoder: "msgspec.json.Decoder[T]", text: bytes, path: str, number: int) -> T:
    try:
        return decoder.decode(text)
    except _Refused as error:
        raise _torn(path, number, str(error)) from error


def _torn(path: str, number: int, what: str) -> StoreError:
    return StoreError(f"{path}, line {number}, is not what a run writes ({what}): remove that line and what follows")


def _revalidated(export: Export, path: str) -> Export:
    """A spill file passes the same checks as an export: its readings are whole, so each carries its blob."""
    readings = [entry.reading for snapshot in export.snapshots for entry in snapshot.readings]
    readings += [record.reading for run in export.runs for record in run.records if hasattr(record, "reading")]
    kept = {blobs.address(r.lasting): _checked_blob(r.lasting, path) for r in readings if r.lasting is not None}
    shape = msgspec.structs.replace(export, blobs=tuple(kept.values()))
    _check_shape(msgspec.json.encode(shape), path)
    return _checked(_whole(export, kept), path)
