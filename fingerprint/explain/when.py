"""When a fact changed: between the two runs, or more narrowly where somebody watched the host meanwhile."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from fingerprint.diff.changes import Change, Folded, Unsteady
from fingerprint.explain.subject import Noticed, Subject
from fingerprint.explain.values import plain


class Bracket(NamedTuple):
    """ns since 1970."""

    since: int
    until: int
    by: Literal["runs", "service"] = "runs"


def bracket(folded: Folded, a: Subject, b: Subject) -> Bracket | None:
    """Between which times it changed. None for runs that overlap, and for what a command was started with unless
    somebody saw it change."""
    between = _between_readings(folded.first, a, b)
    if between is None or folded.first.verdict == "grew":
        return between
    return _as_noticed(folded, between, a, b) or (None if _is_given(folded.first) else between)


def _between_readings(change: Change, a: Subject, b: Subject) -> Bracket | None:
    has_grown = change.verdict == "grew"
    if isinstance(change.after, Unsteady) or (has_grown and change.after):
        return Bracket(b.state.first, b.state.last)
    if isinstance(change.before, Unsteady) or has_grown:
        return Bracket(a.state.first, a.state.last)
    earlier, later = sorted((a.state, b.state), key=lambda state: state.first)
    if a.state.host != b.state.host or earlier.last > later.first:
        return None
    return Bracket(earlier.last, later.first)


def _is_given(change: Change) -> bool:
    """Whether it stood still from the start of a process on, as far as the runs tell."""
    return bool(change.key.target) and not any(isinstance(side, Unsteady) for side in (change.before, change.after))


def _as_noticed(folded: Folded, between: Bracket, a: Subject, b: Subject) -> Bracket | None:
    """Over all devices; None where of one of them it was not noticed."""
    is_forward = a.state.first <= b.state.first
    found = [_last(change, is_forward, between, (*a.noticed, *b.noticed)) for change in folded.changes]
    seen = [one for one in found if one is not None]
    if len(seen) < len(found):
        return None
    since, until = min(one.since for one in seen), max(one.until for one in seen)
    return Bracket(max(since, between.since), min(until, between.until), "service")


def _last(change: Change, is_forward: bool, between: Bracket, noticed: Iterable[Noticed]) -> Noticed | None:
    """The last change that was noticed between the readings, where it made the fact what the later run found.

    One that was noticed once the later run had begun may have come behind its reading.
    """
    value, path = plain(_later(change, is_forward)), str(change.path)
    within = [it for it in noticed if it.path == path and it.since <= between.until and it.until >= between.since]
    last = next((it for it in reversed(within) if it.until <= between.until or it.value == value), None)
    return last if last is not None and last.value == value else None


def _later(change: Change, is_forward: bool) -> Any:
    for side in (change.after, change.before):
        if isinstance(side, Unsteady):
            return side.last
    return change.after if is_forward else change.before
