"""One metric of one run."""

from collections.abc import Mapping
from typing import Literal

import msgspec

Better = Literal["lower", "higher", "unknown"]
Kind = Literal["repeats", "series", "summary"]


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is told of values that are not all here. count: how many there were, 0 where that is not told.

    stdev: of the values, with n - 1. quantiles: the value at so many percent, by `25`, `99.9`.
    """

    count: int = 0
    mean: float | None = None
    stdev: float | None = None
    min: float | None = None
    median: float | None = None
    max: float | None = None
    quantiles: Mapping[str, float] = {}


class Metric(msgspec.Struct, frozen=True, omit_defaults=True):
    """samples: in the order measured, at least one unless there is a summary.

    source     the way it was measured: equal in runs that may be compared
    gap        why there is no value; then there are neither samples nor a summary
    kind       repeats: the work was done anew for each sample; series: readings of one course of work, one after
               the other, so that neighbours resemble each other; summary: there are no samples
    peak       each sample is a maximum, which is no typical value
    summary    where there are no samples, or more were measured than are kept
    processes  how many samples in turn came from one process each; empty where that is not told
    loops      how often the work was done for each sample, which is the mean of them; 0 where that is not told
    batch      each sample is the median of so many values in turn
    file       where it was read, which may be another in each run
    """

    name: str
    unit: str = ""
    better: Better = "unknown"
    samples: tuple[float, ...] = ()
    source: str = ""
    gap: str = ""
    kind: Kind = "repeats"
    peak: bool = False
    summary: Summary | None = None
    processes: tuple[int, ...] = ()
    loops: int = 0
    batch: int = 1
    file: str = ""

    @property
    def typical(self) -> float | None:
        """The median of the samples, or what the summary tells in its place."""
        if self.samples:
            from statistics import median  # costs 10 ms with what it imports

            return median(self.samples)
        if self.summary is None:
            return None
        return self.summary.mean if self.summary.median is None else self.summary.median
