"""Whether a file was written during a run: an old one of an earlier run must never be taken for this run's."""

import os
import re
import stat
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from fingerprint.metrics.found import NothingRead
from fingerprint.metrics.logs import recognise
from fingerprint.metrics.source import HEAD, LARGEST, Source, load

# The clock of a file server and ours may differ by so much.
CLOCKS_APART_NS = 60 * 10**9
# Of JSON, gzip or Prometheus; a log whose lines begin with their time is none.
_MAY_BE_ADDED_TO = re.compile(rb"\s*(?:\{|\[(?!\d{4}-\d\d-)|\x1f|# (?:HELP|TYPE) )")
_END = 4096  # bytes
_MOST_BESIDE = 10_000  # files of a folder


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
        raise NothingRead(f"{known.path} was not written during the run; name the file that is")
    if not os.path.isfile(known.path):
        raise NothingRead(f"{known.path} is no regular file; name a file that the command writes")
    if stamp == known.stamp:
        raise NothingRead(f"{known.path} is of an earlier run: this one did not write it, so nothing was read of it")
    if stamp.modified_ns < known.at_ns - CLOCKS_APART_NS:
        raise NothingRead(f"{known.path} was written long before the run, so nothing was read of it")
    return load(known.path, known.content, _added_at(known, stamp))


class Followed(NamedTuple):
    """says: what to know of a log that did not simply go on; empty of others."""

    source: Source
    says: str = ""


def followed(known: Before) -> Followed:
    """A file that others were writing when the run began. Raises NothingRead where it was not written since.

    A log may be rotated meanwhile: renamed, while its writer goes on in the renamed one or begins another, or cut off.
    """
    if not _is_log(known) or known.stamp is None:
        return Followed(written(known))
    now = _stamp(known.path)
    if now and now[:2] == known.stamp[:2]:
        cut = now != known.stamp and not _added_at(known, now)
        return Followed(written(known), f"{known.path} was cut off during the run: what it holds now counts" * cut)
    return _rotated(known, now)


def _rotated(known: Before, now: Stamp | None) -> Followed:
    """The one counts in which more was written."""
    assert known.stamp
    renamed = _renamed(known.stamp, os.path.dirname(known.path) or ".")
    added = renamed.size - known.stamp.size if renamed else 0
    if renamed and added > (now.size if now else 0):
        source = load(renamed.path, begin=known.stamp.size)
        return Followed(
            source, f"{known.path} was renamed to {renamed.path} during the run: what was added there counts"
        )
    there = f"what was added to {renamed.path}" if renamed else "what the former one was added"
    says = f"{known.path} is another file than when the run began: what it holds counts, {there} does not"
    return Followed(written(known), says)


class _Renamed(NamedTuple):
    path: str
    size: int


def _renamed(stamp: Stamp, folder: str) -> _Renamed | None:
    """Under which name the file lies in its folder now."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in islice(entries, _MOST_BESIDE):
            if entry.inode() == stamp.inode and (now := _stamp(entry.path)) and now[:2] == stamp[:2]:
                return _Renamed(entry.path, now.size)
    return None


def _is_log(known: Before) -> bool:
    """A result is written anew each time, and so is what `/metrics` answered: nothing follows from that."""
    if known.stamp is None or known.stamp.size == 0 or not known.content:
        return known.stamp is not None and known.stamp.size > 0
    log = recognise(known.content[:HEAD].decode("utf-8", "backslashreplace"))
    return log is not None and log.CLIENT != "prometheus"


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
