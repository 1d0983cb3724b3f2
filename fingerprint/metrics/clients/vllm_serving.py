"""Reads what vllm bench serve (benchmark_serving.py of old, and TensorRT-LLM's) saves with --save-result, and what it
prints."""

from collections.abc import Mapping, Sequence
from typing import Any

from fingerprint.metrics.clients import serving, serving_text, sglang_serving
from fingerprint.metrics.clients.measured import NO_LIMIT, found
from fingerprint.metrics.found import Found

CLIENT = "vllm-bench-serve"


def recognises(record: Any) -> bool:
    """The same words are InferenceX's, in s."""
    return (
        isinstance(record, dict)
        and {"model_id", "completed", "duration", "request_throughput"} <= record.keys()
        and any(isinstance(key, str) and key.endswith("_ms") for key in record)
    )


def read(records: Sequence[Mapping[str, Any]]) -> Found:
    return found(CLIENT, (serving.benchmark(CLIENT, record) for record in records))


def recognises_text(text: str) -> bool:
    return "Serving Benchmark" in text and not sglang_serving.recognises_text(text)


def read_text(text: str) -> Found:
    """Since it tells of failed requests it also tells the limit of concurrency, where there is one."""
    limits = {"max_concurrency": NO_LIMIT}
    blocks = serving_text.blocks(text, "Serving")
    return read([{**(limits if "failed" in record else {}), **record} for record in blocks])
