"""Events to whoever listens, as they happen.

A listener that does not take what it is given is dropped and counted: it holds up nobody, and finds in the store what
it missed.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fingerprint.store.events import Event

MOST_WAITING, MOST_LISTENERS = 1000, 64


class Listener:
    """One that listens, until `over`. Usable by another thread than that which publishes."""

    def __init__(self, broadcast: "Broadcast", wake: Callable[[], object]) -> None:
        self.over = False
        self._broadcast = broadcast
        self._wake = wake
        self._waiting: list[Event] = []

    def take(self) -> "list[Event]":
        """What came since the last time, in order."""
        with self._broadcast.lock:
            taken, self._waiting = self._waiting, []
        return taken

    def close(self) -> None:
        self._broadcast.leave(self)

    def _put(self, event: "Event") -> bool:
        """Whether there was room for it."""
        self.over = self.over or len(self._waiting) >= MOST_WAITING
        if not self.over:
            self._waiting.append(event)
        self._wake()
        return not self.over

    def _end(self) -> None:
        self.over = True
        self._wake()


class Broadcast:
    """dropped: how many listeners were given up because they took nothing."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.dropped = 0
        self._listeners: set[Listener] = set()
        self._closed = False

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    @property
    def is_full(self) -> bool:
        """Whether as many listen as may."""
        return self.listeners >= MOST_LISTENERS

    def publish(self, event: "Event") -> None:
        """Never waits, and never raises for what a listener does."""
        with self.lock:
            full = [listener for listener in self._listeners if not listener._put(event)]
            self._listeners.difference_update(full)
            self.dropped += len(full)

    def subscribe(self, wake: Callable[[], object]) -> Listener | None:
        """None where as many listen as may. wake: called, by any thread and with a lock held, whenever there is
        something to take, or it is over; it must not wait."""
        listener = Listener(self, wake)
        with self.lock:
            if self.is_full:
                return None
            self._listeners.add(listener)
            listener.over = self._closed
        return listener

    def leave(self, listener: Listener) -> None:
        with self.lock:
            self._listeners.discard(listener)

    def close(self) -> None:
        """It is over for all, also for those who come later."""
        with self.lock:
            self._closed = True
            for listener in self._listeners:
                listener._end()
            self._listeners.clear()
