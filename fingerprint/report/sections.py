"""The sections of a snapshot or a run, as the published documents hold them: counted, and their facts listed."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import ConsoleRenderable
from rich.text import Text

from fingerprint.report.layout import FACT, heading, rows, said
from fingerprint.words import in_words
from probes.kit.paths import FactPath, parse_glob, parse_path

Sections = Mapping[str, Mapping[str, Any]]
_TAGS = ("gap", "hmac", "doc")


def overview(sections: Sections) -> Iterator[ConsoleRenderable]:
    """A line each: how many values, and why others are missing."""
    yield heading("Sections")
    yield from rows([_counted(name, section) for name, section in sections.items()], indent=2)


def facts(sections: Sections, pattern: str) -> Iterator[ConsoleRenderable]:
    """The facts that match a glob, with their values."""
    yield heading("Facts", pattern)
    glob = parse_glob(pattern)
    found = ((path, value) for name, section in sections.items() for path, value in _of_section(name, section))
    yield from rows([(said(str(path), FACT), _value(value)) for path, value in found if glob.matches(path)], indent=2)


def _counted(name: str, section: Mapping[str, Any]) -> tuple[Text, str, str]:
    if section["facts"] is None:
        return said(name, FACT), section["outcome"].replace("_", " "), section["detail"]
    values = [value for _, value in _of_section(name, section)]
    gaps = [value["code"] for value in values if _is(value, "gap")]
    counted = ", ".join(f"{gaps.count(code)} {code.replace('_', ' ')}" for code in sorted(set(gaps)))
    return said(name, FACT), f"{len(values) - len(gaps)} values", counted


def _of_section(name: str, section: Mapping[str, Any]) -> Iterator[tuple[FactPath, Any]]:
    return _leaves(parse_path(name), section["facts"] or {})


def _leaves(path: FactPath, value: Any) -> Iterator[tuple[FactPath, Any]]:
    """Path and value of all facts below a value; gaps, digests and documents are values."""
    if not isinstance(value, Mapping) or any(_is(value, tag) for tag in _TAGS):
        yield path, value
        return
    for name, item in (value["items"] if _is(value, "map") else value).items():
        yield from _leaves(path / name, item)


def _is(value: Any, tag: str) -> bool:
    return isinstance(value, Mapping) and value.get("$") == tag


def _value(value: Any) -> str:
    if _is(value, "gap"):
        detail = f": {value['detail']}" if value.get("detail") else ""
        return f"({value['code'].replace('_', ' ')}{detail})"
    return "(private)" if _is(value, "hmac") else in_words(value)
