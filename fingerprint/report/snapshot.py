"""A snapshot for a person: what was read, what was not, and on demand every value.

Made from the published document (`fingerprint.snapshot/1`) alone.
"""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import ConsoleRenderable
from rich.text import Text

from fingerprint.report.layout import FACT, heading, printed, rows, said
from fingerprint.report.values import in_words
from probes.kit.paths import FactPath, parse_glob

TAGS = ("gap", "hmac", "doc")


def render(document: Mapping[str, Any], *, facts: str | None = None, width: int = 80, color: bool = False) -> str:
    """The whole snapshot; facts: a glob of the facts to list with their values."""
    return printed(_parts(document, facts), width=width, color=color)


def _parts(document: Mapping[str, Any], facts: str | None) -> Iterator[ConsoleRenderable]:
    taken = time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(document["taken_at"] / 1e9))
    yield said(f"{document['host']}, {taken}", "bold")
    yield said(f"snapshot {document['id']}, read in {document['duration_ms']:.0f} ms as {_user(document)}")
    yield heading("Sections")
    yield from rows([_section(name, section) for name, section in document["sections"].items()], indent=2)
    if facts is not None:
        yield heading("Facts", facts)
        yield from rows(list(_listed(document, facts)), indent=2)


def _user(document: Mapping[str, Any]) -> str:
    uid = document["provenance"]["uid"]
    return "root" if uid == 0 else f"uid {uid}, who sees less than root"


def _section(name: str, section: Mapping[str, Any]) -> tuple[Text, str, str]:
    if section["facts"] is None:
        return said(name, FACT), section["outcome"].replace("_", " "), section["detail"]
    found = [value for _, value in leaves((), section["facts"])]
    gaps = [value["code"] for value in found if _is(value, "gap")]
    counted = ", ".join(f"{gaps.count(code)} {code.replace('_', ' ')}" for code in sorted(set(gaps)))
    return said(name, FACT), f"{len(found) - len(gaps)} values", counted


def _listed(document: Mapping[str, Any], facts: str) -> Iterator[tuple[Text, str]]:
    glob = parse_glob(facts)
    for name, section in document["sections"].items():
        for path, value in leaves(tuple(name.split("/")), section["facts"] or {}):
            if glob.matches(FactPath(path)):
                yield said(str(FactPath(path)), FACT), _value(value)


def leaves(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Path and value of all facts below a value of the document; gaps, digests and documents are values."""
    if not isinstance(value, Mapping) or any(_is(value, tag) for tag in TAGS):
        yield path, value
        return
    inner = value["items"] if _is(value, "map") else value
    for name, item in inner.items():
        yield from leaves((*path, name), item)


def _is(value: Any, tag: str) -> bool:
    return isinstance(value, Mapping) and value.get("$") == tag


def _value(value: Any) -> str:
    if _is(value, "gap"):
        detail = f": {value['detail']}" if value.get("detail") else ""
        return f"({value['code'].replace('_', ' ')}{detail})"
    return "(private)" if _is(value, "hmac") else in_words(value)
