"""The blob table: lasting parts, each kept once."""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from fingerprint.sections import Blob
from fingerprint.snapshot import Reading
from fingerprint.store.errors import Damaged
from fingerprint.store.packing import is_hollow, packed, raw_of, unpacked

if TYPE_CHECKING:
    from sqlite3 import Connection

Address = tuple[str, str]
COLUMNS = "blob.digest, blob.schema, blob.seen, blob.gaps, blob.body"


def put(connection: "Connection", blob: Blob) -> int:
    """The row that holds this blob, made if there is none. A hollow blob must be there already."""
    row = connection.execute("SELECT id FROM blob WHERE digest = ? AND schema = ?", address(blob)).fetchone()
    if row is None:
        columns = (*address(blob), blob.seen, packed(blob.gaps), packed(blob.body))
        row = (connection.execute("INSERT INTO blob VALUES (NULL, ?, ?, ?, ?, ?)", columns).lastrowid,)
    number: int = row[0]
    return number


def address(blob: Blob) -> Address:
    """Two areas may have equal bodies, e.g. empty ones: the schema tells them apart."""
    return blob.digest, blob.schema


def digest_of(body: msgspec.Raw) -> str:
    """As sections.blob_of makes it, of canonical JSON."""
    return blake2b(bytes(body), digest_size=20).hexdigest()


def blob_of_row(digest: str, schema: str, seen: int, gaps: bytes, body: bytes) -> Blob:
    """Raises Damaged where the body is not the one that was stored: the database has no checksums of its own."""
    raw = raw_of(body)
    if digest_of(raw) != digest:
        raise Damaged(f"the blob {digest} has other content than its digest says")
    return Blob(digest, schema, seen, msgspec.json.decode(unpacked(gaps), type=dict[str, str]), raw)


def by_address(rows: Iterable[tuple[str, str, int, bytes, bytes]]) -> Mapping[Address, Blob]:
    return {(row[0], row[1]): blob_of_row(*row) for row in rows}


def filled(reading: Reading, blobs: Mapping[Address, Blob]) -> Reading:
    """A hollow reading with its lasting part put back. Raises Damaged where that is missing."""
    if reading.lasting is None or not is_hollow(reading):
        return reading
    if (blob := blobs.get(address(reading.lasting))) is None:
        raise Damaged(f"the blob {reading.lasting.digest} is missing")
    return msgspec.structs.replace(reading, lasting=blob)
