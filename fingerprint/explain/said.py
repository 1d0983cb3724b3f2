"""What one run alone printed, of the messages that are known: evidence under the suspect whose rule they show, and told
by itself where there is none."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from fingerprint.diff.known import ProbeOf
from fingerprint.explain.contract import ChangedFact, Evidence, Suspect
from fingerprint.explain.mechanisms import rules
from fingerprint.explain.reach import Reach
from fingerprint.explain.subject import Subject
from fingerprint.runs.effective import resolve
from fingerprint.runs.record import BOTH_STREAMS, OUTPUT
from fingerprint.runs.run import Run
from fingerprint.said.alone import Said
from fingerprint.said.message import Message
from fingerprint.walk import matching, value_at
from probes.kit.facts import Gap
from probes.kit.paths import parse_glob, parse_path

Side = Literal["a", "b"]
AREA = "said"
KINDS = (OUTPUT, BOTH_STREAMS, "")
"""Of texts; empty: logs."""
_Attempts = Sequence[Mapping[str, int]]
"""Of each of which such a text was read: its messages, and how many lines said each."""


class Spoken(NamedTuple):
    """A message that one run said and the other did not.

    name: of the run. lines: of the attempt that said it most often. starts: how many attempts said it, of how many
    that were read. unheard: the other run, where nobody read what it said.
    """

    message: str
    side: Side
    name: str
    lines: int
    starts: tuple[int, int]
    unheard: str = ""


def spoken(a: Subject, b: Subject) -> tuple[Spoken, ...]:
    """Each kind of text, output or a log, is held against its own. What this release does not know is left out."""
    if not any(run.said for run in (*a.attempts, *b.attempts)):
        return ()
    told = [one for kind in KINDS for one in _alone(a, b, kind)]
    heard = {(one.side, one.message) for one in told if not one.unheard}
    kept = [one for one in told if not one.unheard or (one.side, one.message) not in heard]
    return tuple({(one.side, one.message): one for one in kept}.values())


def _alone(a: Subject, b: Subject, kind: str) -> Iterator[Spoken]:
    from fingerprint.said.catalogue import CATALOGUE

    x, y = _read(a, kind), _read(b, kind)
    both: tuple[tuple[Side, str, _Attempts, str, _Attempts], ...] = (
        ("a", a.name, x, b.name, y),
        ("b", b.name, y, a.name, x),
    )
    for side, name, own, other, theirs in both:
        common = {message for said in theirs for message in said}
        for message in dict.fromkeys(message for said in own for message in said):
            if message in CATALOGUE and message not in common:
                lines = [said[message] for said in own if message in said]
                yield Spoken(message, side, name, max(lines), (len(lines), len(own)), "" if theirs else other)


def _read(subject: Subject, kind: str) -> _Attempts:
    return [said for run in subject.attempts if (said := _said(run, kind)) is not None]


def _said(run: Run, kind: str) -> Mapping[str, int] | None:
    texts = [text for source, text in run.said.items() if (source if source in (OUTPUT, BOTH_STREAMS) else "") == kind]
    if not texts:
        return None
    found: dict[str, int] = {}
    for text in texts:
        for message, heard in text.messages.items():
            found[message] = found.get(message, 0) + heard.lines
    return found


class Shown(NamedTuple):
    """evidence: of a suspect. cause: whether one of the messages names it, and not only what ran out."""

    evidence: tuple[Evidence, ...] = ()
    cause: bool = False


UNSAID = Shown()


def shown_by(way: Reach, said: Sequence[Spoken], harmed: str) -> Shown:
    """Of a change that pushes the number as it went. harmed: the worse run; empty where that is not known: then
    either, and what one of them said tells of its state, and not what was worse for it."""
    if not said or way.against:
        return UNSAID
    wanted = {message for rule in way.rules for message in rule.told_by}
    heard = (one for one in said if not one.unheard and one.side == (harmed or one.side))
    found = [one for one in heard if one.message in wanted]
    return Shown(tuple(map(_evidence, found)), bool(harmed) and any(_known(one).names == "cause" for one in found))


def _known(one: Spoken) -> Message:
    from fingerprint.said.catalogue import CATALOGUE

    return CATALOGUE[one.message]


def _evidence(one: Spoken) -> Evidence:
    a, b = (one.lines, 0) if one.side == "a" else (0, one.lines)
    return Evidence(fact=_fact(one), a=a, b=b, says=_in_words(one))


def _fact(one: Spoken) -> str:
    return f"{AREA}/{one.message}"


def _in_words(one: Spoken) -> str:
    starts = f" in {one.starts[0]} of {one.starts[1]} starts" if one.starts[1] > 1 else ""
    lines = f"{one.lines} line{'s' * (one.lines > 1)}"
    alone = f", and what {one.unheard} said nobody read" if one.unheard else ""
    said = f"{one.name} said" if one.unheard else f"{one.name} alone said"
    return f"{said} {one.message} ({lines}{starts}){alone}: {_known(one).says}"


def told_of(
    sides: tuple[Subject, Subject],
    suspects: Sequence[Suspect],
    changes: Iterable[ChangedFact],
    known: ProbeOf,
) -> tuple[Said, ...]:
    """Each message that one run alone said: of which suspect it is evidence, or where what it points to stands."""
    ranks = {evidence.fact: suspect.rank for suspect in reversed(suspects) for evidence in suspect.evidence}
    where = _Where(tuple(change.fact for change in changes), sides, known)
    ordered = sorted(spoken(*sides), key=lambda one: (one.side, one.message))
    return tuple(_told(one, ranks.get(_fact(one)), where) for one in ordered)


def _told(one: Spoken, suspect: int | None, where: "_Where") -> Said:
    message = _known(one)
    facts = tuple(dict.fromkeys(glob for rule in rules() if one.message in rule.told_by for glob in rule.sees))
    more = "" if suspect else where.words(facts) if facts else message.unnamed
    return Said(
        side=one.side,
        message=one.message,
        names=message.names,
        lines=one.lines,
        starts=one.starts,
        heard=not one.unheard,
        facts=facts,
        suspect=suspect,
        says=". ".join(filter(None, (_in_words(one), more))),
        source=message.source,
    )


class _Where(NamedTuple):
    """Where what a message points to stands in both runs."""

    changed: tuple[str, ...]
    sides: tuple[Subject, Subject]
    known: ProbeOf

    def words(self, globs: Sequence[str]) -> str:
        """Of those that tell most: what changed, what was equal, what nobody read."""
        told = {glob: self._state(glob) for glob in globs}
        for state in ("changed", "equal in both", "read in one alone", "not read"):
            if among := [glob for glob in globs if told[glob] == state]:
                more = f" and {len(among) - 1} more" if among[1:] else ""
                return f"It points to {among[0]}{more}: {state}"
        return ""

    def _state(self, glob: str) -> str:
        seen = parse_glob(glob)
        if any(glob == text or ("*" not in text and seen.matches(parse_path(text))) for text in self.changed):
            return "changed"
        read = [self._is_read(side, glob) for side in self.sides]
        return "equal in both" if all(read) else "read in one alone" if any(read) else "not read"

    def _is_read(self, side: Subject, glob: str) -> bool:
        area, *parts = glob.split("/")
        probe = self.known(area)
        if probe is None or "**" in parts:
            return False
        below = parts if probe.of == "host" else parts[1:]
        for key, standing in side.state.sections.items():
            if key.area == area and standing.blob is not None:
                try:
                    section = resolve(standing, probe.section).section
                except (msgspec.ValidationError, ValueError):  # of another release
                    continue
                if any(not isinstance(value_at(section, names), Gap) for names in matching(section, below)):
                    return True
        return False
