"""What a client's text or JSON gives, for tests to look at."""

from typing import Any

import msgspec

from fingerprint.metrics import Metric, formats
from fingerprint.metrics.found import Found
from fingerprint.metrics.source import Source


def of_text(text: str, reader: str = "auto") -> Found:
    return formats.read(Source("out.txt", f"{text}\n".encode()), reader)


def of_json(document: Any, reader: str = "auto") -> Found:
    return formats.read(Source("out.json", msgspec.json.encode(document)), reader)


def of_lines(*records: Any, earlier: int = 0) -> Found:
    """earlier: how many of them stood there before the run."""
    lines = [msgspec.json.encode(record) + b"\n" for record in records]
    return formats.read(Source("out.jsonl", b"".join(lines), b"".join(lines[:earlier])))


def values(found: Found) -> dict[str, float | None]:
    """What is typical of each metric."""
    return {metric.name: metric.typical for metric in found.metrics}


def one(found: Found, name: str) -> Metric:
    return next(metric for metric in found.metrics if metric.name == name)
