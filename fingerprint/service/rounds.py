"""Snapshots that are taken again and again, and what to do of an area that hangs."""

import threading
import time
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from fingerprint.reader import Reader, take_snapshot
from fingerprint.snapshot import Job, Key, Snapshot

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 50.0, 86_400.0
"""Until what hung is asked again: in the next round, as it may be over; later seldom, as each time one more reader may
be left behind that cannot end."""


class Waits:
    """Which hung areas are due to be asked again, at a time on the monotonic clock."""

    def __init__(self) -> None:
        self._until: dict[Key, tuple[float, float]] = {}

    def hang(self, keys: Collection[Key], now: float) -> None:
        """From now on they are waited for, unless they are already."""
        for key in keys:
            self._until.setdefault(key, (now + FIRST_WAIT_SECONDS, FIRST_WAIT_SECONDS))

    def retry(self, hung: Collection[Key], now: float) -> list[Key]:
        """Those whose wait is over. Each further time the wait is twice as long."""
        self.hang(hung, now)
        found = [key for key in hung if now >= self._until[key][0]]
        for key in found:
            wait = min(2 * self._until[key][1], LONGEST_WAIT_SECONDS)
            self._until[key] = (now + wait, wait)
        return found

    def answered(self, keys: Collection[Key]) -> None:
        for key in keys:
            self._until.pop(key, None)


class Rounds:
    """One reader, asked by one thread at a time."""

    def __init__(self, reader: Reader, areas: Sequence[str], redaction_key: str, budget: float) -> None:
        """areas: of the host, all of them. budget: seconds of one round."""
        self._reader = reader
        self._areas = areas
        self._key, self._budget = redaction_key, budget
        self._waits = Waits()
        self._lock = threading.Lock()
        self.newest: Snapshot | None = None

    @property
    def hung(self) -> Mapping[Key, str]:
        return dict(self._reader.hung)

    @property
    def silence(self) -> float:
        """Seconds for which the reader has said nothing."""
        return self._reader.silence

    def take(self, areas: Collection[str] = ()) -> Snapshot:
        """A whole snapshot, which is the newest from then on; of `areas` alone where any are named."""
        wanted = [area for area in self._areas if not areas or area in areas]
        with self._lock:
            for key in self._waits.retry(tuple(self._reader.hung), time.monotonic()):
                self._reader.hung.pop(key, None)
            taken = take_snapshot(self._reader, [Job(area) for area in wanted], self._key, self._budget)
            self._waits.hang(tuple(self._reader.hung), time.monotonic())
            self._waits.answered([key for key, reading in taken.readings.items() if reading.outcome == "ok"])
            taken = replace(taken, readings={Key(area): taken.readings[Key(area)] for area in wanted})
            self.newest = self.newest if areas else taken
            return taken

    def close(self) -> None:
        self._reader.close()
