"""Reads guidellm's JSON report: a benchmark of each rate, its statistics over the requests that were successful.

Its inter-token latency is what others call tpot. Its own time per output token has the first token in it, which no
other client's has, so it goes by another name here. `rate` of a sweep is found out by itself and then no workload.
https://github.com/vllm-project/guidellm
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fingerprint.metrics.clients.measured import NO_LIMIT, Benchmark, Word, count_of, distribution, found, given, number
from fingerprint.metrics.found import Found
from fingerprint.metrics.metric import Metric

CLIENT = "guidellm"
_NUMBERS: Mapping[str, Word] = {
    "requests_per_second": Word("request_throughput", "req/s"),
    "request_concurrency": Word("achieved_concurrency"),
    "prompt_tokens_per_second": Word("input_throughput", "tok/s"),
    "output_tokens_per_second": Word("output_throughput", "tok/s"),
    "tokens_per_second": Word("total_throughput", "tok/s"),
}
_DISTRIBUTIONS: Mapping[str, Word] = {
    "request_latency": Word("e2e_latency", "s", "lower"),
    "time_to_first_token_ms": Word("ttft", "ms"),
    "inter_token_latency_ms": Word("tpot", "ms"),
    "time_per_output_token_ms": Word("latency_per_output_token", "ms"),
    "prompt_token_count": Word("input_length", "tok"),
    "output_token_count": Word("output_length", "tok"),
}
_COUNTS: Mapping[str, Word] = {
    "successful": Word("completed_requests", better="higher"),
    "errored": Word("failed_requests", better="lower"),
    "incomplete": Word("incomplete_requests"),
}
_PERCENTILES = {
    "p001": "p0.1", "p01": "p1", "p05": "p5", "p10": "p10", "p25": "p25", "p75": "p75", "p90": "p90", "p95": "p95",
    "p99": "p99", "p999": "p99.9",
}  # fmt: skip
_UNBOUNDED = ("constant", "poisson", "async", "throughput", "sweep")
_LENGTHS = ("prompt_tokens", "prompt_tokens_stdev", "output_tokens", "output_tokens_stdev", "turns")


def recognises(record: Any) -> bool:
    benchmarks = record.get("benchmarks") if isinstance(record, dict) else None
    return (
        isinstance(benchmarks, list)
        and benchmarks != []
        and all(isinstance(it, dict) and isinstance(it.get("metrics"), dict) for it in benchmarks)
        and any("time_to_first_token_ms" in it["metrics"] or "request_totals" in it["metrics"] for it in benchmarks)
    )


def read(records: Sequence[Mapping[str, Any]]) -> Found:
    return found(CLIENT, [_benchmark(it, record) for record in records for it in record["benchmarks"]])


def _benchmark(benchmark: Mapping[str, Any], record: Mapping[str, Any]) -> Benchmark:
    return Benchmark(given(_asked(benchmark, record)), list(_metrics(benchmark["metrics"])))


def _asked(benchmark: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """Of the newest layout, and of the one with `args` in place of `config`."""
    config = _part(benchmark, "config") or _part(benchmark, "args")
    strategy, backend = _part(config, "strategy"), _part(config, "backend")
    spec = _part(_part(record, "config"), "spec")
    sets, profile = spec.get("data"), _part(config, "profile")
    data = sets[0] if isinstance(sets, list) and sets and isinstance(sets[0], dict) else {}
    kind = profile.get("kind") or profile.get("type_") or strategy.get("type_")
    rate = {} if kind == "sweep" else {"rate": strategy.get("rate")}
    return {
        "version": _part(record, "metadata").get("guidellm_version"),
        "strategy": kind,
        **rate,
        "concurrency": strategy.get("streams"),
        "max_concurrency": profile.get("max_concurrency") or (NO_LIMIT if kind in _UNBOUNDED else None),
        "model": backend.get("model"),
        **{key: data.get(key) for key in _LENGTHS},
        "seed": _part(spec, "seed").get("value"),
    }


def _part(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = of.get(key)
    return part if isinstance(part, dict) else {}


def _metrics(told: Mapping[str, Any]) -> Iterator[Metric]:
    for key, word in _NUMBERS.items():
        if (mean := _part(_part(told, key), "successful").get("mean")) is not None:
            yield number(mean, word, f"{CLIENT}, {key}")
    for key, word in _DISTRIBUTIONS.items():
        if statistics := _part(_part(told, key), "successful"):
            yield distribution(_statistics(statistics), word, f"{CLIENT}, {key}", count_of(statistics.get("count")))
    totals = _part(told, "request_totals")
    for key, word in _COUNTS.items():
        if totals.get(key) is not None:
            yield number(totals[key], word, f"{CLIENT}, request_totals.{key}")


def _statistics(told: Mapping[str, Any]) -> dict[str, Any]:
    """Its standard deviation is of n, and left out, for that of n - 1 is meant here."""
    percentiles = _part(told, "percentiles")
    named = {name: percentiles.get(key) for key, name in _PERCENTILES.items()}
    return {key: told.get(key) for key in ("mean", "median", "min", "max")} | named
