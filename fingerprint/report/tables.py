"""Small tables of plain rows, for the verbs that list."""

from collections.abc import Sequence

from rich.table import Table

from fingerprint.report.layout import FACT, LABEL, printed, said

UNBROKEN = 100_000  # columns: a line that goes to another program is not broken


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None = None, color: bool = False
) -> str:
    """A header and a line a row, the first column standing out. Without `width`, as in a pipe, no line is broken."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in header:
        grid.add_column(overflow="fold")
    grid.add_row(*(said(title, LABEL) for title in header))
    for first, *others in rows:
        grid.add_row(said(first, FACT), *map(said, others))
    return printed([grid], width=width or UNBROKEN, color=color)
