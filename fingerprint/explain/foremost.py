"""Which of several metrics is explained: the one that tells most of where the time went."""

from collections.abc import Sequence
from math import log

from fingerprint.explain.contract import EVERY_RUN, MetricChange
from fingerprint.explain.phases import ANY, OF_MEMORY, phases_of_metric

AS_MUCH = 2 / 3
"""Of the farthest that any moved, as logarithms: within it, one about a single phase tells more of the cause."""


def foremost(metrics: Sequence[MetricChange]) -> MetricChange | None:
    """Of those that call for a cause: the benchmark's own before those of every run, worse before better; and of those
    that moved about as far, the one about the fewest phases. None of none."""
    own = [metric for metric in metrics if metric.name not in EVERY_RUN]
    if not own:
        return next(iter(metrics), None)
    asked = [metric for metric in own if metric.verdict == "worse"] or own
    farthest = max(map(_moved_by, asked))
    far = [metric for metric in asked if _moved_by(metric) >= AS_MUCH * farthest]
    return min(far, key=lambda metric: (_phases(metric), -_moved_by(metric)))


def _moved_by(metric: MetricChange) -> float:
    return abs(log(metric.ratio)) if metric.ratio and metric.ratio > 0 else 0.0


def _phases(metric: MetricChange) -> float:
    phases = phases_of_metric(metric.name, metric.unit)
    return float("inf") if phases in (ANY, OF_MEMORY) else len(phases)
