"""The suspects of a diff: the first few in full, the others a line each."""

import re
from collections.abc import Container, Iterator

from rich.console import ConsoleRenderable
from rich.text import Text

from fingerprint.explain.contract import Beside, Diff, Evidence, Likelihood, Suspect
from fingerprint.report.layout import FACT, LABEL, Command, heading, indented, listed, rows, said
from fingerprint.words import before_after, clean, growth, in_words, quantity

IN_FULL = 3
NAMED = 12
WITH_IT = 2
_INDENT = 5
_CLAUSE = re.compile(r"; |(?<=[a-z0-9)%])\. ")
_LABEL_WIDTH = 8
_STYLES: dict[Likelihood, str] = {"likely": "bold red", "possible": "yellow", "unlikely": "dim"}


def suspects(diff: Diff) -> Iterator[ConsoleRenderable]:
    if not diff.suspects:
        yield heading("Suspects")
        yield indented(_none(diff))
        return
    moved = any(metric.verdict in ("worse", "better", "changed") for metric in diff.metrics)
    yield heading("Suspects", "" if moved else "if the change is real")
    grown = {change.fact for change in diff.changes if change.verdict == "grew"}
    for suspect in diff.suspects[:IN_FULL]:
        yield from _in_full(suspect, grown)
    if others := diff.suspects[IN_FULL:NAMED]:
        yield from rows([_in_one_line(suspect, grown) for suspect in others], indent=1)
    if diff.suspects[NAMED:]:
        yield indented(f"and {len(diff.suspects) - NAMED} more, all in --format json", _INDENT)
    if left := diff.unexplained:
        yield indented(f"Unexplained {left.says}: {_range(left.low, left.high, left.unit)}.")


def _none(diff: Diff) -> str:
    lasting = [change for change in diff.changes if not change.context]
    if lasting:
        return "None: nothing that changed is known to move a metric."
    return "None: of what was read in both, nothing changed that could move a metric."


def _in_full(suspect: Suspect, grown: Container[str]) -> Iterator[ConsoleRenderable]:
    yield from rows([_in_one_line(suspect, grown)], indent=1)
    yield from rows(_details(suspect), indent=_INDENT, label=_LABEL_WIDTH)
    label, command = ("restore", suspect.restore) if suspect.restore else ("check", suspect.check)
    yield Command.assemble(" " * _INDENT, (f"{label:<{_LABEL_WIDTH}}  ", LABEL), clean(command))


def _in_one_line(suspect: Suspect, grown: Container[str]) -> tuple[Text, Text, Text]:
    fact, sides = suspect.facts[0], (suspect.before, suspect.after, suspect.unit)
    words = growth(*sides) if fact in grown else before_after(*sides, of=fact)
    change = Text.assemble((clean(fact), FACT), f"  {words}")
    if suspect.on:
        change.append(f"  on {clean(suspect.on)}", LABEL)
    return said(f"{suspect.rank:>2}"), change, said(suspect.likelihood, _STYLES[suspect.likelihood])


def _details(suspect: Suspect) -> Iterator[tuple[Text, str]]:
    for label, text in _named(suspect):
        yield said(label, LABEL), text


def _named(suspect: Suspect) -> Iterator[tuple[str, str]]:
    if suspect.facts[1:]:
        yield "also", listed(suspect.facts[1:], 5)
    if suspect.mechanism:
        yield "why", _first_clause(" -> ".join(suspect.mechanism))
    if explains := _explains(suspect):
        yield "explains", explains
    yield from (("seen", _evidence(item)) for item in suspect.evidence)
    yield from (("against", _evidence(item)) for item in suspect.against)
    yield from _around(suspect)


def _first_clause(text: str) -> str:
    """Of a mechanism what comes first: `explain RULE` tells it all."""
    return _CLAUSE.split(text, maxsplit=1)[0].rstrip(".")


def _explains(suspect: Suspect) -> str:
    """How much of the change, and where to read how."""
    how = f" (fingerprint explain {suspect.rules[0]})" if suspect.rules else ""
    if suspect.explains:
        return f"{_range(suspect.explains.low, suspect.explains.high, suspect.explains.unit)}{how}"
    return f"unknown: {suspect.explains_why_not}{how}" if suspect.explains_why_not else ""


def _around(suspect: Suspect) -> Iterator[tuple[str, str]]:
    """What stands beside the case itself."""
    if suspect.beside:
        yield "equal", ", ".join(map(_beside, suspect.beside))
    if suspect.consequences:
        yield "with it", listed(suspect.consequences, WITH_IT - (len(suspect.consequences) > WITH_IT))
    if suspect.bracket:
        yield "when", f"between {suspect.bracket[0]} and {suspect.bracket[1]}"


def _evidence(evidence: Evidence) -> str:
    return evidence.says or f"{evidence.fact}: {before_after(evidence.a, evidence.b)}"


def _beside(beside: Beside) -> str:
    value, unit = beside.value, beside.unit
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{beside.fact} {quantity(value, unit) if is_number and unit else in_words(value, beside.fact)}"


def _range(low: float, high: float, unit: str) -> str:
    """Figures that are 0 or equal say less in words of their own."""
    if low == high:
        return quantity(high, unit) if high else "nothing of it"
    return f"{quantity(low, '')} to {quantity(high, unit)}" if low else f"at most {quantity(high, unit)}"
