"""Reads what vllm bench latency and throughput write with --output-json, and what they print (benchmark_latency.py and
benchmark_throughput.py of old).

Latency: each iteration's time in s, of a whole batch. Throughput: of all requests together; the tokens per second of
the file are those of prompts and output.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fingerprint.metrics.clients.measured import Benchmark, Word, distribution, found, given, number, series
from fingerprint.metrics.clients.printed import plain
from fingerprint.metrics.found import Found
from fingerprint.metrics.metric import Metric

CLIENT = "vllm-bench-batch"
_LATENCY = Word("e2e_latency", "s", "lower")
_NUMBERS: Mapping[str, Word] = {
    "requests_per_second": Word("request_throughput", "req/s"),
    "tokens_per_second": Word("total_throughput", "tok/s"),
    "output_tokens_per_second": Word("output_throughput", "tok/s"),
    "elapsed_time": Word("duration", "s"),
    "total_num_tokens": Word("tokens", "tok"),
}
_THROUGHPUT = re.compile(
    r"Throughput: (?P<requests_per_second>[\d.,]+) requests/s, (?P<tokens_per_second>[\d.,]+) (?:total )?tokens/s"
    r"(?:, (?P<output_tokens_per_second>[\d.,]+) output tokens/s)?"
)
_AVERAGE = re.compile(r"^Avg latency: (?P<value>\S+) seconds", re.MULTILINE)
_PERCENTILE = re.compile(r"^(?P<percent>\d+)% percentile latency: (?P<value>\S+) seconds", re.MULTILINE)


def recognises(record: Any) -> bool:
    return isinstance(record, dict) and (
        {"avg_latency", "percentiles"} <= record.keys()
        or {"elapsed_time", "num_requests", "requests_per_second", "tokens_per_second"} <= record.keys()
    )


def read(records: Sequence[Mapping[str, Any]]) -> Found:
    return found(CLIENT, map(_benchmark, records))


def recognises_text(text: str) -> bool:
    return bool(_THROUGHPUT.search(text) or _AVERAGE.search(text))


def read_text(text: str) -> Found:
    records: list[dict[str, Any]] = [
        {key: plain(value) for key, value in it.groupdict().items() if value} for it in _THROUGHPUT.finditer(text)
    ]
    if average := _AVERAGE.search(text):
        percentiles = {it["percent"]: plain(it["value"]) for it in _PERCENTILE.finditer(text)}
        records.append({"avg_latency": plain(average["value"]), "percentiles": percentiles})
    return read(records)


def _benchmark(record: Mapping[str, Any]) -> Benchmark:
    numbers = [
        number(record[key], word, f"{CLIENT}, {word.name}")
        for key, word in _NUMBERS.items()
        if record.get(key) is not None
    ]
    asked = given({"model": record.get("model_id"), "num_requests": record.get("num_requests")})
    return Benchmark(asked, (*numbers, *_latency(record)))


def _latency(record: Mapping[str, Any]) -> Sequence[Metric]:
    if "avg_latency" not in record:
        return ()
    source, latencies = f"{CLIENT}, {_LATENCY.name}", record.get("latencies")
    if isinstance(latencies, list) and latencies:
        return (series(latencies, _LATENCY, source),)
    percentiles = record["percentiles"] if isinstance(record["percentiles"], dict) else {}
    told = {f"p{percent}": value for percent, value in percentiles.items()}
    return (distribution({"mean": record["avg_latency"], **told}, _LATENCY, source),)
