"""Findings, a line of what is odd and one of what to do."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import ConsoleRenderable
from rich.text import Text

from fingerprint.explain.contract import Diff, OneSided
from fingerprint.report.layout import FACT, LABEL, heading, indented, rows, said
from fingerprint.report.phrases import said_of
from fingerprint.report.suspects import IN_FULL
from fingerprint.words import clean

SHOWN = 6


def one_sided(diff: Diff) -> Iterator[ConsoleRenderable]:
    """Those that do not stand under a suspect already."""
    left = [it for it in diff.findings if it.suspect is None or it.suspect > IN_FULL]
    if left:
        yield heading("Found in one run alone", "odd by itself, not only beside the other run")
        yield from rows([_line(it, diff) for it in left[:SHOWN]], indent=2)
    if left[SHOWN:]:
        yield indented(f"and {len(left) - SHOWN} more, all in --format json")


def said_alone(diff: Diff) -> Iterator[ConsoleRenderable]:
    """Known messages of one run that do not stand under a suspect already."""
    left = [it for it in diff.said if it.suspect is None or it.suspect > IN_FULL]
    if left:
        yield heading("Said by one run alone", "known messages; only that they were said is kept")
        yield from (indented(f"{it.says}.") for it in left[:SHOWN])
    if left[SHOWN:]:
        yield indented(f"and {len(left) - SHOWN} more, all in --format json")


def _line(it: OneSided, diff: Diff) -> tuple[Text, Text]:
    side = diff.a if it.side == "a" else diff.b
    return said(side.name, FACT), _told(it.finding.says, it.finding.do)


def finding_rows(findings: Sequence[Mapping[str, Any]]) -> Iterator[ConsoleRenderable]:
    """Of the published document of a run."""
    return rows([(said(it["about"], FACT), _told(it["says"], it["do"])) for it in findings], indent=2)


def said_rows(texts: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[ConsoleRenderable]:
    """Of the published document of a run."""
    return rows([(said(text, FACT), clean(said_of(told))) for text, told in texts.items()], indent=2)


def _told(says: str, do: str) -> Text:
    return Text.assemble(clean(says), "\n", (clean(do), LABEL))
