"""The tables run and record."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from fingerprint.ids import new_id
from fingerprint.runs.record import AnyRecord, Closed, Marked, Opened, Opener, Snapped
from fingerprint.sections import Blob
from fingerprint.store import blobs
from fingerprint.store.errors import Damaged, StoreError
from fingerprint.store.packing import hollow, lasting_of, packed, record_of, unpacked, with_reading
from probes.kit.lazy import lazy_regex

if TYPE_CHECKING:
    from sqlite3 import Connection

NAME = lazy_regex(r"[A-Za-z0-9._+][A-Za-z0-9._+-]{0,99}")  # with - first it would be read as an option
COLUMNS = "run.id, name, attempt, benchmark, run.host, opened_at, last_at, opener, closed, good, service"


class RunRow(msgspec.Struct, frozen=True):
    """A run as `runs` lists it, its records undecoded.

    opened_at, last_at  ns since 1970, of the first and the newest record
    closed              how it ended; None: it is open, or interrupted where its opener is gone
    service             the service opened it and named it; not where a person gave the name since
    origin              the store it is in: `user`, `service` or `file`
    """

    id: str
    name: str
    attempt: int
    benchmark: str
    host: str
    opened_at: int
    last_at: int
    opener: Opener
    closed: Closed | None
    good: bool
    service: bool
    origin: str

    def __str__(self) -> str:
        return f"{self.name}#{self.attempt}"


def check_name(name: str) -> str:
    """The name itself. Raises StoreError for one that no reference could be written with."""
    if NAME.fullmatch(name) is None:
        raise StoreError(
            f"'{name}' cannot name a run: use up to 100 letters, digits and . _ + -, with no - first, e.g. run-A"
        )
    return name


def open_run(connection: "Connection", name: str, make: Callable[[int], Opened]) -> str:
    """The new run's id. `make` gets the attempt: one more than the highest of this name."""
    run_id = new_id()
    start(connection, run_id, make(next_attempt(connection, check_name(name))))
    return run_id


def next_attempt(connection: "Connection", name: str) -> int:
    attempt: int = connection.execute("SELECT 1 + ifnull(max(attempt), 0) FROM run WHERE name = ?", (name,)).fetchone()[
        0
    ]
    return attempt


def start(connection: "Connection", run_id: str, opened: Opened, name: str = "", attempt: int = 0) -> None:
    """Enters the run with its first record; name and attempt where they are to differ from the record's."""
    called = name or opened.name
    columns = (
        run_id, called, attempt or opened.attempt, opened.benchmark, opened.host, opened.at, opened.at,
        msgspec.json.encode(opened.opener), opened.service and called == opened.name,
    )  # fmt: skip
    connection.execute("INSERT INTO run VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, NULL, 0, ?)", columns)
    append(connection, run_id, opened)


def append(connection: "Connection", run_id: str, record: AnyRecord) -> None:
    """Adds a record. Raises StoreError for an unknown run, ValueError for what would not load again."""
    run = _number(connection, run_id)
    body = stored_body(record)
    record_of(unpacked(body))
    connection.execute(
        "INSERT INTO record SELECT ?, 1 + ifnull(max(seq), 0), ? FROM record WHERE run = ?", (run, body, run)
    )
    connection.execute("UPDATE run SET last_at = max(last_at, ?) WHERE number = ?", (record.at, run))
    _refer(connection, run, record)
    _index(connection, run, record)


def stored_body(record: AnyRecord) -> bytes:
    """The bytes of the record's row: its reading is hollow, the blob stands in its own table."""
    return packed(with_reading(record, hollow))


def bodies(connection: "Connection", run_id: str) -> list[bytes]:
    """The records as they are stored, in order. Raises StoreError for an unknown run."""
    number = _number(connection, run_id)
    return [body for (body,) in connection.execute("SELECT body FROM record WHERE run = ? ORDER BY seq", (number,))]


def records(connection: "Connection", run_id: str) -> tuple[AnyRecord, ...]:
    """In the order written, the first one under the name that the run has now. Raises StoreError."""
    whole = blobs_of(connection, run_id)
    try:
        found = [record_of(unpacked(body)) for body in bodies(connection, run_id)]
    except msgspec.ValidationError as error:
        raise StoreError(
            f"the run {run_id} holds a record that this release does not know ({error}): upgrade fingerprint"
        ) from error
    row = get(connection, run_id, "")
    return tuple(
        _as_of_now(with_reading(record, lambda reading: blobs.filled(reading, whole)), row) for record in found
    )


def blobs_of(connection: "Connection", run_id: str) -> Mapping[blobs.Address, Blob]:
    """The blobs that the run's own records refer to, by address."""
    query = f"""SELECT {blobs.COLUMNS} FROM run JOIN run_blob ON run = run.number JOIN blob ON blob.id = blob
                WHERE run.id = ?"""  # noqa: S608
    return blobs.by_address(connection.execute(query, (run_id,)))


def snapshots_of(connection: "Connection", run_id: str) -> list[str]:
    """Ids of the snapshots that the run refers to."""
    query = """SELECT snapshot.id FROM run JOIN run_snapshot ON run = run.number
               JOIN snapshot ON snapshot.number = snapshot WHERE run.id = ? ORDER BY taken_at"""
    return [snapshot_id for (snapshot_id,) in connection.execute(query, (run_id,))]


def get(connection: "Connection", run_id: str, origin: str) -> RunRow:
    """Raises StoreError for an unknown id."""
    found = select(connection, "run.id = ?", (run_id,), origin)
    if not found:
        raise _unknown(run_id)
    return found[0]


def select(
    connection: "Connection", where: str, values: tuple[Any, ...], origin: str, limit: int = -1
) -> tuple[RunRow, ...]:
    """The newest `limit` rows, oldest first."""
    query = f"SELECT {COLUMNS} FROM run WHERE {where} ORDER BY opened_at DESC, number DESC LIMIT ?"  # noqa: S608
    found = connection.execute(query, (*values, limit)).fetchall()
    return tuple(_row(row, origin) for row in reversed(found))


def _row(row: tuple[Any, ...], origin: str) -> RunRow:
    *plain, opener, closed, good, service = row
    try:
        ending = None if closed is None else msgspec.json.decode(closed, type=Closed)
        return RunRow(*(*plain, msgspec.json.decode(opener, type=Opener), ending, bool(good), bool(service), origin))
    except msgspec.DecodeError as error:
        raise Damaged(f"the run {plain[0]}: {error}") from error


def _number(connection: "Connection", run_id: str) -> int:
    row = connection.execute("SELECT number FROM run WHERE id = ?", (run_id,)).fetchone()
    if row is None:
        raise _unknown(run_id)
    number: int = row[0]
    return number


def _unknown(run_id: str) -> StoreError:
    return StoreError(f"there is no run {run_id} in this store (any more): `fingerprint runs` lists what there is")


def _refer(connection: "Connection", run: int, record: AnyRecord) -> None:
    if isinstance(record, Snapped):
        row = connection.execute("SELECT number FROM snapshot WHERE id = ?", (record.snapshot,)).fetchone()
        if row is None:
            raise ValueError(f"its snapshot {record.snapshot} is not stored: save the snapshot first")
        connection.execute("INSERT OR IGNORE INTO run_snapshot VALUES (?, ?)", (run, row[0]))
    elif (blob := lasting_of(record)) is not None:
        connection.execute("INSERT OR IGNORE INTO run_blob VALUES (?, ?)", (run, blobs.put(connection, blob)))


def _index(connection: "Connection", run: int, record: AnyRecord) -> None:
    if isinstance(record, Closed):
        connection.execute("UPDATE run SET closed = ? WHERE number = ?", (msgspec.json.encode(record), run))
    elif isinstance(record, Marked):
        connection.execute("UPDATE run SET good = ? WHERE number = ?", (record.good, run))


def _as_of_now(record: AnyRecord, row: RunRow) -> AnyRecord:
    """A series may have been renamed since; the record on the disk is not touched."""
    if isinstance(record, Opened):
        return msgspec.structs.replace(record, name=row.name, attempt=row.attempt, service=row.service)
    return record


def beginning(connection: "Connection", table: Literal["run", "snapshot"], prefix: str) -> tuple[str, ...]:
    """Ids in `table` that begin with `prefix`."""
    found = connection.execute(f"SELECT id FROM {table} WHERE id BETWEEN ? AND ?", (prefix, prefix + "~"))  # noqa: S608
    return tuple(row_id for (row_id,) in found)
