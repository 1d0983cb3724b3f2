"""Reads what sglang.bench_offline_throughput adds to --result-filename, and what it prints."""

from collections.abc import Mapping, Sequence
from typing import Any

from fingerprint.metrics.clients import serving, serving_text
from fingerprint.metrics.clients.measured import Benchmark, Word, found, number
from fingerprint.metrics.found import Found

CLIENT = "sglang-bench-offline"
_KEYS = {"successful_requests": "completed", "total_latency": "duration"}
_LAST = Word("last_decode_throughput", "tok/s")


def recognises(record: Any) -> bool:
    return isinstance(record, dict) and {"successful_requests", "total_latency", "output_throughput"} <= record.keys()


def read(records: Sequence[Mapping[str, Any]]) -> Found:
    return found(CLIENT, map(_benchmark, records))


def recognises_text(text: str) -> bool:
    return "Offline Throughput" in text and next(serving_text.blocks(text, "Offline Throughput"), None) is not None


def read_text(text: str) -> Found:
    return read(list(serving_text.blocks(text, "Offline Throughput")))


def _benchmark(record: Mapping[str, Any]) -> Benchmark:
    told = serving.benchmark(CLIENT, {_KEYS.get(key, key): value for key, value in record.items()})
    if record.get("last_gen_throughput") is None:
        return told
    last = number(record["last_gen_throughput"], _LAST, f"{CLIENT}, {_LAST.name}")
    return told._replace(metrics=(*told.metrics, last))
