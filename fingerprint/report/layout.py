"""The few shapes that the text report is made of: headings, hanging rows, folded lists."""

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from rich.console import Console, ConsoleRenderable
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fingerprint.words import clean

LABEL = "dim"
FACT = "bold"


def printed(parts: Iterable[ConsoleRenderable], *, width: int, color: bool) -> str:
    """The parts below each other, as text of `width` columns without white space at line ends."""
    out = StringIO()
    console = Console(
        file=out, width=width, force_terminal=color, color_system="standard" if color else None,
        no_color=not color, highlight=False, markup=False, emoji=False, legacy_windows=False, _environ={},
    )  # fmt: skip
    for part in parts:
        # A command is never broken into lines, so that it can be copied.
        console.print(part, soft_wrap=isinstance(part, Command))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().split("\n")[:-1])


class Command(Text):
    """A line that is kept whole, however long."""


def said(text: str, style: str = "") -> Text:
    """Words from outside, as one style and without anything that a terminal acts on."""
    return Text(clean(text), style)


def heading(title: str, aside: str = "", *, close: bool = False) -> Text:
    """close: to what stands above it."""
    line = Text.assemble("" if close else "\n", (title, "bold"))
    return line.append(f"  {clean(aside)}", LABEL) if aside else line


def indented(part: ConsoleRenderable | str, by: int = 2) -> Padding:
    return Padding(said(part) if isinstance(part, str) else part, (0, 0, 0, by))


def rows(items: Iterable[Sequence[Text | str]], *, indent: int, label: int = 0) -> Iterator[Padding]:
    """Columns with hanging lines, or nothing; `label` is the least width of the first."""
    lines = [[cell if isinstance(cell, Text) else said(cell) for cell in item] for item in items]
    if not lines:
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    for column in range(max(map(len, lines))):
        table.add_column(min_width=0 if column else label, overflow="fold")
    for line in lines:
        table.add_row(*line)
    yield Padding(table, (0, 0, 0, indent))
