"""The host now against a run of before, for a person; made from the contract alone."""

from collections.abc import Iterator

from rich.console import ConsoleRenderable
from rich.text import Text

from fingerprint.explain.contract import ChangedFact, Diff
from fingerprint.report.layout import FACT, heading, indented, printed, rows, said
from fingerprint.words import before_after


def render(diff: Diff, *, good: bool, width: int = 80, color: bool = False) -> str:
    """What is not as it was, and how to go on. good: whether the run of before is marked so."""
    return printed(_parts(diff, good), width=width, color=color)


def _parts(diff: Diff, good: bool) -> Iterator[ConsoleRenderable]:
    which = "the last good run" if good else "the last run (none is marked good)"
    when = diff.a.attempts[-1].started if diff.a.attempts else ""
    yield said(f"{diff.b.host}, against {which}: {diff.a.name}, {when}", "bold")
    moved = [change for change in diff.changes if change.follows is None]
    if moved:
        yield heading("Not as it was")
        yield from rows([_change(change) for change in moved], indent=2)
    yield heading("As it was", f"{diff.ruled_out.count} facts")
    unread = sorted(
        {unknown.fact.partition("/")[0] for unknown in diff.not_known if "absent" not in (unknown.a, unknown.b)}
    )
    if unread:
        yield indented(f"Some of {', '.join(unread)} could not be read: fingerprint doctor")


def _change(change: ChangedFact) -> tuple[Text, str, str]:
    return said(change.fact, FACT), before_after(change.before, change.after, change.unit, change.fact), change.verdict
