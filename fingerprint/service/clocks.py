"""The clock was set, or the host slept: what no other reading tells."""

import time
from typing import Literal, NamedTuple

LEAST_SECONDS = 2.0
"""What a clock drifts, and is slewed, in one second is far less."""


class Clocks(NamedTuple):
    """Seconds. wall: since 1970. awake: since boot, sleep left out. boot: since boot."""

    wall: float
    awake: float
    boot: float


class Jump(NamedTuple):
    """seconds: by which the clock was set (negative: back), or for which the host slept."""

    kind: Literal["clock jump", "suspend"]
    seconds: float


def clocks() -> Clocks:
    return Clocks(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))


def jumps(before: Clocks, now: Clocks) -> tuple[Jump, ...]:
    slept = (now.boot - before.boot) - (now.awake - before.awake)
    was_set = (now.wall - before.wall) - (now.boot - before.boot)
    found = (Jump("suspend", slept), Jump("clock jump", was_set))
    return tuple(jump for jump in found if abs(jump.seconds) >= LEAST_SECONDS)
