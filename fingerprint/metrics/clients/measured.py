"""What the readers of clients share: a number or a distribution as a metric, and benchmarks as what was found.

A number that nothing can measure (NaN, infinity, below 0) costs its metric, which is then there with the gap.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.metric import Better, Metric, Summary
from fingerprint.metrics.naming import better_of
from fingerprint.metrics.values import condensed, sample, samples

NO_LIMIT = math.inf  # of requests at a time: as many as there are, so that more than one stream is served
MOST_ROWS = 10_000
_STATISTICS = {
    "mean": "mean", "avg": "mean", "average": "mean", "std": "stdev", "stddev": "stdev", "std_dev": "stdev",
    "min": "min", "minimum": "min", "max": "max", "maximum": "max", "median": "median", "p50": "median",
}  # fmt: skip
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")


class Benchmark(NamedTuple):
    """asked: by fact, as far as the result tells it. name: the client's own, where it has several tests."""

    asked: Mapping[str, Any]
    metrics: Sequence[Metric]
    name: str = ""


class Word(NamedTuple):
    """A metric's name here, and the unit that the client counts in."""

    name: str
    unit: str = ""
    better: "Better | None" = None

    @property
    def way(self) -> Better:
        return self.better or better_of(self.name, self.unit)


def number(value: Any, word: Word, source: str) -> Metric:
    """Of the one number that a result tells."""
    try:
        return Metric(word.name, word.unit, word.way, (sample(value, word.name, word.unit),), source)
    except NothingRead as error:
        return Metric(word.name, word.unit, word.way, source=source, gap=str(error))


def series(values: Sequence[Any], word: Word, source: str) -> Metric:
    """Of what was measured of one request after the other, in order."""
    try:
        numbers = samples(values, word.name, word.unit)
    except NothingRead as error:
        return Metric(word.name, word.unit, word.way, source=source, gap=str(error))
    if not numbers:
        return Metric(word.name, word.unit, word.way, source=source, gap=f"{word.name} was measured of no request")
    return condensed(Metric(word.name, word.unit, word.way, numbers, source, kind="series"))


def distribution(told: Mapping[str, Any], word: Word, source: str, count: int = 0) -> Metric:
    """Of statistics by their names: `mean`, `std`, `p99.9`. What is null is not told; a time that is 0 in all of them
    was not measured. All clients' standard deviation is that of n, and of no use where n is not told."""
    try:
        numbers = {
            name: sample(value, f"{name} {word.name}", word.unit) for name, value in told.items() if value is not None
        }
        summary = _summary(numbers, count)
    except NothingRead as error:
        return Metric(word.name, word.unit, word.way, source=source, gap=str(error))
    if word.way == "lower" and not any(numbers.values()):
        gap = f"{word.name} is 0 throughout, which its client writes where nothing of it was measured"
        return Metric(word.name, word.unit, word.way, source=source, gap=gap)
    return Metric(word.name, word.unit, word.way, source=source, kind="summary", summary=summary)


def is_statistic(name: str) -> bool:
    return name in _STATISTICS or _PERCENTILE.fullmatch(name) is not None


def _summary(numbers: Mapping[str, float], count: int) -> Summary:
    known = {_STATISTICS[name]: value for name, value in numbers.items() if name in _STATISTICS}
    if "stdev" in known:
        known["stdev"] *= math.sqrt(count / (count - 1)) if count > 1 else math.nan
        known = {name: value for name, value in known.items() if not math.isnan(value)}
    quantiles = {
        f"{float(found[1]):g}": value
        for name, value in numbers.items()
        if (found := _PERCENTILE.fullmatch(name)) and name not in _STATISTICS
    }
    summary = Summary(count=count, quantiles=quantiles, **known)
    if summary.mean is None and summary.median is None:
        raise NothingRead("neither its mean nor its median is told")
    return summary


def count_of(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def given(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Without those that were left to the client, which writes null or an empty text then. Infinity, which JSON has no
    word for, is `inf`."""
    return {
        key: "inf" if value == float("inf") else value
        for key, value in facts.items()
        if isinstance(value, str | int | float | bool) and value != "" and str(value) != "nan"
    }


def check_many(rows: int) -> None:
    if rows > MOST_ROWS:
        raise NothingRead(f"it has more than {MOST_ROWS:,} rows, which no benchmark measures; name a smaller file")


def found(client: str, benchmarks: Iterable[Benchmark], remarks: Iterable[str] = ()) -> Found:
    """All benchmarks of one result. Their names, and what differs in what was asked of them, stand before the names of
    their metrics; those of which the same was asked are repeats.

    Raises NothingRead where none of them tells a number.
    """
    groups: dict[str, list[Benchmark]] = {}
    for at, benchmark in enumerate(benchmarks, 1):
        groups.setdefault(repr((benchmark.name, sorted(benchmark.asked.items()))), []).append(benchmark)
        check_many(at)
    first = [group[0] for group in groups.values()]
    same = (
        {key: it for key, it in first[0].asked.items() if all(_has(of.asked, key, it) for of in first)} if first else {}
    )
    names = [", ".join(filter(None, (it.name, *_differing(it.asked, same)))) for it in first]
    metrics = tuple(
        msgspec.structs.replace(metric, name=f"{name}/{metric.name}" if name else metric.name)
        for name, group in zip(names, groups.values(), strict=True)
        for metric in _repeats(group)
    )
    gaps = [metric.gap for metric in metrics]
    if metrics and all(gaps):
        raise NothingRead(f"it is of {client} and tells no number: {gaps[0]}")
    told = {f"{client}/{key}": value for key, value in same.items()}
    if any(names):
        told[f"{client}/benchmarks"] = tuple(names)
    return Found(metrics, told, tuple(remarks))


def _differing(asked: Mapping[str, Any], same: Mapping[str, Any]) -> Iterator[str]:
    return (f"{key}={value}" for key, value in asked.items() if key not in same)


def _has(facts: Mapping[str, Any], key: str, value: Any) -> bool:
    return key in facts and facts[key] == value


def _repeats(group: Sequence[Benchmark]) -> Sequence[Metric]:
    """Of several, what is typical of each is a sample."""
    if len(group) == 1:
        return group[0].metrics
    by_name: dict[str, list[Metric]] = {}
    for benchmark in group:
        for metric in benchmark.metrics:
            by_name.setdefault(metric.name, []).append(metric)
    return [_repeated(metrics) for metrics in by_name.values()]


def _repeated(metrics: Sequence[Metric]) -> Metric:
    typical = tuple(value for metric in metrics if (value := metric.typical) is not None)
    if not typical:
        return metrics[0]
    one = metrics[0]
    return Metric(one.name, one.unit, one.better, typical, one.source)
