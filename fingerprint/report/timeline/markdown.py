"""A timeline as Markdown, for an issue or an incident's page."""

from collections.abc import Iterator

import msgspec

from fingerprint.report.markdown import cell, table, words
from fingerprint.report.timeline.told import Line, lines
from fingerprint.timeline.contract import Timeline


def render(timeline: Timeline) -> str:
    loaded = msgspec.json.decode(msgspec.json.encode(timeline), type=Timeline)
    return "\n\n".join(_blocks(loaded)) + "\n"


def _blocks(timeline: Timeline) -> Iterator[str]:
    yield f"### {words(timeline.says)}"
    sides = [f"{letter} {words(name)}" for letter, name in (("A", timeline.a), ("B", timeline.b)) if name]
    yield "; ".join((f"{timeline.since} until {timeline.until}", *sides))
    if told := lines(timeline):
        yield table(("Time", "", "", "What"), map(_row, told))
    yield from (words(f"{note}.") for note in timeline.notes)


def _row(line: Line) -> tuple[str, str, str, str]:
    what = cell(line.what) if line.what else ""
    said = " ".join(filter(None, (what, words(line.says), words(line.when))))
    return line.at, words(line.marks), words(line.term), f"{said}<br>{words(line.more)}" if line.more else said
