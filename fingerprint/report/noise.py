"""What moves by itself, for a person, made from the published document (`fingerprint.noise/1`) alone."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import ConsoleRenderable
from rich.text import Text

from fingerprint.report.layout import FACT, LABEL, heading, printed, rows, said
from fingerprint.report.phrases import listed
from fingerprint.words import before_after, clean, quantities, quantity

VALUES = 4


def render(document: Mapping[str, Any], *, width: int = 80, color: bool = False) -> str:
    """What should not have moved first, then what may, the most often moving ahead within each kind."""
    return printed(_parts(document), width=width, color=color)


def _parts(document: Mapping[str, Any]) -> Iterator[ConsoleRenderable]:
    findings, facts = document["findings"], document["facts"]
    yield said(f"{_taken(document)}: {_changed(len(findings))}; {_moved(len(facts), bool(findings))}.", "bold")
    if findings:
        yield heading("Should not have moved", "never taken for noise: somebody, or something, sets it")
        yield from rows([_finding(finding) for finding in findings], indent=2)
    for kind in ("state", "counter", "telemetry"):
        yield from _of_kind(kind, {path: own for path, own in facts.items() if own["kind"] == kind})
    if document["not_read"]:
        yield heading("Not read", "at least once")
        yield from rows([(said(section, FACT), why) for section, why in document["not_read"].items()], indent=2)


def _taken(document: Mapping[str, Any]) -> str:
    return f"{document['host']}, {document['snapshots']} snapshots in {document['seconds']:.0f} s"


def _changed(count: int) -> str:
    return f"{count} lasting fact{'s' * (count != 1)} changed meanwhile" if count else "nothing lasting changed"


def _moved(count: int, others: bool) -> str:
    what, themselves = ("fact", "itself") if count == 1 else ("facts", "themselves")
    return f"{count} {'other ' if others else ''}{what} moved by {themselves}"


def _finding(finding: Mapping[str, Any]) -> tuple[Text, str, Text]:
    words = before_after(finding["before"], finding["after"], finding["unit"])
    return said(finding["fact"], FACT), words, said(f"{finding['verdict']}{_times(finding)}, {finding['at']}", LABEL)


def _times(finding: Mapping[str, Any]) -> str:
    return f" {finding['times']} times, first" if finding["times"] > 1 else ""


def _of_kind(kind: str, facts: Mapping[str, Any]) -> Iterator[ConsoleRenderable]:
    if facts:
        yield heading(kind.capitalize(), f"{len(facts)} moved")
        often = sorted(facts.items(), key=lambda item: (-item[1]["moved"] / item[1]["looks"], item[0]))
        yield from rows([_own(path, own) for path, own in often], indent=2)


def _own(path: str, own: Mapping[str, Any]) -> tuple[Text, str, Text]:
    return said(path, FACT), _range(own), said(f"{own['moved']} of {own['looks']}", LABEL)


def _range(own: Mapping[str, Any]) -> str:
    if own["low"] is None:
        return listed([clean(value) for value in own["values"]], VALUES)
    words = _from_to(own["low"], own["high"], own["unit"])
    return f"{words} per second" if own["kind"] == "counter" else words


def _from_to(low: float, high: float, unit: str) -> str:
    return quantity(low, unit) if low == high else quantities(low, high, unit).replace(" -> ", " to ")
