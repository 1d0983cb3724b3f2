"""Whether a file was written during a run: an old one of an earlier run must never be taken for this run's."""

import os
import re
import stat
from typing import NamedTuple

from fingerprint.metrics.found import NothingRead
from fingerprint.metrics.source import LARGEST, Source, load

# The clock of a file server and ours may differ by so much.
CLOCKS_APART_NS = 60 * 10**9
# Of JSON, gzip or Prometheus; a log whose lines begin with their time is none.
_MAY_BE_ADDED_TO = re.compile(rb"\s*(?:\{|\[(?!\d{4}-\d\d-)|\x1f|# (?:HELP|TYPE) )")
_END = 4096  # bytes


class Stamp(NamedTuple):
    """What changes when a file is written or replaced."""

    device: int
    inode: int
    size: int
    modified_ns: int


class Before(NamedTuple):
    """A file before the run. stamp: None where there was none. content: of a result file, which may be added to.

    end: the last bytes, by which a log is known again that was added to.
    """

    path: str
    at_ns: int
    stamp: Stamp | None = None
    content: bytes = b""
    end: bytes = b""


def before(path: str, at_ns: int) -> Before:
    """at_ns: now, since 1970."""
    stamp = _stamp(path)
    if stamp is None:
        return Before(path, at_ns)
    return Before(path, at_ns, stamp, _content(path), _end(path, stamp.size))


def written(known: Before) -> Source:
    """The file as the run left it. Raises NothingRead where the run did not write it."""
    stamp = _stamp(known.path)
    if stamp is None:
        raise NothingRead(f"{known.path} was not written by the command; name the file that it writes")
    if stamp == known.stamp:
        raise NothingRead(f"{known.path} is of an earlier run: the command did not write it, so nothing was read of it")
    if stamp.modified_ns < known.at_ns - CLOCKS_APART_NS:
        raise NothingRead(
            f"{known.path} was put in place during the run and written long before it, so nothing was read of it"
        )
    return load(known.path, known.content, _added_at(known, stamp))


def _stamp(path: str) -> Stamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _added_at(known: Before, now: Stamp) -> int:
    """Where begins what was added to the file; 0 where it was written anew, longer than it was."""
    if known.stamp is None or known.stamp[:2] != now[:2]:
        return 0
    size = known.stamp.size
    return size if now.size > size and _end(known.path, size) == known.end else 0


def _end(path: str, size: int) -> bytes:
    """The last bytes of the first `size`."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return b""
        with open(path, "rb") as file:
            file.seek(max(0, size - _END))
            return file.read(min(size, _END))
    except OSError:
        return b""


def _content(path: str) -> bytes:
    """Empty for what cannot be a result."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode) or os.stat(path).st_size > LARGEST:
            return b""
        with open(path, "rb") as file:
            start = file.read(64)
            return start + file.read(LARGEST) if _MAY_BE_ADDED_TO.match(start) else b""
    except OSError:
        return b""
