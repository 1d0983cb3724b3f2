"""Waits for the command, and does beside it what is to be done."""

import math
import select
import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from fingerprint.runs.relay import Relay, stop_self

E_co = TypeVar("E_co", covariant=True)
E = TypeVar("E")

STOP_SECONDS = 5.0  # from Ctrl-Z until the command stops; what stops it later is somebody else's doing


class Watched(Protocol[E_co]):
    """What is awaited. stopped: the signal that stopped it. send: takes a signal that reached fingerprint alone, or,
    of what is not in our process group, any."""

    stopped: int

    def poll(self) -> E_co | None: ...
    def send(self, number: int) -> None: ...
    @property
    def in_our_group(self) -> bool: ...


class Duty(Protocol):
    """Something done beside the command. `step` is called after each wake-up and never waits."""

    def fileno(self) -> int | None:
        """What to be woken by; None: nothing is awaited."""

    def timeout(self, now: float) -> float | None:
        """Seconds until `step` is due; None: only when woken."""

    def step(self, now: float) -> None: ...


def watch(command: Watched[E], relay: Relay, duties: Sequence[Duty], trouble: Callable[[str], None]) -> E:
    """Until the command has ended, and how. A duty that raises is told to `trouble` and left out from there on."""
    left = list(duties)
    while (ended := command.poll()) is None:
        now = time.monotonic()
        _pass_signals(command, relay, now)
        left = [duty for duty in left if stepped(duty, now, trouble)]
        _sleep(relay, left)
    return ended


def stepped(duty: Duty, now: float, trouble: Callable[[str], None]) -> bool:
    """Whether it goes on."""
    try:
        duty.step(now)
    except Exception as error:  # noqa: BLE001  # no bug of ours may stop the command
        trouble(f"{type(duty).__name__.lower()} was given up: {type(error).__name__}: {error}")
        return False
    return True


def _pass_signals(command: Watched[object], relay: Relay, now: float) -> None:
    for number in relay.step(now, apart=not command.in_our_group):
        command.send(number)
    # A shell gives the terminal back when its child stops. The command decides: it may catch SIGTSTP,
    # tidy the screen and stop later, or not at all.
    if command.stopped and now - relay.stop_asked < STOP_SECONDS:
        relay.stop_answered()
        stop_self(command.stopped)


def _sleep(relay: Relay, duties: Sequence[Duty]) -> None:
    """Until a signal, something awaited, or the next moment. poll(2), as select(2) refuses descriptors above 1023."""
    poll = select.poll()
    for fd in (*relay.filenos(), *(duty.fileno() for duty in duties)):
        if fd is not None:
            poll.register(fd, select.POLLIN)
    now = time.monotonic()
    timeouts = [
        seconds for seconds in (relay.timeout(now), *(duty.timeout(now) for duty in duties)) if seconds is not None
    ]
    poll.poll(max(0, math.ceil(min(timeouts) * 1000)) if timeouts else None)
