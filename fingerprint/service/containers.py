"""Whether a server's container was started anew: by what its runs read of it, from one to the next."""

from collections.abc import Iterable
from typing import NamedTuple

from fingerprint.runs.record import AnyRecord, Closed, Opened, Process
from probes.container.sections import Container
from probes.kit.facts import Gap
from probes.kit.probe import MAIN

AREA = "container"


class Restart(NamedTuple):
    """was, is_: of which start, in clock ticks since boot. since, until: ns since 1970, between two of its runs."""

    name: str
    was: int
    is_: int
    since: int
    until: int


class Containers:
    """The last known start, of each series."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}

    def knows(self, name: str) -> bool:
        return name in self._known

    def take(self, name: str, records: Iterable[AnyRecord]) -> Restart | None:
        """records: of a run that ended. A reboot makes every start another one: ticks are those of a boot, and a boot
        has an event of its own."""
        told = list(records)
        started = _started(told)
        if started is None:
            return None
        began, ended = (next((one.at for one in told if isinstance(one, kind)), 0) for kind in (Opened, Closed))
        was = self._known.get(name)
        self._known[name] = (started, ended)
        if was is None or was[0] == started:
            return None
        return Restart(name, was[0], started, min(was[1], began), began)


def _started(records: Iterable[AnyRecord]) -> int | None:
    readings = [one.reading for one in records if isinstance(one, Process) and (one.area, one.target) == (AREA, MAIN)]
    section = readings[-1].section(Container) if readings else None
    if section is None or isinstance(section.started, Gap) or isinstance(section.runtime, Gap):
        return None
    return section.started
