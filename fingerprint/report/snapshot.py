"""A snapshot for a person, made from the published document (`fingerprint.snapshot/1`) alone."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import ConsoleRenderable

from fingerprint.report import sections
from fingerprint.report.layout import printed, said
from fingerprint.words import moment


def render(document: Mapping[str, Any], *, facts: str | None = None, width: int = 80, color: bool = False) -> str:
    """What was read and what was not; facts: a glob of those to list with their values."""
    return printed(_parts(document, facts), width=width, color=color)


def _parts(document: Mapping[str, Any], facts: str | None) -> Iterator[ConsoleRenderable]:
    yield said(f"{document['host']}, {moment(document['taken_at'])}", "bold")
    yield said(f"snapshot {document['id']}, read in {document['duration_ms']:.0f} ms as {_user(document)}")
    if facts is None:
        yield from sections.overview(document["sections"])
    else:
        yield from sections.facts(document["sections"], facts)


def _user(document: Mapping[str, Any]) -> str:
    uid = document["provenance"]["uid"]
    return "root" if uid == 0 else f"uid {uid}, who sees less than root"
