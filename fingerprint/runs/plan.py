"""What a run is to start, and why it started nothing."""

from collections.abc import Mapping
from typing import Any

import msgspec


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, with which environment, in which working directory. benchmark: which runs may be compared with it.
    workload: what is asked of it, as far as that is known before. streams: 1, 2 or both, whose end is kept for a
    reader of output. canary: whether to do its work at both ends."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    host: str
    benchmark: str = ""
    vary: tuple[str, ...] = ()
    workload: Mapping[str, Any] = {}
    streams: tuple[int, ...] = ()
    first_minute_hz: float = 5
    then_hz: float = 1
    canary: bool = False


class NotRun(Exception):
    """No process could be made, or no record be begun: the command was not started. The text says why."""

    def __init__(self, why: Exception) -> None:
        told = why.strerror if isinstance(why, OSError) else None
        super().__init__(told or f"{type(why).__name__}: {why}")
