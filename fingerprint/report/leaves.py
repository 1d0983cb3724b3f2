"""The facts of a published document (`fingerprint.run/1`, `fingerprint.snapshot/1`), each with its path."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fingerprint.words import in_full, in_words
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


def worded(value: Any) -> str:
    """One value by itself, long text cut."""
    return _in_place_of(value) or in_words(value)


def worded_in_full(value: Any, unit: str, of: str) -> str:
    """of: the value's path, which some words depend on."""
    return _in_place_of(value) or (in_full(value["value"]) if is_a(value, "doc") else in_full(value, unit, of))


def _in_place_of(value: Any) -> str:
    """What stands where there is no value to tell; empty where there is one."""
    if is_a(value, "gap"):
        detail = f": {value['detail']}" if value.get("detail") else ""
        return f"({value['code'].replace('_', ' ')}{detail})"
    return "(private)" if is_a(value, "hmac") else ""


class Units:
    """Of one section of a published document, by the names of its facts."""

    def __init__(self, section: Section) -> None:
        self._patterns = [(pattern.split("/"), unit) for pattern, unit in section.get("units", {}).items()]

    def of(self, names: Sequence[str]) -> str:
        """names: below area and target. Empty where a fact has none. Items of a plain collection have its unit."""
        return next((unit for pattern, unit in self._patterns if _fits(pattern, names)), "")


def _fits(pattern: Sequence[str], names: Sequence[str]) -> bool:
    if len(names) - len(pattern) not in (0, 1):
        return False
    return all(part in ("*", name) for part, name in zip(pattern, names, strict=False))
