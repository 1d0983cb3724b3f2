"""The files of a process, without those on file systems that do not answer.

Who asks a file system whose server is gone stands still until it is back: the reader would be given up with all that
it had to tell of the process. So each such file system is asked once a moment, by a child that may be left behind,
before anything on it is.
"""

import posixpath
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from probes.kit import entries
from probes.kit.answers import Stat
from probes.kit.beneath import followed
from probes.kit.facts import Gap, Seen, no_answer, seen_or
from probes.kit.filepaths import real
from probes.kit.host import Host, Place
from probes.kit.mounts import Mount, remote, upwards

R = TypeVar("R")

PATIENCE = 0.5
"""Seconds. A server on another continent answers in 0.2."""


def answering(host: Host, pid: int) -> Host:
    """As Host.within, which it is where no file system of the process can be without its server."""
    files, points = host.within(pid), seen_or(remote(host, pid), {})
    return Answering(files, points, host.silent) if points else files


def stuck_at(files: Host, path: str) -> str | None:
    """The mount point on the way to the path that does not answer."""
    return files.stuck_at(path) if isinstance(files, Answering) else None


def unanswered(files: Host, path: str) -> Gap | None:
    """Why nothing may be asked about the path, by whatever name: /proc/PID/exe is no way around its file system."""
    return no_answer(files.way_to(path)) if isinstance(files, Answering) else None


class _Way:
    """Links, each of which is read once what it lies on has answered."""

    def __init__(self, files: Host, points: Mapping[str, Mount], silent: dict[str, bool]) -> None:
        self._files = files
        self._points = points
        self._silent = silent
        self.dead: dict[str, Gap | None] = {}

    def link(self, path: str) -> Seen[str]:
        for point in (above for above in upwards(path) if above in self._points):
            if point not in self.dead:
                self.dead[point] = self._asked(point)
            if gap := self.dead[point]:
                return gap
        return self._files.link(path)

    def _asked(self, point: str) -> Gap | None:
        mount = self._points[point]
        if mount.device not in self._silent:
            self._silent[mount.device] = no_answer(self._files.space(point, PATIENCE)) is not None
        return Gap("timed_out", f"{mount.type} on {point} does not answer") if self._silent[mount.device] else None


class Answering(Host):
    """`outer`, with a gap in place of each question that would not be answered. A recording holds each as one of
    `outer`."""

    def __init__(self, outer: Host, points: Mapping[str, Mount], silent: dict[str, bool]) -> None:
        """points: by mount point, of those that may not answer. silent: by device, what was asked in this moment."""
        super().__init__(outer.root or "/", outer.redactor, outer.options, deep=outer.deep)
        self._digests, self._told = outer._digests, outer._told
        self._outer = outer
        self._points = points
        self._way = _Way(outer, points, silent)
        self._folders: dict[str, Seen[str]] = {}

    def __eq__(self, other: object) -> bool:
        """What was read once is found again: each reading asks for its host anew."""
        return isinstance(other, Answering) and (other._outer, other._points) == (self._outer, self._points)

    def __hash__(self) -> int:
        return hash((self._outer, *self._points))

    def within(self, pid: int) -> Host:
        return self._outer.within(pid)

    def stuck_at(self, path: str) -> str | None:
        where = self.way_to(path)
        return next((point for point, gap in self._way.dead.items() if gap is not None and gap is where), None)

    def way_to(self, path: str) -> Seen[str]:
        """The path without links, `timed_out` where what it leads over does not answer."""
        return real(self._way, path)

    def _ask(self, call: str, key: str, live: Callable[[], Seen[R]]) -> Seen[R]:
        return self._outer._ask(call, key, live)

    def _try(self, path: str, read: Callable[[str], Seen[R]], place: Place = followed) -> Seen[R]:
        silent = no_answer(self._reached(path))
        return self._outer._try(path, read, place) if silent is None else silent

    def stats(self, path: str) -> Seen[Mapping[str, Stat]]:
        """`timed_out` also of a folder that such a file system is mounted in: what is asked of each name is asked of
        its server."""
        return self._ask("stats", path, partial(self._listed, path))

    def _listed(self, path: str) -> Seen[Mapping[str, Stat]]:
        silent = self._mounted_in(path)
        return self._try(path, entries.stats) if silent is None else silent

    def _mounted_in(self, path: str) -> Gap | None:
        folder = seen_or(self._reached(path), path).rstrip("/")
        points = (point for point in self._points if posixpath.dirname(point) == folder)
        return next(filter(None, (no_answer(self._way.link(point)) for point in points)), None)

    def _reached(self, path: str) -> Seen[str]:
        folder, name = posixpath.split(path)
        if folder not in self._folders:
            self._folders[folder] = real(self._way, folder)
        there = self._folders[folder]
        if isinstance(there, Gap):
            return there
        target = self._way.link(posixpath.join(there, name))
        if isinstance(target, Gap):
            return no_answer(target) or posixpath.join(there, name)
        return real(self._way, posixpath.join(there, target))
