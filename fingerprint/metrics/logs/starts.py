"""The starts of a server, of which one log may hold several: the last one counts.

Two servers that wrote into one log at once, with no name before their lines, cannot be told apart.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fingerprint.metrics.found import NothingRead
from fingerprint.metrics.logs.settings import in_words, settings
from fingerprint.metrics.source import Source

MIXED = (
    "two servers wrote into it at once and nothing tells whose a line is; give each a log of its own, or have their "
    "names set before their lines, as docker compose logs does"
)


class Starts:
    """count: of those that served something, and the last. told: what the last one says of itself."""

    def __init__(self, engine: str, names: tuple[str, ...]) -> None:
        """names: of the settings that are told."""
        self.engine = engine
        self.count = 1
        self.told: dict[str, Any] = {}
        self._names = names
        self._served = self._ready = False
        self._writers: dict[bytes, list[bytes]] = {}

    def written(self, part: bytes, pid: bytes) -> None:
        """By this process of a part of the server. Raises NothingRead where that wrote before another one did."""
        pids = self._writers.setdefault(part, [])
        if pid not in pids:
            pids.append(pid)
        elif pid != pids[-1]:
            raise NothingRead(MIXED)

    def ready(self) -> None:
        """At the line by which a start ends. Raises NothingRead where it had ended, for that is another server's."""
        if self._ready:
            raise NothingRead(MIXED)
        self._ready = True

    def served(self) -> None:
        self._served = True

    def begins(self, text: bytes) -> bool:
        """At a line of a start. Whether it is another one: a start tells of itself in several lines."""
        another = self._served
        self._ready = False
        if another:
            self.count, self.told, self._served = self.count + 1, {}, False
            self._writers = {part: pids[-1:] for part, pids in self._writers.items()}
        self.told = {**settings(text, self._names), **self.told}
        return another

    def workload(self, model: str, streams: int) -> Mapping[str, Any]:
        """model: the name of the setting that names it. streams: 0 where that is not told."""
        asked = {"model": self.told.get(model), "streams": streams or None}
        return {f"{self.engine}/{name}": value for name, value in asked.items() if value is not None}

    def remarks(self, source: Source) -> Iterator[str]:
        if self.count > 1:
            yield f"{source.name} holds {self.count} starts of the server; what the last one wrote counts"
        if told := in_words(self.told, self._names):
            yield f"{source.name}: {self.engine} says that it runs with {told}"
