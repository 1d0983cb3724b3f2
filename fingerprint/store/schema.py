"""The tables, and how a file of an older release is brought up to them.

blob            a section's lasting part, kept once; never rewritten
manifest        which blobs one snapshot, or many equal ones, is made of
snapshot        one moment, or all quiet ones from taken_at until seen_until; volatile stands apart
run             index over the records: name and attempt, and what `runs` lists
record          what happened in a run, append-only
run_snapshot, run_blob   what a run refers to, so that nothing else goes when it is removed
event           what happened on a host
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fingerprint.store.errors import NoStore, StoreError

if TYPE_CHECKING:
    from sqlite3 import Connection

VERSION = 2
APPLICATION_ID = 0x46505254  # "FPRT", in the file's header
ALWAYS = (1 << 63) - 1  # the last time that a column takes

EVENTS = (
    """CREATE TABLE event (
        id TEXT PRIMARY KEY, host TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL,
        kind TEXT NOT NULL, what TEXT NOT NULL, body BLOB NOT NULL)""",
    "CREATE INDEX event_host ON event (host, until)",
    "CREATE INDEX event_what ON event (what, until)",
    "CREATE INDEX event_newest ON event (until)",
)
TABLES = (
    """CREATE TABLE blob (
        id INTEGER PRIMARY KEY, digest TEXT NOT NULL, schema TEXT NOT NULL,
        seen INTEGER NOT NULL, gaps BLOB NOT NULL, body BLOB NOT NULL, UNIQUE (digest, schema))""",
    "CREATE TABLE manifest (id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE)",
    """CREATE TABLE manifest_entry (
        manifest INTEGER NOT NULL REFERENCES manifest ON DELETE CASCADE, area TEXT NOT NULL, target TEXT NOT NULL,
        outcome TEXT NOT NULL, blob INTEGER REFERENCES blob, PRIMARY KEY (manifest, area, target)) WITHOUT ROWID""",
    "CREATE INDEX manifest_entry_blob ON manifest_entry (blob)",
    """CREATE TABLE snapshot (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, host TEXT NOT NULL, taken_at INTEGER NOT NULL,
        seen_until INTEGER NOT NULL, duration_ms REAL NOT NULL, provenance BLOB NOT NULL,
        manifest INTEGER NOT NULL REFERENCES manifest, volatile BLOB NOT NULL)""",
    "CREATE INDEX snapshot_taken ON snapshot (host, taken_at)",
    "CREATE INDEX snapshot_newest ON snapshot (taken_at)",
    "CREATE INDEX snapshot_manifest ON snapshot (manifest)",
    """CREATE TABLE run (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, attempt INTEGER NOT NULL,
        benchmark TEXT NOT NULL, host TEXT NOT NULL, opened_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
        opener BLOB NOT NULL, closed BLOB, good INTEGER NOT NULL DEFAULT 0, service INTEGER NOT NULL DEFAULT 0,
        UNIQUE (name, attempt))""",
    "CREATE INDEX run_benchmark ON run (benchmark)",
    """CREATE TABLE record (
        run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, seq INTEGER NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (run, seq)) WITHOUT ROWID""",
    """CREATE TABLE run_snapshot (
        run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, snapshot INTEGER NOT NULL REFERENCES snapshot,
        PRIMARY KEY (run, snapshot)) WITHOUT ROWID""",
    "CREATE INDEX run_snapshot_snapshot ON run_snapshot (snapshot)",
    """CREATE TABLE run_blob (
        run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, blob INTEGER NOT NULL REFERENCES blob,
        PRIMARY KEY (run, blob)) WITHOUT ROWID""",
    "CREATE INDEX run_blob_blob ON run_blob (blob)",
    *EVENTS,
)

Migration = Callable[["Connection"], None]


def _events_and_service(connection: "Connection") -> None:
    connection.execute("ALTER TABLE run ADD COLUMN service INTEGER NOT NULL DEFAULT 0")
    for statement in EVENTS:
        connection.execute(statement)


# From the version that is the key to the next one. Each runs inside one transaction with all others due.
MIGRATIONS: Mapping[int, Migration] = {1: _events_and_service}


def check(connection: "Connection", path: Path) -> int:
    """The schema's version, 0 for an empty file. Raises StoreError for what another program made."""
    if not connection.in_transaction:  # one view: another process may be making the tables
        connection.execute("BEGIN")
        with connection:
            return check(connection, path)
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    owner: int = connection.execute("PRAGMA application_id").fetchone()[0]
    if owner != APPLICATION_ID and (owner or version or _has_tables(connection)):
        raise StoreError(f"{path} is the SQLite database of another program: let FINGERPRINT_STORE name another file")
    return version


def prepare(
    connection: "Connection",
    path: Path,
    *,
    readonly: bool,
    version: int = VERSION,
    migrations: Mapping[int, Migration] = MIGRATIONS,
) -> None:
    """Makes the tables of an empty file, brings older ones up. Raises StoreError, having written nothing."""
    found = check(connection, path)
    if found == version:
        return
    _refuse_newer(found, version, path)
    if readonly:
        raise _unwritable(found, version, path)
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        found = check(connection, path)  # another process may have been first
        _refuse_newer(found, version, path)
        if found == 0:
            _create(connection, version)
        for step in range(found, version) if found else ():
            migrations[step](connection)
        connection.execute(f"PRAGMA user_version = {version}")


def _create(connection: "Connection", version: int) -> None:
    assert version == VERSION, "the tables above are those of VERSION"
    for statement in TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _refuse_newer(found: int, version: int, path: Path) -> None:
    if found > version:
        raise StoreError(
            f"{path} was made by a newer release of fingerprint (schema {found}, this one knows {version}):"
            " upgrade, or let FINGERPRINT_STORE name another file; nothing was written"
        )


def _unwritable(found: int, version: int, path: Path) -> StoreError:
    if found == 0:
        return NoStore(f"{path} holds nothing yet: a first `fingerprint run` fills it")
    return StoreError(
        f"{path} was made by an older release (schema {found}, now {version}) and is open for reading only:"
        " run any writing command as its owner once, e.g. `fingerprint snapshot`"
    )


def _has_tables(connection: "Connection") -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
