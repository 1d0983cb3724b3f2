"""The files as another process sees them, read without trusting whoever controls them."""

from collections.abc import Callable
from typing import TypeVar

from probes.kit.facts import Gap, Seen
from probes.kit.host import Host

R = TypeVar("R")

FILES = frozenset(
    "text head matching settings mentioned names link stat stats space resident sha256 elf weights".split()
)


class Within(Host):
    """The files beneath the root of a process of `outer`, and nothing else of the machine.

    No link leads out of that root, and what is no regular file is not opened. A recording holds each question as one
    of `outer`, its key behind `within PID`.
    """

    def __init__(self, outer: Host, pid: int) -> None:
        super().__init__(f"/proc/{pid}/root", outer.redactor, outer.options, deep=outer.deep)
        self._digests, self._told = outer._digests, outer._told
        self._outer = outer
        self._pid = pid

    def within(self, pid: int) -> Host:
        return self._outer.within(pid)

    def _ask(self, call: str, key: str, live: Callable[[], Seen[R]]) -> Seen[R]:
        if call not in FILES:
            return Gap("not_observable", "the files of a process do not tell this: ask the machine")
        return self._outer._ask(call, f"within {self._pid} {key}", live)

    def _missing(self, gap: Gap) -> Gap:
        """Unlike in a tree that was copied, what is missing beneath a process's root is absent."""
        return gap
