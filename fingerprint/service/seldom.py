"""Lines for the journal, at most one a minute of each kind: whoever fails a thousand times a second fills no disk."""

import sys
import time
from collections.abc import Callable

SECONDS = 60.0


class Seldom:
    """What was left out is counted in the next line of its kind."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def say(self, kind: str, sentence: str) -> None:
        now = self._clock()
        if now < self._next.get(kind, now):
            self._left_out[kind] = self._left_out.get(kind, 0) + 1
            return
        self._next[kind] = now + SECONDS
        more = self._left_out.pop(kind, 0)
        sys.stderr.write(f"{sentence} (and {more} more before)\n" if more else f"{sentence}\n")
        sys.stderr.flush()
