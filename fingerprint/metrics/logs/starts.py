"""The starts of a server, of which one log may hold several: the last one counts."""

from collections.abc import Iterator, Mapping
from typing import Any

from fingerprint.metrics.logs.settings import in_words, settings
from fingerprint.metrics.source import Source


class Starts:
    """count: of those that served something, and the last. told: what the last one says of itself."""

    def __init__(self, engine: str, names: tuple[str, ...]) -> None:
        """names: of the settings that are told."""
        self.engine = engine
        self.count = 1
        self.told: dict[str, Any] = {}
        self._names = names
        self._served = False

    def served(self) -> None:
        self._served = True

    def begins(self, text: bytes) -> bool:
        """At a line of a start. Whether it is another one: a start tells of itself in several lines."""
        another = self._served
        if another:
            self.count, self.told, self._served = self.count + 1, {}, False
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
