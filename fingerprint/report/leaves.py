"""The facts of a published document (`fingerprint.run/1`, `fingerprint.snapshot/1`), each with its path."""

from collections.abc import Iterator, Mapping
from typing import Any

from fingerprint.words import in_words
from probes.kit.paths import FactPath, parse_path

Section = Mapping[str, Any]
Sections = Mapping[str, Section]
_TAGS = ("gap", "hmac", "doc")


def of_section(name: str, section: Section) -> Iterator[tuple[FactPath, Any]]:
    """Path and value of all facts; gaps, digests and documents are values."""
    return _leaves(parse_path(name), section["facts"] or {})


def _leaves(path: FactPath, value: Any) -> Iterator[tuple[FactPath, Any]]:
    if not isinstance(value, Mapping) or any(is_a(value, tag) for tag in _TAGS):
        yield path, value
        return
    for name, item in (value["items"] if is_a(value, "map") else value).items():
        yield from _leaves(path / name, item)


def is_a(value: Any, tag: str) -> bool:
    """tag: `gap`, `hmac`, `doc` or `map`."""
    return isinstance(value, Mapping) and value.get("$") == tag


def worded(value: Any, of: str = "") -> str:
    """One value by itself; of: its path, where the words depend on it."""
    if is_a(value, "gap"):
        detail = f": {value['detail']}" if value.get("detail") else ""
        return f"({value['code'].replace('_', ' ')}{detail})"
    return "(private)" if is_a(value, "hmac") else in_words(value, of)
