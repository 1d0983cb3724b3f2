"""Did the slow end of a metric move, where its middle may have stood still?

The highest quantile that can be judged: by three starts on each side, or by stretches of the samples of each; else the
highest that both sides tell, of which nobody knows the spread.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log

from fingerprint.explain.contract import MetricChange, Spread
from fingerprint.metrics import Better, Metric
from fingerprint.runs.run import Run
from fingerprint.statistics import (
    SMALL,
    Series,
    Start,
    Verdict,
    assess,
    quantile,
    quantiles_of_stretches,
    rarity,
)
from fingerprint.statistics.rules import FEW

_ENDS: Mapping[Better, tuple[float, ...]] = {"lower": (99, 95, 90), "higher": (1, 5, 10), "unknown": ()}
Tail = tuple[float, ...]
"""Of one run: the quantile of each stretch of its samples, or the one of all of them; empty where it is not told."""


def tail(metric: Metric, a: Sequence[Run], b: Sequence[Run], others: Iterable[Run]) -> MetricChange | None:
    """metric: what both measured in one way. others: witnesses of how starts spread. None where one side tells no
    tail, or none is worse than the other end."""
    sides = [[run for run in side if _has_one(run, metric.name)] for side in (a, b)]
    if not all(sides):
        return None
    chosen = _chosen(metric, sides)
    if chosen is None:
        return None
    percent, of_run = chosen
    x, y = (_series(side, of_run) for side in sides)
    found = assess(x, y, metric.better, _series([run for run in others if _has_one(run, metric.name)], of_run))
    medians = found.medians or (x.median, y.median)
    return MetricChange(
        name=f"{metric.name} p{percent:g}",
        unit=metric.unit,
        better=metric.better,
        a=_spread(medians[0], x),
        b=_spread(medians[1], y),
        ratio=found.ratio,
        ci=found.ci,
        verdict=found.verdict,
        says="; ".join(filter(None, (found.says, found.more))),
        tail=None,
        tail_is_odd=False,
    )


def is_odd(slow: MetricChange | None, middle: Verdict) -> bool:
    """Whether it moved, or may have, and not as the middle did."""
    if slow is None or slow.verdict == "same":
        return False
    if slow.ratio is None:
        return slow.verdict not in ("unassessed", middle.verdict)
    return min(abs(log(slow.ratio)), abs(log(slow.ratio / (middle.ratio or 1)))) >= SMALL


def _has_one(run: Run, name: str) -> bool:
    """What is done anew for each sample, or is a maximum, has no tail of its own."""
    metric = run.metrics.get(name)
    return metric is not None and not metric.gap and not metric.peak and metric.kind != "repeats"


def _chosen(metric: Metric, sides: Sequence[Sequence[Run]]) -> tuple[float, Callable[[Run], Tail]] | None:
    """Which quantile, and what it is of each run."""
    runs, percents = [run for side in sides for run in side], _ENDS[metric.better]
    several = min(map(len, sides)) >= FEW
    ways: list[tuple[bool, Callable[[Metric, float], Tail]]] = [(several, _whole), (True, _stretches), (True, _whole)]
    for may, way in ways:
        for percent in percents if may else ():
            if all(way(run.metrics[metric.name], percent) for run in runs):
                return percent, lambda run: way(run.metrics[metric.name], percent)  # noqa: B023  # it ends here
    return None


def _whole(metric: Metric, percent: float) -> Tail:
    """One that at least one value lies beyond."""
    told, rare = metric.summary, rarity(percent)
    if metric.samples and metric.batch == 1:
        return (quantile(metric.samples, percent),) if len(metric.samples) * rare >= 1 else ()
    if told is None or (told.count and told.count * rare < 1):
        return ()
    return (told.quantiles[f"{percent:g}"],) if f"{percent:g}" in told.quantiles else ()


def _stretches(metric: Metric, percent: float) -> Tail:
    return quantiles_of_stretches(metric.samples, percent) if metric.batch == 1 else ()


def _series(runs: Iterable[Run], of_run: Callable[[Run], Tail]) -> Series:
    tails = ((run, of_run(run)) for run in runs)
    return Series(tuple(Start(it, run.opened.opener.boot_id, run.opened.name) for run, it in tails if it))


def _spread(median: float, of: Series) -> Spread:
    return Spread(median=median, n=len(of.samples), each=of.samples)
