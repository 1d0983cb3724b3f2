"""What was read of the host last, for all who sample it: a host is sampled once, however many runs it has."""

import threading
import time
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from fingerprint.runs.readers import Finished
from fingerprint.sections import decoder_of
from fingerprint.snapshot import Key, Reading, reading_of
from probes.kit.facts import Section

SHARE = 0.9
LEAST_SECONDS, MOST_SECONDS = 0.1, 0.9
"""What is so old at most is new enough for anybody; what is older than the other for nobody."""


class Pace:
    """How often one asks, by which is told how old an answer may be."""

    def __init__(self) -> None:
        self._last = 0.0

    def asked(self, now: float) -> float:
        """Seconds: most of the time since he asked last, so that two at one pace are given one reading."""
        passed, self._last = now - self._last if self._last else 0.0, now
        return min(max(SHARE * passed, LEAST_SECONDS), MOST_SECONDS)


class _Read(NamedTuple):
    """asked: when it was asked for, on the monotonic clock."""

    asked: float
    reading: Reading


class Recent:
    """Usable by any thread. What was passed on undecoded (`Reader.passes_on`) is decoded when somebody wants it so."""

    def __init__(self, types: Mapping[str, type[Section]] = MappingProxyType({})) -> None:
        """types: of the sections, by area."""
        self._types = types
        self._lock = threading.Lock()
        self._read: dict[Key, _Read] = {}

    def keep(self, finished: Iterable[Finished], asked: float) -> None:
        """What was read of the host; of a process everybody is told apart."""
        with self._lock:
            for key, reading in finished:
                if not key.target and reading.outcome == "ok":
                    self._read[key] = _Read(asked, reading)

    def readings(self, keys: Collection[Key], oldest: float) -> list[Finished]:
        """Of these what is `oldest` seconds old or less."""
        return [(key, self._decoded(key, reading)) for key, reading in self.of(keys, oldest)]

    def of(self, keys: Collection[Key], oldest: float) -> list[Finished]:
        """The same, as it was kept."""
        since = time.monotonic() - oldest
        with self._lock:
            found = {key: self._read[key] for key in keys if key in self._read}
        return [(key, read.reading) for key, read in found.items() if read.asked >= since]

    def _decoded(self, key: Key, reading: Reading) -> Reading:
        if reading.lasting is not None:
            return reading
        return reading_of(decoder_of(self._types[key.area])(reading.volatile), reading.duration_ms)
