"""The content of a result file: untrusted, so its size and depth have limits; a log is streamed, and has none."""

import os
import stat
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from fingerprint.gzipped import MAGIC, inflated
from fingerprint.metrics.found import NothingRead

LARGEST = 64 << 20  # bytes of a document, unpacked
HEAD = 1 << 20  # bytes
_BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # as PowerShell writes what is redirected


class Source(NamedTuple):
    """name: as it was asked for. held: its content, unpacked and in UTF-8; None where it is more than a document has.

    earlier: what the file held before the run. begin: where in the content begins what the run added.
    """

    name: str
    held: bytes | None
    earlier: bytes = b""
    begin: int = 0

    @property
    def data(self) -> bytes:
        """Raises NothingRead for what is no document, because it is too large."""
        if self.held is None:
            raise NothingRead(_too_large(self.name))
        return self.held

    @property
    def head(self) -> str:
        """The beginning, by which a format is told."""
        return next(self.chunks(HEAD), b"").decode("utf-8", "backslashreplace")

    def chunks(self, size: int = 1 << 18) -> Iterator[bytes]:
        """The content, however long it is, at most `size` bytes in turn. Raises NothingRead."""
        if self.held is not None:
            return (self.held[at : at + size] for at in range(0, len(self.held), size))
        return _chunks(self.name, size)


def load(path: str, earlier: bytes = b"", begin: int = 0) -> Source:
    """Raises NothingRead where there is no regular file, or none that can be unpacked."""
    is_packed = next(_read(path, HEAD), b"").startswith(MAGIC)
    if not is_packed and os.path.getsize(path) > LARGEST:
        return Source(path, None, earlier, begin)
    data = next(_read(path, LARGEST + 1), b"")
    whole = _unpacked(data, path)
    if whole is not None and whole.startswith(_UTF_16):
        return Source(path, _in_utf_8(whole), _in_utf_8(earlier), 0 if is_packed else len(_in_utf_8(whole[:begin])))
    return Source(path, whole, earlier, 0 if is_packed else begin)


def _in_utf_8(data: bytes) -> bytes:
    """Of UTF-16 with its mark; what is none is as it was."""
    return data.decode("utf-16", "replace").encode() if data.startswith(_UTF_16) else data


def _chunks(path: str, size: int) -> Iterator[bytes]:
    packed = _read(path, size)
    first = next(packed, b"")
    if first.startswith(_UTF_16):
        raise NothingRead(
            f"{path} is UTF-16, of which {LARGEST >> 20} MiB are read at most; iconv -f UTF-16 -t UTF-8 helps"
        )
    if not first.startswith(MAGIC):
        yield first
        yield from packed
        return
    yield from _inflated(path, chain((first,), packed), size)


def _inflated(path: str, packed: Iterable[bytes], size: int) -> Iterator[bytes]:
    try:
        yield from inflated(packed, size)
    except (EOFError, ValueError) as error:
        raise NothingRead(f"{path} cannot be unpacked: {error}") from None


def _read(path: str, size: int) -> Iterator[bytes]:
    """Raises NothingRead."""
    try:
        # A FIFO would block, a terminal would become ours.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise NothingRead(f"{path} is no regular file; name a file that the command writes")
            with open(fd, "rb", closefd=False) as file:
                while chunk := file.read(size):
                    yield chunk
        finally:
            os.close(fd)
    except OSError as error:
        raise NothingRead(f"{path}: {error.strerror}; name a file that the command writes") from None


def unpacked(data: bytes, path: str) -> bytes:
    """As it is, unless it is gzip. Raises NothingRead where either is too large."""
    whole = _unpacked(data, path)
    if whole is None:
        raise NothingRead(_too_large(path))
    return whole


def _unpacked(data: bytes, path: str) -> bytes | None:
    if len(data) > LARGEST:
        return None
    if not data.startswith(MAGIC):
        return data
    whole = bytearray()
    for part in _inflated(path, (data,), HEAD):
        whole += part
        if len(whole) > LARGEST:
            return None
    return bytes(whole)


def _too_large(path: str) -> str:
    return f"{path} has more than the {LARGEST >> 20} MiB that are read of a result file"


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
    """A run that wrote the same result again, byte for byte, wrote a whole one. Some end a line as they add one."""
    added = source.data[len(source.earlier) :]
    is_whole = source.earlier.endswith(b"\n") or added.startswith((b"\n", b"\r\n"))
    return is_whole and bool(added.strip()) and source.data.startswith(source.earlier)


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
