"""Records a run of servers that run already: before, samples while they serve, after. None of them is a child of ours.

It ends when it is told to (SIGINT, SIGTERM), when its time has passed, or when the last of the servers has ended.
"""

import math
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from fingerprint.runs.attached import AttachedRun, Attachment
from fingerprint.runs.record import Ending
from fingerprint.runs.recording import Means
from fingerprint.runs.relay import Relay, stop_self
from fingerprint.runs.watch import watch

ASKED_TO_END = frozenset({signal.SIGINT, signal.SIGTERM})
"""A script ends by the latter what it started in the background, and so does `end`; others interrupt the run."""


class Detached(NamedTuple):
    """How a run of servers ended. how: in words of its record. unwritten: see `session.Finished`."""

    how: Ending
    unwritten: str = ""


def attach(asked: Attachment, means: Means, begun: Callable[[], None] = lambda: None) -> Detached:
    """Records one run. begun: called once it is open and the host's state before it is kept."""
    with Relay() as relay:
        run = AttachedRun(asked, means)
        run.begin()
        begun()
        watched = _Watched(run, relay, asked.seconds)
        how: Ending = watch(watched, relay, [*run.duties, _EachSecond()], run.recording.trouble)
        interrupted = relay.told not in (0, *ASKED_TO_END)
        return Detached(how, run.end(how, interrupted=interrupted))


class _Watched:
    """What `watch` watches: the servers, and the time."""

    in_our_group = False
    stopped = 0

    def __init__(self, run: AttachedRun, relay: Relay, seconds: float | None) -> None:
        self._run, self._relay = run, relay
        self._ends = math.inf if seconds is None else time.monotonic() + seconds

    def poll(self) -> Ending | None:
        """None while it goes on."""
        if not self._run.lives:
            return "server ended"
        return "server ran on" if self._relay.told or time.monotonic() >= self._ends else None

    def send(self, number: int) -> None:
        """A signal that came to us. It is passed on to nobody."""
        if number == signal.SIGTSTP:
            stop_self(number)


class _EachSecond:
    """No signal tells that a process ended which is not our child."""

    def fileno(self) -> int | None:
        return None

    def timeout(self, now: float) -> float | None:
        return 1.0

    def step(self, now: float) -> None:
        """`watch` asks by itself whether it is over."""
