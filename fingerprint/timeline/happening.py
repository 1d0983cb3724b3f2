"""What happened, before it is published: times are still numbers."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from fingerprint.diff.folding import starred
from fingerprint.diff.known import ProbeOf, fact_at, split
from fingerprint.places import pattern_of
from fingerprint.store.events import EventKind
from fingerprint.timeline.contract import Event
from fingerprint.words import moment
from probes.kit.paths import parse_glob, parse_path


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """As contract.Event tells it; since, until: ns since 1970. paths: of a state, all that changed alike."""

    host: str
    kind: EventKind
    since: int
    until: int
    what: str = ""
    was: Any = None
    is_: Any = None
    unit: str = ""
    paths: tuple[str, ...] = ()
    says: str = ""
    follows: tuple[str, ...] = ()
    told_by: Literal["service", "readings"] = "readings"
    runs: tuple[str, ...] = ()

    def published(self) -> Event:
        return Event(
            host=self.host,
            kind=self.kind,
            since=moment(self.since),
            until=moment(self.until),
            what=self.what,
            was=self.was,
            is_=self.is_,
            unit=self.unit,
            count=max(1, len(self.paths)),
            says=self.says,
            follows=self.follows,
            told_by=self.told_by,
            runs=self.runs,
        )


def alike_as_one(happenings: Iterable[Happening], known: ProbeOf) -> Iterator[Happening]:
    """States of many devices that changed alike, as far as was noticed at one time, are one."""
    groups: dict[Hashable, list[Happening]] = defaultdict(list)
    for at, it in enumerate(happenings):
        groups[_likeness(it, known) if it.kind == "state" else at].append(it)
    return (_as_one(group, known) for group in groups.values())


def _likeness(it: Happening, known: ProbeOf) -> Hashable:
    path = parse_path(it.what)
    key, names = split(path, known)
    probe = known(key.area)
    pattern = pattern_of(probe.section, names) if probe else names
    return it.host, it.since, it.until, key, pattern, repr(it.was), repr(it.is_)


def _as_one(group: Sequence[Happening], known: ProbeOf) -> Happening:
    first = group[0]
    if first.kind != "state":
        return first
    path = parse_path(first.what)
    fact = fact_at(path, known)
    what = starred([parse_path(it.what) for it in group])
    return replace(first, what=what, unit=fact.unit if fact else "", paths=tuple(it.what for it in group))


def under_leaders(happenings: Sequence[Happening], known: ProbeOf) -> Iterator[Happening]:
    """Of states that were noticed at one time, those that follow from another stand under it."""
    groups: dict[Hashable, list[Happening]] = defaultdict(list)
    for at, it in enumerate(happenings):
        groups[(it.host, it.since, it.until) if it.kind == "state" else at].append(it)
    for group in groups.values():
        leaders = [_leader(it, group, known) for it in group]
        for at, it in enumerate(group):
            if leaders[at] is None:
                led = tuple(other.what for other, leader in zip(group, leaders, strict=True) if leader is it)
                yield replace(it, follows=(*it.follows, *led))


def _leader(it: Happening, group: Sequence[Happening], known: ProbeOf) -> Happening | None:
    """What it follows from in the end; None where that is nothing else, or each from the other and it comes first."""
    chain = [it]
    while (above := _above(chain[-1], group, known)) is not None:
        if any(above is one for one in chain):
            first = next(one for one in group if any(one is link for link in chain))
            return None if first is it else first
        chain.append(above)
    return chain[-1] if chain[1:] else None


def _above(it: Happening, group: Sequence[Happening], known: ProbeOf) -> Happening | None:
    fact = fact_at(parse_path(it.paths[0]), known) if it.paths else None
    globs = [parse_glob(follows) for follows in fact.follows] if fact else []
    others = (one for one in group if one is not it)
    return next(
        (one for one in others if any(glob.matches(parse_path(path)) for path in one.paths for glob in globs)), None
    )
