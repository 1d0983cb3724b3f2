"""When something that recurs during a run is due."""

from collections.abc import Iterator
from itertools import chain, count


class Timetable:
    """Moments of a run, in seconds from its start, each taken once. What is late is skipped, never made up for."""

    def __init__(self, moments: Iterator[float], began: float) -> None:
        """began: the run's start on the monotonic clock."""
        self._moments = moments
        self._began = began
        self.next = began + next(moments)

    def take(self, now: float) -> int:
        """How many moments have come since the last call: 0 not due yet, 1 on time, more: all but one missed."""
        passed = 0
        while self.next <= now:
            passed += 1
            self.next = self._began + next(self._moments)
        return passed


def ticks(first_minute_hz: float, then_hz: float) -> Iterator[float]:
    """Samples: at the start, then at one rate for a minute and at another from there on.

    Not jittered: what is sampled are the kernel's totals and states, and an even distance keeps their
    distributions weighted by time.
    """
    first = int(60 * first_minute_hz)
    early = (number / first_minute_hz for number in range(first))
    return chain(early, (60 + number / then_hz for number in count()))


def slow_ticks() -> Iterator[float]:
    """What costs more than a tick may: at one second a reading to begin from, at five, then each half minute."""
    return chain((1, 5), (30.0 * number for number in count(1)))


def process_readings() -> Iterator[float]:
    """At first sight; while an exec chain (env, taskset, bash -c exec) may still go on; then each minute."""
    return chain((0, 0.05, 0.2, 1, 5, 30), (60.0 * number for number in count(1)))


def looks() -> Iterator[float]:
    """At who is there: a server's workers come a while after it, and may come again."""
    return (5.0 * number for number in count(1))


def saves() -> Iterator[float]:
    """Each minute at first, then whenever the run is a tenth older, at least hourly.

    A record holds all samples so far, and weeks of minutely records would be larger than all else.
    """
    moment = 0.0
    while True:
        moment += min(max(60.0, moment / 10), 3600.0)
        yield moment
