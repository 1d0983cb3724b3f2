"""The files of a process, without those on file systems that do not answer.

Who asks a file system whose server is gone stands still until it is back: the reader would be given up with all that
it had to tell of the process. So each such file system is asked once, by a child that may be left behind, before
anything on it is.
"""

import posixpath
from collections.abc import Callable, Mapping
from typing import TypeVar

from probes.kit.beneath import followed
from probes.kit.facts import Gap, Seen, seen_or
from probes.kit.filepaths import real
from probes.kit.host import Host, Place
from probes.kit.mounts import remote, upwards

R = TypeVar("R")

PATIENCE = 0.5
"""Seconds. A server on another continent answers in 0.2."""


def answering(host: Host, pid: int) -> Host:
    """As Host.within, which it is where no file system of the process can be without its server."""
    files, points = host.within(pid), seen_or(remote(host, pid), {})
    return Answering(files, points) if points else files


def stuck_at(files: Host, path: str) -> str | None:
    """The mount point on the way to the path that does not answer."""
    return files.stuck_at(path) if isinstance(files, Answering) else None


class _Way:
    """Links, each of which is read once what it lies on has answered."""

    def __init__(self, files: Host, points: Mapping[str, str]) -> None:
        self._files = files
        self._points = points
        self.dead: dict[str, Gap | None] = {}

    def link(self, path: str) -> Seen[str]:
        for point in (above for above in upwards(path) if above in self._points):
            if point not in self.dead:
                self.dead[point] = self._asked(point)
            if gap := self.dead[point]:
                return gap
        return self._files.link(path)

    def _asked(self, point: str) -> Gap | None:
        space = self._files.space(point, PATIENCE)
        if not isinstance(space, Gap) or space.code != "timed_out":
            return None
        return Gap("timed_out", f"{self._points[point]} on {point} does not answer")


class Answering(Host):
    """`outer`, with a gap in place of each question that would not be answered. A recording holds each as one of
    `outer`."""

    def __init__(self, outer: Host, points: Mapping[str, str]) -> None:
        """points: type of file system by mount point, of those that may not answer."""
        super().__init__(outer.root or "/", outer.redactor, outer.options, deep=outer.deep)
        self._digests, self._told = outer._digests, outer._told
        self._outer = outer
        self._way = _Way(outer, points)
        self._folders: dict[str, Seen[str]] = {}

    def within(self, pid: int) -> Host:
        return self._outer.within(pid)

    def stuck_at(self, path: str) -> str | None:
        where = real(self._way, path)
        return next((point for point, gap in self._way.dead.items() if gap is not None and gap is where), None)

    def _ask(self, call: str, key: str, live: Callable[[], Seen[R]]) -> Seen[R]:
        return self._outer._ask(call, key, live)

    def _try(self, path: str, read: Callable[[str], Seen[R]], place: Place = followed) -> Seen[R]:
        where = self._reached(path)
        return where if isinstance(where, Gap) and where.code == "timed_out" else self._outer._try(path, read, place)

    def _reached(self, path: str) -> Seen[str]:
        folder, name = posixpath.split(path)
        if folder not in self._folders:
            self._folders[folder] = real(self._way, folder)
        there = self._folders[folder]
        if isinstance(there, Gap):
            return there
        target = self._way.link(posixpath.join(there, name))
        return target if isinstance(target, Gap) else real(self._way, posixpath.join(there, target))
