"""How much of a change a suspect explains at most, and what is left over."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log
from typing import NamedTuple

from fingerprint.diff.changes import Folded
from fingerprint.explain.contract import MetricChange, Range, Unexplained
from fingerprint.explain.mechanisms.graph import Resource, Rule
from fingerprint.explain.metrics import EXIT_STATUS
from fingerprint.explain.observed import Observed, level, on_item
from fingerprint.runs.record import Distribution

NO_BOUND = "no bound known"
NO_METRIC = "no metric moved"
NO_PART = "such a change has no parts"
"""Of a run that ended otherwise, and of a number that came from 0 or went there."""
NEXT_TO_NOTHING = 0.01
"""Of a change: who explains less explains nothing."""
DUST = 1e-3
"""Of a change: less is left over by rounding."""


class Explained(NamedTuple):
    """range: in the metric's unit; None: why_not says why. share: of the change at most, as logarithms, 0..1: the same
    whichever run is called A."""

    range: Range | None = None
    why_not: str = NO_BOUND
    share: float = 1.0

    @property
    def is_nothing(self) -> bool:
        return self.range is not None and not self.range.high


def explained(
    change: Folded, rules: Sequence[Rule], metric: MetricChange | None, seen: Mapping[str, Observed], cap: float
) -> Explained:
    """Where all mechanisms that lead to the metric are bounded. cap: the ratio that a number which shares its phases
    went to, as the most that can be claimed; infinity for none."""
    if metric is None or metric.a is None or metric.b is None:
        return Explained(why_not=NO_METRIC)
    if metric.ratio is None or metric.name == EXIT_STATUS:
        return Explained(why_not=NO_PART)
    ratios = [_ratio(change, rule, seen) for rule in rules]
    known = [ratio for ratio in ratios if ratio is not None]
    if not known or len(known) < len(ratios):
        return Explained()
    most = min(max(known), cap)
    share = _share(most, metric)
    return Explained(_range(metric, most if share >= NEXT_TO_NOTHING else 1.0), "", share)


def _share(most: float, metric: MetricChange) -> float:
    moved = abs(log(metric.ratio)) if metric.ratio and metric.ratio > 0 else 0.0
    return min(1.0, log(most) / moved) if moved else 1.0


def _ratio(change: Folded, rule: Rule, seen: Mapping[str, Observed]) -> float | None:
    """By which time may have grown, or shrunk: 1 or more."""
    if rule.bound is None:
        return None
    if rule.bound.by == "observed":
        return _observed(change, rule.bound.facts, seen)
    pairs = [(one.before, one.after) for one in change.changes]
    ratios = [_of(x, y) for x, y in pairs if isinstance(x, (int, float)) and isinstance(y, (int, float))]
    return max(ratios, default=None)


def _observed(change: Folded, facts: str, seen: Mapping[str, Observed]) -> float | None:
    paths = {on_item(facts, one.item) for one in change.changes}
    return max((_at_most(seen[path]) for path in paths if path in seen), default=None)


def _at_most(o: Observed) -> float:
    """By the middle or by the mean: what held a clock for a fifth of the time moves no median."""
    means = [side.mean for side in (o.a, o.b) if isinstance(side, Distribution)]
    return max(_of(level(o.a), level(o.b)), _of(*means) if len(means) == 2 else 1.0)


def _of(x: float, y: float) -> float:
    low, high = sorted((x, y))
    return high / low if low > 0 else 1.0


def _range(metric: MetricChange, ratio: float) -> Range:
    """Of a time a * (ratio - 1); of a rate, what a loses as its time grows by the ratio. At most what there is."""
    assert metric.a is not None
    assert metric.b is not None
    base, whole = metric.a.median, abs(metric.b.median - metric.a.median)
    worse = (metric.b.median > base) == (metric.better != "higher")
    grown = (metric.better == "higher") != worse
    most = base * (ratio - 1) if grown else base * (1 - 1 / ratio)
    return Range(low=0.0, high=float(f"{min(most, whole):.4g}"), unit=metric.unit)


def left_over(metric: MetricChange | None, found: Sequence[tuple[Sequence[Rule], Explained]]) -> Unexplained | None:
    """After the bounded suspects: those on one resource join by the larger, the others add. None where none is."""
    bounded = [(rules, explained.range) for rules, explained in found if explained.range is not None]
    if metric is None or metric.a is None or metric.b is None or not bounded:
        return None
    highest: dict[Resource, float] = defaultdict(float)
    for rules, most in bounded:
        resource = rules[0].moves[0]
        highest[resource] = max(highest[resource], most.high)
    whole = abs(metric.b.median - metric.a.median)
    rest = whole - sum(highest.values())
    rest = rest if rest > whole * DUST else 0.0
    low, high = (float(f"{part:.4g}") for part in (rest, whole))
    return Unexplained(low=low, high=high, unit=metric.unit, says=f"of {metric.name}, after the suspects with a bound")


def by_path(seen: Sequence[Observed]) -> Mapping[str, Observed]:
    return {o.path: o for o in seen}
