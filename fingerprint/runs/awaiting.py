"""A server is read again once it serves: by then its workers are there and have what they run with."""

from collections.abc import Iterator
from itertools import chain, count

from fingerprint.runs.census import Census
from fingerprint.runs.timetable import Timetable
from probes.kit.host import Host


class Awaiting:
    """Has the census read again when a port is first listened on: those given, and those that the names of servers
    found meanwhile tell."""

    def __init__(self, ports: frozenset[int], host: Host, census: Census, began: float) -> None:
        self._ports = ports
        self._host = host
        self._census = census
        self._served: frozenset[int] = frozenset()
        self._moments = Timetable(_moments(), began)

    def fileno(self) -> int | None:
        return None

    def timeout(self, now: float) -> float | None:
        return self._moments.next - now

    def step(self, now: float) -> None:
        if self._moments.take(now) and (left := self._left()):
            from fingerprint.runs.serving import listening

            served = frozenset(port for port in left if listening(self._host, port, self._census.pids))
            self._served |= served
            if served:
                self._census.be_due()

    def _left(self) -> frozenset[int]:
        return (self._ports | self._census.ports) - self._served


def _moments() -> Iterator[float]:
    """Each second while weights may be loading, then seldom: the table of sockets is long on a busy host."""
    return chain((float(second) for second in range(120)), (120 + 30.0 * number for number in count()))
