"""The suspects of a diff: the first few in full, the others a line each."""

from collections.abc import Container, Iterator

from rich.console import ConsoleRenderable
from rich.text import Text

from fingerprint.explain.contract import Diff, Likelihood, Suspect
from fingerprint.report.layout import FACT, LABEL, Command, heading, indented, rows, said
from fingerprint.report.phrases import grown_facts, named, no_suspect, span, suspect_change
from fingerprint.words import clean

IN_FULL = 3
NAMED = 12
_INDENT = 5
_LABEL_WIDTH = 8
_STYLES: dict[Likelihood, str] = {"likely": "bold red", "possible": "yellow", "unlikely": "dim"}


def suspects(diff: Diff) -> Iterator[ConsoleRenderable]:
    if not diff.suspects:
        yield heading("Suspects")
        yield indented(no_suspect(diff))
        return
    moved = any(metric.verdict in ("worse", "better", "changed") for metric in diff.metrics)
    yield heading("Suspects", "" if moved else "if the change is real")
    grown = grown_facts(diff)
    for suspect in diff.suspects[:IN_FULL]:
        yield from _in_full(suspect, grown)
    if others := diff.suspects[IN_FULL:NAMED]:
        yield from rows([_in_one_line(suspect, grown) for suspect in others], indent=1)
    if diff.suspects[NAMED:]:
        yield indented(f"and {len(diff.suspects) - NAMED} more, all in --format json", _INDENT)
    if left := diff.unexplained:
        yield indented(f"Unexplained {left.says}: {span(left.low, left.high, left.unit)}.")


def _in_full(suspect: Suspect, grown: Container[str]) -> Iterator[ConsoleRenderable]:
    yield from rows([_in_one_line(suspect, grown)], indent=1)
    yield from rows(_details(suspect), indent=_INDENT, label=_LABEL_WIDTH)
    label, command = ("restore", suspect.restore) if suspect.restore else ("check", suspect.check)
    yield Command.assemble(" " * _INDENT, (f"{label:<{_LABEL_WIDTH}}  ", LABEL), clean(command))


def _in_one_line(suspect: Suspect, grown: Container[str]) -> tuple[Text, Text, Text]:
    change = Text.assemble((clean(suspect.facts[0]), FACT), f"  {suspect_change(suspect, grown)}")
    if suspect.on:
        change.append(f"  on {clean(suspect.on)}", LABEL)
    return said(f"{suspect.rank:>2}"), change, said(suspect.likelihood, _STYLES[suspect.likelihood])


def _details(suspect: Suspect) -> Iterator[tuple[Text, str]]:
    for label, text in named(suspect):
        yield said(label, LABEL), text
