"""Whether a run served more than one stream: then its throughput is that of all, and a cycle makes tokens for each.

A log that tells how many requests ran in each of its readings tells what one stream got all the same.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fingerprint.explain.arithmetic.numbers import Numbers, numbers_of, numbers_of_each
from fingerprint.runs.run import Run

_KEYS = (
    "concurrency", "max_concurrency", "num_concurrent", "concurrent_requests", "batch", "batch_size", "max_batch_size",
    "streams", "num_streams",
)  # fmt: skip


class OfOneStream(NamedTuple):
    """many: how many there were, in words, where nothing tells of each; then the numbers are those of all. each: they
    are those of one of several. streams: how many, as far as a log tells."""

    numbers: Numbers
    many: str = ""
    each: bool = False
    streams: Any = None


def of_one_stream(runs: Sequence[Run]) -> OfOneStream:
    """runs: the attempts of one side that count."""
    workload = runs[-1].workload if runs else {}
    streams = next((value for key, value in workload.items() if key.endswith("/streams")), None)
    many = crowd(workload)
    each = numbers_of_each(runs) if many else {}
    if each:
        return OfOneStream(each, each=True, streams=streams)
    return OfOneStream(numbers_of(runs), many, streams=streams)


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
