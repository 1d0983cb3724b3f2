"""Reads InferenceX's (InferenceMAX of old) results: its own and the aggregated ones, of which a file lists many.

Their words are those of vllm bench serve, all times in s; interactivity is the tokens per second of one user, 1 / tpot.
https://github.com/SemiAnalysisAI/InferenceX
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fingerprint.metrics.clients import serving
from fingerprint.metrics.clients.measured import found
from fingerprint.metrics.found import Found

CLIENT = "inferencex"


def recognises(record: Any) -> bool:
    if not isinstance(record, dict) or not {"median_ttft", "mean_ttft", "p99_ttft", "ttft_p50"} & record.keys():
        return False
    return "tput_per_gpu" in record or {"model_id", "completed", "output_throughput"} <= record.keys()


def read(records: Sequence[Mapping[str, Any]]) -> Found:
    return found(CLIENT, (serving.benchmark(CLIENT, record) for record in records))
