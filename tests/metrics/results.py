"""Result files that the tools wrote, and what is read of them."""

from pathlib import Path
from typing import Any

import msgspec

from fingerprint.metrics import Metric, formats
from fingerprint.metrics.found import Found
from fingerprint.metrics.source import Source, load

FILES = Path(__file__).parent / "files"


def content(name: str) -> Any:
    return msgspec.json.decode((FILES / name).read_bytes())


def read(name: str, reader: str = "auto") -> Found:
    return formats.read(load(str(FILES / name)), reader)


def read_content(document: Any, reader: str = "auto") -> Found:
    return formats.read(Source("out.json", msgspec.json.encode(document)), reader)


def by_name(found: Found) -> dict[str, Metric]:
    return {metric.name: metric for metric in found.metrics}
