"""How structs become the bytes of a column.

JSON, compressed where it is long. A reading is stored *hollow*: without the body of its lasting part,
which the blob table keeps once for all readings that are equal in it.
"""

import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from fingerprint.runs.record import AnyRecord, Passed, Process
from fingerprint.sections import Blob
from fingerprint.snapshot import Reading

T = TypeVar("T")

_LONG = 256
_HOLLOW = msgspec.Raw(b"null")
_encode = msgspec.json.Encoder().encode
_record = msgspec.json.Decoder(AnyRecord).decode


def packed(value: Any) -> bytes:
    """Raises TypeError, ValueError (UnicodeEncodeError) or RecursionError for what JSON cannot hold."""
    text = _encode(value)
    return zlib.compress(text, 1) if len(text) > _LONG else text


def unpacked(data: bytes) -> bytes:
    """The JSON text. A zlib stream begins with 0x78, which no JSON text does (RFC 1950, 2.2)."""
    return zlib.decompress(data) if data[:1] == b"\x78" else data


def raw_of(data: bytes) -> msgspec.Raw:
    return msgspec.Raw(unpacked(data))


def record_of(text: bytes | msgspec.Raw) -> AnyRecord:
    """Strict. Raises msgspec.ValidationError for what is no record of this release."""
    record: AnyRecord = _record(text)
    return record


def hollow(reading: Reading) -> Reading:
    """The reading with digest, schema and count of its lasting part, without gaps and body."""
    if reading.lasting is None:
        return reading
    return msgspec.structs.replace(reading, lasting=msgspec.structs.replace(reading.lasting, gaps={}, body=_HOLLOW))


def is_hollow(reading: Reading) -> bool:
    return reading.lasting is not None and bytes(reading.lasting.body) == b"null"


def with_reading(record: AnyRecord, change: Callable[[Reading], Reading]) -> AnyRecord:
    """The record with its reading changed; a record without one as it is."""
    if isinstance(record, (Passed, Process)):
        return msgspec.structs.replace(record, reading=change(record.reading))
    return record


def lasting_of(record: AnyRecord) -> Blob | None:
    return record.reading.lasting if isinstance(record, (Passed, Process)) else None
