"""Folds what is read at each tick, in bounded memory: telemetry to distributions, counters to growth, states to what
they held."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from fingerprint.conditions import Conditions
from fingerprint.runs.record import Distribution, Growth, Held, Sample, Sampled, Uncounted
from fingerprint.sections import Leaf, leaves
from fingerprint.snapshot import Key
from probes.kit.facts import Gap, Section

Place = tuple[Key, tuple[str, ...]]

EXACT = 512
RELATIVE_ERROR = 0.01
VALUES = 16
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)

_GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_LOG_GAMMA = math.log(_GAMMA)
_encode = msgspec.json.Encoder(order="sorted").encode


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

    def distribution(self, left_out: int = 0) -> Distribution:
        if self._samples:
            found = _exact_quantiles(sorted(self._samples))
        else:
            found = (self._lowest, *self._inner_quantiles(), self._highest)
        return Distribution(self._count, self._mean, found, left_out)

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
    """The growth of one counter. Where it fell nothing is added: what was counted in between is not known.

    wraps_at: as of the Fact. A fall from below it is one turn; a value beyond it shows that the counter is wider.
    """

    def __init__(self, wraps_at: int = 0) -> None:
        self._wraps_at = wraps_at
        self._first = self._last = self._grown = self._resets = 0
        self._began = self._seen = -1

    def add(self, value: int, at_ns: int) -> None:
        if self._began < 0:
            self._began, self._first, self._last = at_ns, value, value
        if value >= self._last:
            self._grown += value - self._last
        elif self._last < self._wraps_at:
            self._grown += self._wraps_at - self._last + value
        else:
            self._resets += 1
        self._last, self._seen = value, at_ns

    def growth(self) -> Growth:
        seconds = (self._seen - self._began) / 1e9
        return Growth(self._first, self._last, self._grown, seconds, self._resets)


class Times:
    """How often each value of a state was held. The first 16 values are told apart."""

    def __init__(self) -> None:
        self._times: Counter[bytes] = Counter()
        self._others = 0

    def add(self, value: Any) -> None:
        text = _encode(value)
        if text in self._times or len(self._times) < VALUES:
            self._times[text] += 1
        else:
            self._others += 1

    def held(self, left_out: int) -> Held:
        ordered = sorted(self._times.items(), key=lambda item: (-item[1], item[0]))
        return Held(tuple((msgspec.json.decode(text), times) for text, times in ordered), self._others, left_out)


class Sampler:
    """All samples of one run, by fact. `ticks` were taken, `missed` were given up."""

    def __init__(self) -> None:
        self.ticks = 0
        self.missed = 0
        self._spreads: dict[Place, Spread] = {}
        self._counted: dict[Place, Counted] = {}
        self._times: dict[Place, Times] = {}
        self._left_out: Counter[Place] = Counter()

    def add(self, key: Key, section: Section, at_ns: int) -> None:
        """Takes in what moves of a section read at `at_ns` (monotonic); gaps are passed over.

        Of telemetry and states that settle in a condition only what was read while it held.
        """
        found = list(leaves(section))
        conditions = Conditions(found)
        for leaf in found:
            if not _is_sampled(leaf):
                continue
            place = (key, leaf.names)
            if leaf.fact.kind == "counter":
                self._counted.setdefault(place, Counted(leaf.fact.wraps_at)).add(int(leaf.value), at_ns)
            elif not conditions.hold_for(leaf):
                self._left_out[place] += 1
            elif leaf.fact.kind == "telemetry":
                self._spreads.setdefault(place, Spread()).add(leaf.value)
            else:
                self._times.setdefault(place, Times()).add(leaf.value)

    def highest(self, path: str, least: int = 1) -> float | None:
        """The largest sample of a telemetry fact; None where there were fewer than `least`."""
        found = (spread for place, spread in self._spreads.items() if _path(place) == path)
        return next((spread.highest for spread in found if spread.count >= least), None)

    def record(self, at: int) -> Sampled:
        """All so far. at: ns since 1970."""
        left_out = self._left_out
        facts: dict[Place, Sample] = {place: Uncounted(times) for place, times in left_out.items()}
        facts.update({place: spread.distribution(left_out[place]) for place, spread in self._spreads.items()})
        facts.update({place: times.held(left_out[place]) for place, times in self._times.items()})
        facts.update({place: counted.growth() for place, counted in self._counted.items()})
        return Sampled(at, self.ticks, self.missed, dict(sorted((_path(place), it) for place, it in facts.items())))


def _is_sampled(leaf: Leaf) -> bool:
    """Numbers that move, and states of any value that are compared in one condition only."""
    if leaf.fact.kind == "state":
        return not leaf.fact.lasting and not isinstance(leaf.value, (Gap, frozenset))
    is_number = isinstance(leaf.value, (int, float)) and not isinstance(leaf.value, bool)
    return is_number and leaf.fact.kind in ("telemetry", "counter")


def _path(place: Place) -> str:
    key, names = place
    return str(key.path(names))
