"""Whether a run served more than one stream: then its throughput is that of all, and a cycle makes tokens for each."""

import re
from collections.abc import Mapping
from typing import Any

_KEYS = (
    "concurrency", "max_concurrency", "num_concurrent", "concurrent_requests", "batch", "batch_size", "max_batch_size",
    "streams", "num_streams",
)  # fmt: skip


def crowd(workload: Mapping[str, Any]) -> str:
    """`concurrency is 8`, or nothing."""
    for key, value in workload.items():
        words = re.sub(r"[^a-z0-9]+", "_", key.rpartition("/")[2].lower()).strip("_")
        if words in _KEYS and _count(value) > 1:
            return f"{key} is {value}"
    return ""


def _count(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0
