"""The content of a result file: untrusted, so its size and depth have limits."""

import os
import stat
from typing import Any, NamedTuple

import msgspec

from fingerprint.metrics.found import NothingRead

LARGEST = 64 << 20  # bytes, unpacked
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


class Source(NamedTuple):
    """name: as it was asked for. earlier: what the file held before the run."""

    name: str
    data: bytes
    earlier: bytes = b""


def load(path: str, earlier: bytes = b"") -> Source:
    """Raises NothingRead where there is no regular file, or one that is too large."""
    try:
        data = _content(path)
    except OSError as error:
        raise NothingRead(f"{path}: {error.strerror}; name a file that the command writes") from None
    return Source(path, unpacked(data, path), earlier)


def _content(path: str) -> bytes:
    # A FIFO would block, a terminal would become ours.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise NothingRead(f"{path} is no regular file; name a file that the command writes")
        with open(fd, "rb", closefd=False) as file:
            return file.read(LARGEST + 1)
    finally:
        os.close(fd)


def unpacked(data: bytes, path: str) -> bytes:
    """As it is, unless it is gzip. Raises NothingRead where either is too large."""
    import zlib

    try:
        whole = zlib.decompressobj(wbits=31).decompress(data, LARGEST + 1) if data.startswith(_GZIP) else data
    except zlib.error as error:
        raise NothingRead(f"{path} cannot be unpacked: {error}") from None
    if max(len(data), len(whole)) > LARGEST:
        raise NothingRead(f"{path} has more than the {LARGEST >> 20} MiB that are read of a result file")
    return whole


def document(source: Source) -> Any:
    """The one JSON document of the file. Raises NothingRead."""
    return _decoded(source.data.removeprefix(_BOM), source.name)


def documents(source: Source) -> list[tuple[str, Any]]:
    """The JSON document of the file, or that of each of its lines, each with where it stands.

    Of a file of lines that the command only added to, the added ones. Raises NothingRead.
    """
    lines = source.data.removeprefix(_BOM).splitlines()
    before = len(source.earlier.splitlines()) if _was_added_to(source) else 0
    if not before and not is_of_lines(source):
        return [(source.name, document(source))]
    numbered = [(f"{source.name}: line {number}", line) for number, line in enumerate(lines, 1) if number > before]
    return [(where, _decoded(line, where)) for where, line in numbered if line.strip()]


def _was_added_to(source: Source) -> bool:
    """A run that wrote the same result again, byte for byte, wrote a whole one."""
    longer = len(source.data) > len(source.earlier)
    return longer and source.earlier.endswith(b"\n") and source.data.startswith(source.earlier)


def is_of_lines(source: Source) -> bool:
    """Whether the first of several lines is a document by itself."""
    full = [line for line in source.data.removeprefix(_BOM).splitlines() if line.strip()]
    if len(full) < 2:
        return False
    try:
        _decoded(full[0], "")
    except NothingRead:
        return False
    return True


def _decoded(data: bytes, where: str) -> Any:
    """Also what JSON has no word for and Python's writer writes: NaN, Infinity."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _decoded_leniently(data, where)
    except RecursionError:
        raise NothingRead(f"{where} is nested too deeply to be a result") from None


def _decoded_leniently(data: bytes, where: str) -> Any:
    import json

    try:
        decoded = json.loads(data)
    except RecursionError:
        raise NothingRead(f"{where} is nested too deeply to be a result") from None
    except ValueError as error:
        raise NothingRead(
            f"{where} is no JSON: {error}{_unfinished(data)}" if data.strip() else f"{where} is empty"
        ) from None
    _check_storable(decoded, where)
    return decoded


def _unfinished(data: bytes) -> str:
    begins, ends = data.strip()[:1], data.strip()[-1:]
    return "; its writer may not have finished" if begins in (b"{", b"[") and ends not in (b"}", b"]") else ""


def _check_storable(decoded: Any, where: str) -> None:
    """Half of a surrogate pair is a text for Python and for nobody else."""
    try:
        msgspec.json.encode(decoded)
    except UnicodeEncodeError:
        raise NothingRead(f"{where} holds text that is no Unicode") from None
