"""What is compared: the starts of a benchmark, and what was measured in each."""

from collections.abc import Iterable, Sequence
from math import isfinite
from statistics import median
from typing import Literal

import msgspec

from fingerprint.statistics.warmup import warm_up

Kind = Literal["repeats", "series", "summary", "peak"]
"""repeats: each made anew, as by hyperfine. series: in the order measured by one process, as the lines of a log.
summary: each stands for many that are not known. peak: a maximum, or minimum, of many."""


class Start(msgspec.Struct, frozen=True):
    """One start of what is measured. samples: at least one, finite. epoch: equal for starts with no border in between
    (same boot, same container); empty where nobody knows. state: equal for starts of one state; of a history alone."""

    samples: tuple[float, ...]
    epoch: str = ""
    state: str = ""

    def __post_init__(self) -> None:
        if not self.samples:
            raise ValueError("a start has no samples: leave out what was not measured, and say so")
        if odd := [sample for sample in self.samples if not isfinite(sample)]:
            raise ValueError(f"a sample is {odd[0]}: only finite numbers can be compared")


class Series(msgspec.Struct, frozen=True):
    """Starts of one benchmark in one state, in order."""

    starts: tuple[Start, ...] = ()
    kind: Kind = "repeats"

    @property
    def samples(self) -> tuple[float, ...]:
        return tuple(sample for start in self.starts for sample in start.samples)

    @property
    def epochs(self) -> frozenset[str]:
        return frozenset(start.epoch for start in self.starts)

    @property
    def median(self) -> float:
        """Of the starts' typical values: a start that was sampled more often counts no more than another."""
        return median(typical_values(self))


def series(starts: Iterable[Sequence[float]], kind: Kind = "repeats", epoch: str = "") -> Series:
    """All of one epoch."""
    return Series(tuple(Start(tuple(samples), epoch) for samples in starts), kind)


def settled(of: Series) -> Series:
    """Without the warm-up of each start."""
    kept = (Start(start.samples[warm_up(start.samples) :], start.epoch, start.state) for start in of.starts)
    return Series(tuple(kept), of.kind)


def typical_values(of: Series) -> list[float]:
    """One value a start. Samples within a start share its state, and are no independent measurements of it."""
    return [median(start.samples) for start in of.starts]


def by_epoch(of: Series) -> Series:
    """One start an epoch and state, its value the median of their starts'."""
    values: dict[tuple[str, str], list[float]] = {}
    for start in of.starts:
        values.setdefault((start.epoch, start.state), []).append(median(start.samples))
    return Series(tuple(Start((median(found),), *where) for where, found in values.items()), of.kind)


def lie_apart(a: Series, b: Series) -> bool:
    """Whether every start of one is across an epoch's border from every start of the other, as far as is known."""
    return bool(a.epochs) and bool(b.epochs) and "" not in a.epochs | b.epochs and not a.epochs & b.epochs
