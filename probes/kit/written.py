"""What was written after a process had read what it runs: it has what was there before."""

from collections.abc import Iterable

from probes.kit.facts import Seen, seen_or, then
from probes.kit.host import Host
from probes.kit.processes import ran

STARTING = 60 * 10**9
"""ns that a program may take to read all of its files."""


def written_since(host: Host, pid: int, files: Host, places: Iterable[tuple[str, str]]) -> Seen[tuple[str, ...]]:
    """places: names and files of what it reads; of several files of one name any counts. One that was put in the place
    of another with its time kept (cp -p, rsync) is not told."""
    return then(ran(host, pid), lambda at: _since(files, at + STARTING, places))


def _since(files: Host, at: int, places: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(sorted({name for name, place in places if _written(files, place) > at}))


def _written(files: Host, place: str) -> int:
    """ns since 1970."""
    return seen_or(then(files.stat(place), lambda info: info.mtime_ns), 0)
