"""Reads what pyperf writes with -o, --output and --append (its format 1.0; perf of before 2018 wrote the same).

A run is one process: `values` are seconds (or bytes) per loop, each the mean over `loops`; `warmups` are no results.
https://pyperf.readthedocs.io/en/latest/api.html#metadata
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from fingerprint.metrics.found import Found, folded
from fingerprint.metrics.metric import Better, Metric
from fingerprint.metrics.values import condensed, samples

CLIENT = "pyperf"
_UNITS: Mapping[str, tuple[str, Better]] = {"second": ("s", "lower"), "byte": ("B", "lower")}
_ASKED = ("timeit_stmt", "timeit_setup", "command", "inner_loops")


class Process(msgspec.Struct, frozen=True):
    values: tuple[float, ...] = ()
    warmups: tuple[Any, ...] = ()
    metadata: Mapping[str, Any] = {}


class Benchmark(msgspec.Struct, frozen=True):
    runs: tuple[Process, ...]
    metadata: Mapping[str, Any] = {}

    @property
    def measured(self) -> tuple[Process, ...]:
        """Not those that found out how many loops it takes."""
        return tuple(run for run in self.runs if run.values)


class Suite(msgspec.Struct, frozen=True):
    """What all benchmarks share stands in `metadata`, and what all runs of one share in the benchmark's."""

    version: str | int
    benchmarks: tuple[Benchmark, ...]
    metadata: Mapping[str, Any] = {}

    def named(self) -> dict[str, Benchmark]:
        return {str(self.of(benchmark, "name", "pyperf")): benchmark for benchmark in self.benchmarks}

    def of(self, benchmark: Benchmark, key: str, default: Any = None) -> Any:
        return benchmark.metadata.get(key, self.metadata.get(key, default))


def recognises(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and {"benchmarks", "version"} <= document.keys()
        and not {"machine_info", "context"} & document.keys()
        and isinstance(document["benchmarks"], list)
        and all(isinstance(benchmark, dict) and "runs" in benchmark for benchmark in document["benchmarks"])
    )


def read(document: Any, earlier: Any = None) -> Found:
    """earlier: what the file held before the run; `--append` adds to it, and what stood there is of another run."""
    suite = msgspec.convert(document, Suite)
    before = msgspec.convert(earlier, Suite).named() if recognises(earlier) else {}
    benchmarks = {name: _without(benchmark, before.get(name)) for name, benchmark in suite.named().items()}
    benchmarks = {name: benchmark for name, benchmark in benchmarks.items() if benchmark.runs}
    metrics = tuple(_metric(suite, name, benchmark) for name, benchmark in benchmarks.items())
    asked = {name: _asked(suite, benchmark) for name, benchmark in benchmarks.items()}
    version = suite.metadata.get("perf_version") or next(
        (it.metadata["perf_version"] for it in benchmarks.values() if "perf_version" in it.metadata), None
    )
    told = {} if version is None else {f"{CLIENT}/version": version}
    return Found(metrics, {**told, **folded(CLIENT, asked)} if metrics else {})


def _without(benchmark: Benchmark, before: Benchmark | None) -> Benchmark:
    """Without the runs that stood in the file already."""
    if before is None or not before.runs:
        return benchmark
    count = len(before.runs)
    is_added_to = [run.values for run in benchmark.runs[:count]] == [run.values for run in before.runs]
    return Benchmark(benchmark.runs[count:], benchmark.metadata) if is_added_to else benchmark


def _metric(suite: Suite, name: str, benchmark: Benchmark) -> Metric:
    told = str(suite.of(benchmark, "unit", "second"))
    unit, better = _UNITS.get(told, ("" if told == "integer" else told, "unknown"))
    measured = benchmark.measured
    values = [value for run in measured for value in run.values]
    if not values:
        return Metric(name, unit, better, source=CLIENT, gap="pyperf wrote no values of it, only calibrations")
    return condensed(
        Metric(
            name,
            unit,
            better,
            samples(values, f"{name}: values", unit),
            source=f"{CLIENT}, value per loop",
            processes=tuple(len(run.values) for run in measured),
            loops=_loops(suite, benchmark),
        )
    )


def _loops(suite: Suite, benchmark: Benchmark) -> int:
    """0 where the processes' differ, or are not told."""
    told = [run.metadata.get("loops", suite.of(benchmark, "loops")) for run in benchmark.measured]
    is_one = told and isinstance(told[0], int) and all(loops == told[0] for loops in told)
    return int(told[0]) if is_one else 0


def _asked(suite: Suite, benchmark: Benchmark) -> dict[str, Any]:
    """Loops only where they were asked for: what a calibration finds differs from run to run."""
    asked = {key: suite.of(benchmark, key) for key in _ASKED}
    is_calibrated = any(
        key in run.metadata for run in benchmark.runs for key in ("calibrate_loops", "recalibrate_loops")
    )
    asked["loops"] = None if is_calibrated else _loops(suite, benchmark) or None
    warmups = {len(run.warmups) for run in benchmark.measured}
    asked["warmups"] = warmups.pop() if len(warmups) == 1 else None
    return {key: value for key, value in asked.items() if value is not None}
