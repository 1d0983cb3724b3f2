"""Reads AIPerf's exports, which are those of genai-perf with more in them, and its record of each request:
`profile_export.jsonl`, whose requests of the warm-up are left out."""

from collections.abc import Mapping, Sequence
from typing import Any

from fingerprint.metrics.clients import genai_perf
from fingerprint.metrics.found import Found

CLIENT = "aiperf"


def recognises(record: Any) -> bool:
    return _is_request(record) or (
        genai_perf.recognises(record) and ("aiperf_version" in record or "loadgen" in record["input_config"])
    )


def read(records: Sequence[Mapping[str, Any]]) -> Found:
    if _is_request(records[0]):
        return genai_perf.requests(list(filter(_is_request, records)), CLIENT)
    return genai_perf.read(records, CLIENT)


def recognises_text(text: str) -> bool:
    return genai_perf.is_printed(text) and genai_perf.is_aiperf(text)


def read_text(text: str) -> Found:
    return genai_perf.read_text(text, CLIENT)


def _is_request(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and isinstance(record.get("metrics"), dict)
        and isinstance(metadata := record.get("metadata"), dict)
        and "request_start_ns" in metadata
    )
