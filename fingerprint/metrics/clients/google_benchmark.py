"""Reads what Google Benchmark writes with --benchmark_out=FILE or --benchmark_format=json (seen: 1.7.1, 1.9.5).

An entry of type `iteration` is one repetition: its times are means of all its iterations, in `time_unit`. Entries
of type `aggregate` sum the repetitions up, and are all there is with --benchmark_report_aggregates_only.
https://google.github.io/benchmark/user_guide.html#output-formats
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from fingerprint.metrics.found import Found, folded
from fingerprint.metrics.metric import Better, Metric, Summary
from fingerprint.metrics.values import condensed, sample, samples

CLIENT = "google-benchmark"
_TIMES = ("real_time", "cpu_time")
_MEASURED: Mapping[str, tuple[str, Better]] = {
    "bytes_per_second": ("B/s", "higher"),
    "items_per_second": ("items/s", "higher"),
}
# Whatever else of an entry is a number is a counter of the benchmark's author.
_OF_THE_ENTRY = frozenset(
    "name family_index per_family_instance_index run_name run_type repetitions repetition_index threads"
    " aggregate_name aggregate_unit iterations real_time cpu_time time_unit label big_o error_occurred error_message"
    " skipped skip_message real_coefficient cpu_coefficient rms allocs_per_iter max_bytes_used total_allocated_bytes"
    " net_heap_growth".split()
)
_AGGREGATES = {"mean": "mean", "median": "median", "stddev": "stdev", "min": "min", "max": "max"}
# What --benchmark_context=KEY=VALUE adds are texts too; these the library writes itself.
_OF_THE_LIBRARY = ("date", "host_name", "executable")  # the run has its arguments


class Entry(msgspec.Struct, frozen=True):
    name: str
    run_name: str = ""
    family_index: int = 0
    per_family_instance_index: int = 0
    run_type: str = "iteration"
    aggregate_name: str = ""
    repetitions: int = 1
    threads: int = 1
    iterations: int = 0
    time_unit: str = "ns"
    error_occurred: bool = False
    error_message: str = ""
    skipped: bool = False
    skip_message: str = ""


class Row(NamedTuple):
    """An entry and its numbers."""

    entry: Entry
    numbers: Mapping[str, Any]


def recognises(document: Any) -> bool:
    if not isinstance(document, dict) or not isinstance(document.get("context"), dict):
        return False
    entries = document.get("benchmarks")
    return isinstance(entries, list) and all(
        isinstance(entry, dict) and "name" in entry and {"run_type", "iterations", "time_unit"} & entry.keys()
        for entry in entries
    )


def read(document: Any) -> Found:
    entries = msgspec.convert(document["benchmarks"], list[Entry])
    rows = [Row(entry, numbers) for entry, numbers in zip(entries, document["benchmarks"], strict=True)]
    benchmarks = _named(rows)
    metrics = tuple(metric for name, its in benchmarks.items() for metric in _metrics(name, its))
    threads = {name: {"threads": its[0].entry.threads} for name, its in benchmarks.items()}
    if not metrics:
        return Found()
    return Found(metrics, {**_client(document["context"]), **folded(CLIENT, threads)}, _remarks(document["context"]))


def _named(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each benchmark; one registered twice is told apart by `#2`. Fits of complexity are no results."""
    groups: dict[tuple[str, int, int], list[Row]] = {}
    for row in rows:
        entry = row.entry
        if entry.aggregate_name not in ("BigO", "RMS"):
            name = entry.run_name or entry.name
            groups.setdefault((name, entry.family_index, entry.per_family_instance_index), []).append(row)
    named: dict[str, list[Row]] = {}
    seen: dict[str, int] = {}
    for (name, *_), its in groups.items():
        seen[name] = seen.get(name, 0) + 1
        named[name if seen[name] == 1 else f"{name}#{seen[name]}"] = its
    return named


def _client(context: Mapping[str, Any]) -> dict[str, Any]:
    told = {key: it for key, it in context.items() if isinstance(it, str) and key not in _OF_THE_LIBRARY}
    if "library_version" in told:
        told["version"] = told.pop("library_version")
    return {f"{CLIENT}/{key}": value for key, value in told.items()}


def _remarks(context: Mapping[str, Any]) -> tuple[str, ...]:
    if context.get("library_build_type") != "debug":
        return ()
    return ("Google Benchmark itself was built as debug: its own part of the times is larger than it need be",)


def _metrics(name: str, rows: Sequence[Row]) -> list[Metric]:
    failed = next((row.entry for row in rows if row.entry.error_occurred or row.entry.skipped), None)
    if failed:
        said = failed.error_message or failed.skip_message or "no reason given"
        return [
            Metric(f"{name}/{key}", failed.time_unit, "lower", source=f"{CLIENT}, {key}", gap=f"skipped: {said}")
            for key in _TIMES
        ]
    repetitions = [row for row in rows if row.entry.run_type == "iteration"]
    keys = dict.fromkeys(key for row in rows for key in row.numbers if _is_measured(key, row.numbers[key]))
    make = _of_repetitions if repetitions else _of_aggregates
    return [make(name, key, repetitions or rows) for key in keys]


def _is_measured(key: str, value: Any) -> bool:
    if key in _TIMES:
        return True
    return key not in _OF_THE_ENTRY and isinstance(value, int | float) and not isinstance(value, bool)


def _unit(key: str, entry: Entry) -> tuple[str, Better]:
    return (entry.time_unit, "lower") if key in _TIMES else _MEASURED.get(key, ("", "unknown"))


def _of_repetitions(name: str, key: str, rows: Sequence[Row]) -> Metric:
    unit, better = _unit(key, rows[0].entry)
    values = samples([row.numbers[key] for row in rows if key in row.numbers], f"{name}: {key}", unit)
    iterations = {row.entry.iterations for row in rows}
    return condensed(
        Metric(
            f"{name}/{key}",
            unit,
            better,
            values,
            source=f"{CLIENT}, {key}",
            processes=(len(values),),
            loops=iterations.pop() if len(iterations) == 1 else 0,
        )
    )


def _of_aggregates(name: str, key: str, rows: Sequence[Row]) -> Metric:
    unit, better = _unit(key, rows[0].entry)
    told = {
        _AGGREGATES[row.entry.aggregate_name]: sample(row.numbers[key], f"{row.entry.name}: {key}", unit)
        for row in rows
        if row.entry.aggregate_name in _AGGREGATES and key in row.numbers
    }
    if not told:
        return Metric(f"{name}/{key}", unit, better, source=f"{CLIENT}, {key}", gap="no aggregate that is known here")
    summary = msgspec.structs.replace(Summary(count=rows[0].entry.repetitions), **told)
    return Metric(f"{name}/{key}", unit, better, source=f"{CLIENT}, {key}", kind="summary", summary=summary)
