"""A timeline for a person at a terminal: a vertical list, day by day."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec
from rich.console import ConsoleRenderable
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fingerprint.report.layout import FACT, LABEL, heading, printed, said
from fingerprint.report.timeline.times import clock, day, lasted, seconds
from fingerprint.report.timeline.told import Line, lines
from fingerprint.timeline.contract import Timeline
from fingerprint.words import clean

LONG_SECONDS = 3600
STYLES = {"boot": "bold yellow", "changed": "yellow", "run": "bold"}


def render(timeline: Timeline, *, width: int = 80, color: bool = False) -> str:
    loaded = msgspec.json.decode(msgspec.json.encode(timeline), type=Timeline)
    return printed(_parts(loaded), width=width, color=color)


def _parts(timeline: Timeline) -> Iterator[ConsoleRenderable]:
    yield said(timeline.says, "bold")
    yield said(f"{timeline.since} until {timeline.until}{_legend(timeline)}", LABEL)
    told = lines(timeline)
    terms = max((len(line.term) for line in told), default=0)
    last = ""
    for date, of_day in groupby(told, key=lambda line: day(line.at)):
        rows = list(of_day)
        yield heading(date, _later(last, rows[0].at))
        yield _grid(rows, terms, max(len(line.marks) for line in told))
        last = rows[-1].at
    if timeline.notes:
        yield Text()
    yield from (said(f"{note}.", LABEL) for note in timeline.notes)


def _legend(timeline: Timeline) -> str:
    sides = [f"{letter} {name}" for letter, name in (("A", timeline.a), ("B", timeline.b)) if name]
    return f"; {', '.join(sides)}" if sides else ""


def _later(last: str, at: str) -> str:
    """How much time lies in between; empty where it is not worth a word."""
    gap = seconds(at) - seconds(last) if last else 0
    return f"{lasted(gap)} later" if gap >= LONG_SECONDS else ""


def _grid(rows: Sequence[Line], terms: int, marks: int) -> Padding:
    table = Table.grid(padding=(0, 2, 0, 0))
    for least in (len("00:00:00"), marks, terms):
        table.add_column(min_width=least, no_wrap=True)
    table.add_column(overflow="fold")
    last = ""
    for line in rows:
        if later := _later(last, line.at):
            table.add_row("", "", "", Text(f"... {later}", LABEL))
        table.add_row(clock(line.at), said(line.marks), said(line.term, STYLES.get(line.term, "")), _words(line))
        last = line.at
    return Padding(table, (0, 0, 0, 2))


def _words(line: Line) -> Text:
    words = Text(clean(line.what), FACT)
    words.append(f"{'  ' * bool(line.what)}{clean(line.says)}", "not bold")
    if line.when:
        words.append(f"  {clean(line.when)}", f"not bold {LABEL}")
    if line.more:
        words.append(f"\n{clean(line.more)}", "not bold")
    return words
