"""Reads what sglang.bench_serving adds to --output-file, a line each, and what it prints."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fingerprint.metrics.clients import serving, serving_text
from fingerprint.metrics.clients.measured import found
from fingerprint.metrics.found import Found
from fingerprint.metrics.logs.settings import in_words
from fingerprint.metrics.logs.sglang import SETTINGS

CLIENT = "sglang-bench-serving"
_OWN = {"mean_e2e_latency_ms", "median_e2e_latency_ms", "total_output_tokens_retokenized"}


def recognises(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and {"completed", "duration", "output_throughput"} <= record.keys()
        and not record.keys().isdisjoint(_OWN)
    )


def read(records: Sequence[Mapping[str, Any]]) -> Found:
    return found(CLIENT, (serving.benchmark(CLIENT, record) for record in records), _of_server(records))


def _of_server(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the server answered to /server_info when the last of them was measured."""
    info = records[-1].get("server_info") if records else None
    if isinstance(info, dict) and (told := in_words(info, ("version", *SETTINGS))):
        yield f"sglang says that it runs with {told}"


def recognises_text(text: str) -> bool:
    return "Serving Benchmark" in text and any(map(is_own, serving_text.blocks(text, "Serving")))


def read_text(text: str) -> Found:
    return read([record for record in serving_text.blocks(text, "Serving") if is_own(record)])


def is_own(record: Mapping[str, Any]) -> bool:
    """It has always printed a backend, and names its latency from end to end in its own way."""
    return "backend" in record or not record.keys().isdisjoint(_OWN)
