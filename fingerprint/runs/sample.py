"""Folds what is read at each tick: telemetry to distributions, counters to growth, in bounded memory."""

import math
from collections.abc import Iterable, Sequence

from fingerprint.runs.record import Distribution, Growth, Sampled
from fingerprint.sections import leaves
from fingerprint.snapshot import Key
from probes.kit.facts import Section

EXACT = 512
RELATIVE_ERROR = 0.01
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)

_GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_LOG_GAMMA = math.log(_GAMMA)


class Spread:
    """The distribution of one value. Its memory does not grow with the length of the run.

    Up to 512 samples are kept and their quantiles are exact. More are counted in buckets whose bounds
    grow by 2 %, so that every quantile is within 1 % of a sample of that rank (DDSketch: Masson, Rim and
    Lee, VLDB 2019). Count, mean, lowest and highest are always exact.
    """

    def __init__(self) -> None:
        self._count = 0
        self._mean = 0.0
        self._lowest = math.inf
        self._highest = -math.inf
        self._samples: list[float] = []
        self._buckets: dict[tuple[int, int], int] = {}

    def add(self, value: float) -> None:
        self._count += 1
        self._mean += (value - self._mean) / self._count
        self._lowest = min(self._lowest, value)
        self._highest = max(self._highest, value)
        if self._count <= EXACT:
            self._samples.append(value)
            return
        for early in self._samples:
            self._put(early)
        self._samples.clear()
        self._put(value)

    @property
    def count(self) -> int:
        return self._count

    @property
    def highest(self) -> float:
        return self._highest

    def distribution(self) -> Distribution:
        if self._samples:
            found = _exact_quantiles(sorted(self._samples))
        else:
            found = (self._lowest, *self._inner_quantiles(), self._highest)
        return Distribution(self._count, self._mean, found)

    def _put(self, value: float) -> None:
        bucket = _bucket(value)
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1

    def _inner_quantiles(self) -> Iterable[float]:
        ranks = [q * (self._count - 1) for q in QUANTILES[1:-1]]
        passed = 0
        for bucket in sorted(self._buckets):
            passed += self._buckets[bucket]
            while ranks and ranks[0] < passed:
                ranks.pop(0)
                yield min(max(_middle(bucket), self._lowest), self._highest)


def _bucket(value: float) -> tuple[int, int]:
    """Sortable as the values are: negative ones by falling size, zero, positive ones."""
    if value == 0:
        return 0, 0
    index = math.ceil(math.log(abs(value)) / _LOG_GAMMA)
    return (1, index) if value > 0 else (-1, -index)


def _middle(bucket: tuple[int, int]) -> float:
    """The value at most 1 % from all of its bucket."""
    sign, index = bucket
    return sign * 2 * _GAMMA ** (sign * index) / (_GAMMA + 1)


def _exact_quantiles(ordered: Sequence[float]) -> tuple[float, ...]:
    """With linear interpolation between neighbours."""
    found = []
    for q in QUANTILES:
        at = q * (len(ordered) - 1)
        low = int(at)
        high = min(low + 1, len(ordered) - 1)
        found.append(ordered[low] + (ordered[high] - ordered[low]) * (at - low))
    return tuple(found)


class Counted:
    """The growth of one counter. Where it fell nothing is added: what was counted in between is not known."""

    def __init__(self) -> None:
        self._first = self._last = self._grown = self._resets = 0
        self._began = self._seen = -1

    def add(self, value: int, at_ns: int) -> None:
        if self._began < 0:
            self._began, self._first, self._last = at_ns, value, value
        if value < self._last:
            self._resets += 1
        else:
            self._grown += value - self._last
        self._last, self._seen = value, at_ns

    def growth(self) -> Growth:
        seconds = (self._seen - self._began) / 1e9
        return Growth(self._first, self._last, self._grown, seconds, self._resets)


class Sampler:
    """All samples of one run, by fact path. `ticks` were taken, `missed` were given up."""

    def __init__(self) -> None:
        self.ticks = 0
        self.missed = 0
        self._spreads: dict[str, Spread] = {}
        self._counted: dict[str, Counted] = {}

    def add(self, key: Key, section: Section, at_ns: int) -> None:
        """Takes in the telemetry and counters of a section read at `at_ns` (monotonic); gaps are passed over."""
        for leaf in leaves(section):
            if isinstance(leaf.value, bool) or not isinstance(leaf.value, (int, float)):
                continue
            path = str(key.path(leaf.names))
            if leaf.fact.kind == "telemetry":
                self._spreads.setdefault(path, Spread()).add(leaf.value)
            elif leaf.fact.kind == "counter":
                self._counted.setdefault(path, Counted()).add(int(leaf.value), at_ns)

    def highest(self, path: str, least: int = 1) -> float | None:
        """The largest sample of a telemetry fact; None where there were fewer than `least`."""
        spread = self._spreads.get(path)
        return spread.highest if spread and spread.count >= least else None

    def record(self, at: int) -> Sampled:
        """All so far. at: ns since 1970."""
        facts: dict[str, Distribution | Growth] = {}
        facts.update({path: spread.distribution() for path, spread in self._spreads.items()})
        facts.update({path: counted.growth() for path, counted in self._counted.items()})
        return Sampled(at, self.ticks, self.missed, dict(sorted(facts.items())))
