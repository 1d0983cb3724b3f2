"""Records of runs that never ran."""

from typing import Any

from fingerprint.metrics import Metric
from fingerprint.runs.record import AnyRecord, Closed, Measured, Opened, Opener
from fingerprint.runs.run import Run, fold

SECOND = 10**9


def opened(name: str = "run-A", *, at: int = 10**18, attempt: int = 1, **more: Any) -> Opened:
    opener = Opener(pid=1, start_ticks=1, boot_id=more.pop("boot_id", "boot"))
    given = {"benchmark": "b", "host": "h", "argv": ("serve", "--tp", "8")} | more
    return Opened(at=at, name=name, attempt=attempt, opener=opener, **given)


def closed(status: int = 0, *, at: int = 10**18 + 9 * SECOND, **more: Any) -> Closed:
    return Closed(at=at, how="exited", status=status, **more)


def measured(name: str, *values: float, unit: str = "s", better: Any = "lower") -> Measured:
    return Measured(at=10**18, metric=Metric(name=name, unit=unit, better=better, samples=values))


def run(*records: AnyRecord, id_: str = "01A", **more: Any) -> Run:
    return fold(id_, (opened(**more), *records))
