"""Events on their way into the store, and from there to whoever listens: who is told of one finds it stored."""

import threading
from collections import deque
from collections.abc import Callable, Iterable

from fingerprint.service.broadcast import Broadcast
from fingerprint.store import Event, StoreError

MOST_WAITING = 10_000
"""Events that wait for a store which takes nothing; of more the oldest are lost, and counted."""


class Outbox:
    """Usable by any thread. trouble: why the store took nothing at last; empty where it did."""

    def __init__(self, save: Callable[[tuple[Event, ...]], None], broadcast: Broadcast) -> None:
        """save: all or nothing; raises StoreError where the store takes nothing."""
        self._save, self._broadcast = save, broadcast
        self._waiting: deque[Event] = deque()
        self._lock = threading.Lock()
        self.lost = 0
        self.trouble = ""

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def add(self, events: Iterable[Event]) -> None:
        with self._lock:
            self._waiting.extend(events)
            while len(self._waiting) > MOST_WAITING:
                self._waiting.popleft()
                self.lost += 1
        self.flush()

    def _saved_alone(self, event: Event) -> bool:
        try:
            self._save((event,))
        except (ValueError, TypeError, StoreError):
            self.lost += 1
            return False
        return True

    def flush(self) -> None:
        """Tries what waits once more."""
        with self._lock:
            events = tuple(self._waiting)
            try:
                if events:
                    self._save(events)
            except StoreError as error:
                self.trouble = str(error)
                return
            except (ValueError, TypeError):  # one of them cannot be stored at all
                events = tuple(filter(self._saved_alone, events))
            self.trouble = ""
            self._waiting.clear()
        for event in events:
            self._broadcast.publish(event)
