"""The environments of processes, also of those that wrote a title over theirs.

setproctitle 1.3.8 fills what the kernel keeps as arguments and environment with NULs and writes the title there, unless
SPT_NOENV is set. Workers of vLLM and SGLang are named by it: what they were started with can be read until then. What
they have now is in their memory, which root may read.
"""

import os
from collections.abc import Callable
from typing import Protocol, TypeVar

from probes.kit.facts import Gap, Map, Redacted, Seen, then
from probes.kit.regular import whole

R = TypeVar("R")

CAP = 4 << 20
MOST = 4096
OVERWRITTEN = Gap("not_observable", "a title stands over it (setproctitle): of what starts with SPT_NOENV=1 it stays")

Variables = Map[Seen[str | Redacted]]


class Try(Protocol):
    """How a Host reads a path: an error of the kernel is a Gap."""

    def __call__(self, path: str, read: Callable[[str], Seen[R]], /) -> Seen[R]: ...


class Environs:
    """Those that were read whole are kept, for who has none any more when asked again and whose memory may not be
    read."""

    def __init__(self, variables: Callable[[str], Variables]) -> None:
        """variables: of the text of an environment, redacted."""
        self._variables = variables
        self._kept: dict[int, tuple[object, Variables]] = {}

    def of(self, pid: int, attempt: Try) -> Seen[Variables]:
        text = attempt(f"/proc/{pid}/environ", lambda path: whole(path, CAP))
        if text == "":  # also for a moment while it becomes another program
            return self._variables("")
        return then(text, lambda told: self._whole(pid, self._variables(told), attempt))

    def _whole(self, pid: int, found: Variables, attempt: Try) -> Seen[Variables]:
        incarnation = _incarnation(pid, attempt)
        if found.items:
            self._keep(pid, incarnation, found)
            return found
        now = attempt(f"/proc/{pid}", _moved)
        if not isinstance(now, Gap):
            return self._variables(now)
        before, kept = self._kept.get(pid, (None, found))
        if before == incarnation:
            return kept
        return Gap("denied", OVERWRITTEN.detail) if now.code == "denied" else OVERWRITTEN

    def _keep(self, pid: int, incarnation: object, found: Variables) -> None:
        self._kept.pop(pid, None)
        self._kept[pid] = incarnation, found
        if len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]


def _incarnation(pid: int, attempt: Try) -> object:
    """The process, by its start, and the program that it runs: another one has another environment."""
    stat = attempt(f"/proc/{pid}/stat", lambda path: whole(path, CAP))
    started = then(stat, lambda text: text.rpartition(")")[2].split()[19])
    return started, attempt(f"/proc/{pid}/exe", lambda path: os.stat(path)[1:3])


def _moved(folder: str) -> str:
    """See kit/moved.py, which is seldom needed."""
    from probes.kit.moved import moved

    return moved(folder)
