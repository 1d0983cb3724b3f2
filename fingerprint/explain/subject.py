"""One side of a diff, with all that is known of it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fingerprint.explain.contract import Attempt, Side
from fingerprint.runs.effective import Effective
from fingerprint.runs.run import Run
from fingerprint.words import moment


class Noticed(NamedTuple):
    """A change that somebody saw who watched the host. since, until: ns since 1970, between which it happened.

    value: what the fact was from then on, as the contract writes it.
    """

    path: str
    since: int
    until: int
    value: Any


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """One run, a series of its attempts, or a snapshot.

    name      as the user would ask for it
    state     of the last attempt
    attempts  in order; empty for a snapshot
    earlier   the states of the attempts before the last
    noticed   what changed on its host since the other side, in the order of time
    """

    name: str
    state: Effective
    attempts: tuple[Run, ...] = ()
    earlier: tuple[Effective, ...] = ()
    noticed: tuple[Noticed, ...] = ()

    @property
    def last(self) -> Run | None:
        return self.attempts[-1] if self.attempts else None

    @property
    def boots(self) -> frozenset[str]:
        return frozenset(boot for run in self.attempts if (boot := run.opened.opener.boot_id))


def of_host(subject: Subject) -> Subject:
    """Without what is about processes: a snapshot has no other side for it."""
    sections = {key: standing for key, standing in subject.state.sections.items() if not key.target}
    return replace(subject, state=replace(subject.state, sections=sections, samples={}))


def side_of(subject: Subject) -> Side:
    return Side(
        name=subject.name,
        host=subject.state.host,
        command=command_of(subject.last) if subject.last else "",
        attempts=tuple(_attempt(run) for run in subject.attempts),
    )


def command_of(run: Run) -> str:
    """As a shell would take it, what is private left out."""
    from shlex import quote

    return " ".join(quote(word) if isinstance(word, str) else "(private)" for word in run.opened.argv)


def _attempt(run: Run) -> Attempt:
    boot = run.opened.opener.boot_id
    epochs: Mapping[str, str] = {"boot": boot} if boot else {}
    number = run.opened.attempt
    return Attempt(id=run.id, attempt=number, started=moment(run.opened.at), ended=ended(run), epochs=epochs)


def ended(run: Run) -> str:
    """How the command ended, in words: equal where two runs ended alike."""
    return run.closed.in_words if run.closed else "still open or interrupted"


def was_imported(run: Run) -> bool:
    return run.closed is not None and run.closed.how == "imported"


def _may_be_well(run: Run) -> bool:
    return was_imported(run) or ended(run) in ("exited 0", "server ran on")


def unlike_ends(a: Subject, b: Subject) -> str:
    """How each ended, where they did not end alike. How what was measured and imported had ended is not known: it is
    held against nothing but a run that failed."""
    if a.last is None or b.last is None or ended(a.last) == ended(b.last):
        return ""
    if any(map(was_imported, (a.last, b.last))) and all(map(_may_be_well, (a.last, b.last))):
        return ""
    return f"{a.name} {ended(a.last)}, {b.name} {ended(b.last)}"
