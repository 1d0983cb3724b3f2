"""Values as results hold them -> samples: what no measurement can give is refused by name."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from fingerprint.metrics.found import NothingRead
from fingerprint.metrics.metric import Metric, Summary

KEPT = 4096  # samples; a call of 5 us is measured 200,000 times by pytest-benchmark
# Of what is counted in these, nothing can be below 0; many clients write -1 for "not measured".
NEVER_NEGATIVE = ("s", "ms", "us", "ns", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB")


def sample(value: Any, where: str, unit: str = "") -> float:
    """A finite number. Raises NothingRead, with `where` as the sentence's subject."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NothingRead(f"{where} is {_in_words(value)}, not a number")
    try:
        number = float(value)
    except OverflowError:
        raise NothingRead(f"{where} is larger than any measured value") from None
    if not math.isfinite(number):
        raise NothingRead(f"{where} is {number}, which is not a measured value")
    if number < 0 and (unit in NEVER_NEGATIVE or unit.endswith("/s")):
        raise NothingRead(f"{where} is {number:g} {unit}, and no such quantity is below 0")
    return number


def samples(values: Sequence[Any], where: str, unit: str = "") -> tuple[float, ...]:
    return tuple(sample(value, f"{where}[{index}]", unit) for index, value in enumerate(values))


def _in_words(value: Any) -> str:
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    if isinstance(value, dict):
        keys = ", ".join(f"'{key}'"[:40] for key in list(value)[:8])
        return f"an object with the keys {keys}" if keys else "an empty object"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return {None: "null", True: "true", False: "false"}.get(value, type(value).__name__)


def condensed(metric: Metric) -> Metric:
    """With at most KEPT samples: beyond, medians of equally long stretches, and a summary of all values."""
    count = len(metric.samples)
    if count <= KEPT:
        return metric
    from statistics import median

    batch = -(-count // KEPT)
    stretches = tuple(median(metric.samples[at : at + batch]) for at in range(0, count, batch))
    of_one = len(metric.processes) == 1
    return msgspec.structs.replace(
        metric,
        samples=stretches,
        batch=batch,
        processes=(len(stretches),) if of_one else (),
        kind="series",
        summary=summary_of(metric.samples),
    )


def summary_of(values: Sequence[float]) -> Summary:
    """Of at least one value; quantiles by linear interpolation."""
    from statistics import fmean, stdev

    ordered = sorted(values)
    return Summary(
        count=len(ordered),
        mean=fmean(ordered),
        stdev=stdev(ordered) if len(ordered) > 1 else None,
        min=ordered[0],
        median=_quantile(ordered, 50),
        max=ordered[-1],
        quantiles={f"{percent:g}": _quantile(ordered, percent) for percent in (1, 5, 25, 75, 95, 99, 99.9)},
    )


def _quantile(ordered: Sequence[float], percent: float) -> float:
    at = (len(ordered) - 1) * percent / 100
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])
