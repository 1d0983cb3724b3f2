"""Reads what pytest-benchmark writes with --benchmark-json, --benchmark-save and --benchmark-autosave (seen: 5.3.1).

`data` are the rounds in order, in s per call, each the mean of `iterations` calls; a saved file leaves them out
unless --benchmark-save-data was given, and has their summary alone.
https://pytest-benchmark.readthedocs.io/en/latest/usage.html
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from fingerprint.metrics.found import Found, folded
from fingerprint.metrics.metric import Metric, Summary
from fingerprint.metrics.values import condensed, sample, samples

CLIENT = "pytest-benchmark"
# precision and confidence are of what the terminal shows.
_ASKED = ("timer", "min_rounds", "max_time", "min_time", "warmup", "disable_gc")


class Stats(msgspec.Struct, frozen=True):
    rounds: int
    iterations: int
    mean: float
    min: float
    max: float
    median: float
    q1: float
    q3: float
    stddev: float = 0.0
    data: tuple[float, ...] = ()


class Benchmark(msgspec.Struct, frozen=True):
    fullname: str
    options: Mapping[str, Any] = {}
    stats: Stats | None = None
    params: Mapping[str, Any] | None = None


class File(msgspec.Struct, frozen=True):
    benchmarks: tuple[Benchmark, ...]
    version: str = ""


def recognises(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and {"machine_info", "benchmarks"} <= document.keys()
        and isinstance(document["benchmarks"], list)
        and all(isinstance(it, dict) and {"fullname", "stats"} <= it.keys() for it in document["benchmarks"])
    )


def read(document: Any) -> Found:
    file = msgspec.convert(document, File)
    if not file.benchmarks:
        return Found()
    told = {f"{CLIENT}/version": file.version} if file.version else {}
    asked = {it.fullname: _asked(it) for it in file.benchmarks}
    return Found(tuple(map(_metric, file.benchmarks)), {**told, **folded(CLIENT, asked)})


def _metric(benchmark: Benchmark) -> Metric:
    name, stats = benchmark.fullname, benchmark.stats
    if stats is None:
        return Metric(name, "s", "lower", source=CLIENT, gap="pytest-benchmark wrote no statistics of it")
    if not stats.data:
        return Metric(
            name, "s", "lower", source=f"{CLIENT}, rounds", kind="summary", summary=_summary(name, stats),
            loops=stats.iterations,
        )  # fmt: skip
    rounds = samples(stats.data, f"{name}: data", "s")
    return condensed(
        Metric(
            name, "s", "lower", rounds, source=f"{CLIENT}, rounds", kind="series",
            processes=(len(rounds),), loops=stats.iterations,
        )
    )  # fmt: skip


def _summary(name: str, stats: Stats) -> Summary:
    def told(key: str) -> float:
        return sample(getattr(stats, key), f"{name}: {key}", "s")

    return Summary(
        count=stats.rounds,
        mean=told("mean"),
        stdev=told("stddev") if stats.rounds > 1 else None,
        min=told("min"),
        median=told("median"),
        max=told("max"),
        quantiles={"25": told("q1"), "75": told("q3")},
    )


def _asked(benchmark: Benchmark) -> dict[str, Any]:
    options = {key: benchmark.options[key] for key in _ASKED if benchmark.options.get(key) is not None}
    parameters = {f"parameter/{name}": value for name, value in (benchmark.params or {}).items()}
    return options | {name: value for name, value in parameters.items() if not _is_address(value)}


def _is_address(value: Any) -> bool:
    """What JSON cannot hold is written as its repr, with an address that is another in each run."""
    return isinstance(value, str) and value.startswith("UNSERIALIZABLE[")
