"""The environments of processes, also of those that wrote a title over theirs.

setproctitle 1.3.8 fills what the kernel keeps as arguments and environment with NULs and writes the title there, unless
SPT_NOENV is set. Workers of vLLM and SGLang are named by it: what they were started with can be read until then.
"""

from collections.abc import Callable
from typing import NamedTuple

from probes.kit.facts import Gap, Map, Redacted, Seen, then

MOST = 4096
OVERWRITTEN = Gap("not_observable", "a title stands over it (setproctitle): of what starts with SPT_NOENV=1 it stays")

Variables = Map[Seen[str | Redacted]]


class Door(NamedTuple):
    """How a Host reads. variables: of the text of an environment, redacted."""

    text: Callable[[str], Seen[str]]
    link: Callable[[str], Seen[str]]
    variables: Callable[[str], Variables]


class Environs:
    """Those that were read whole are kept, for who has none any more when asked again."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._kept: dict[int, tuple[object, Variables]] = {}

    def of(self, pid: int) -> Seen[Variables]:
        text = self._door.text(f"/proc/{pid}/environ")
        return then(text, lambda told: self._whole(pid, self._door.variables(told), is_empty=not told))

    def _whole(self, pid: int, found: Variables, *, is_empty: bool) -> Seen[Variables]:
        incarnation = self._incarnation(pid)
        if found.items or is_empty:
            self._keep(pid, incarnation, found)
            return found
        before, kept = self._kept.get(pid, (None, found))
        return kept if before == incarnation else OVERWRITTEN

    def _keep(self, pid: int, incarnation: object, found: Variables) -> None:
        self._kept.pop(pid, None)
        self._kept[pid] = incarnation, found
        if len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]

    def _incarnation(self, pid: int) -> object:
        """The process, by its start, and the program that it runs: another one has another environment."""
        started = then(self._door.text(f"/proc/{pid}/stat"), lambda text: text.rpartition(")")[2].split()[19])
        return started, self._door.link(f"/proc/{pid}/exe")
