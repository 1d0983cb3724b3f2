"""What is not known, and what to do about it."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from shlex import quote
from typing import NamedTuple

from msgspec.structs import replace

from fingerprint.diff.changes import Changes, NotKnown
from fingerprint.diff.folding import starred
from fingerprint.diff.known import ProbeOf
from fingerprint.explain.contract import Unknown
from fingerprint.explain.mechanisms import rules_below, rules_of
from fingerprint.explain.reach import Target, leads
from fingerprint.places import facts_of, pattern_of
from fingerprint.walk import Names

LEAST = 3
"""Facts of an item at least, and more than half of them, that are told as one."""

DOCTOR = "fingerprint doctor"
"""It reads the host once more; processes of a run it does not know."""

# Remedy by gap code or outcome; the first that either side has counts.
REMEDIES = {
    "denied": "read it as root",
    "timed_out": "the read was given up: raise budget_s, or look at what hangs",
    "failed": f"{DOCTOR} says what went wrong",
    "skipped": "the budget was spent before its turn: raise budget_s",
    "lost": "the device is gone: look at the kernel log",
    "settling": "take a snapshot a few minutes after boot",
    "asleep": "reading would have woken it: read it under load",
    "not_read": "one run did not look: its release or its settings had it not, or its command had ended",
    "not_observable": "no interface tells it",
    "retired": "this kernel or driver no longer reports it",
    "unsupported": "this part or kernel has no such value",
    "absent": "there on one side, and not to be read on the other",
}

READABLE = frozenset(("denied", "timed_out", "failed", "skipped", "settling", "asleep", "not_read"))


def not_known(
    changes: Changes, known: ProbeOf, target: Target | None = None, names: tuple[str, str] = ("A", "B")
) -> tuple[Unknown, ...]:
    """names: of the two sides.

    What leads to the number to be explained, then what could have been known first. Of an item most of which is unknown
    for one reason that is one line, as is what is unknown alike of several items."""
    order = list(REMEDIES)
    unknown = [u for u in changes.not_known if not in_neither(u)]
    found = sorted(unknown, key=lambda u: (order.index(_reason(u)), str(u.key), u.names))
    groups: dict[Hashable, list[_Line]] = defaultdict(list)
    for line in _lines(found, known):
        groups[line.likeness].append(line)
    told = [_told(group, target, names) for group in groups.values()]
    return tuple(sorted(told, key=lambda line: not line.rules))


def unread(changes: Changes) -> tuple[str, ...]:
    """Sections that were not read whole in both; one that is a collection alone may be there in neither."""
    found = (unknown for unknown in changes.not_known if not unknown.names and not in_neither(unknown))
    return tuple(str(unknown.key) for unknown in found)


def in_neither(unknown: NotKnown) -> bool:
    """That nothing is there is known on both sides."""
    return unknown.a == unknown.b == "absent"


def _reason(unknown: NotKnown) -> str:
    return next((code for code in REMEDIES if code in (unknown.a, unknown.b)), "not_read")


class _Line(NamedTuple):
    """A fact, or most facts of an item, whose names these are then. facts: how many."""

    of: NotKnown
    pattern: tuple[str | None, ...]
    facts: int = 1

    @property
    def likeness(self) -> Hashable:
        u = self.of
        return u.key.area, u.key.root, self.pattern, self.facts > 1, u.a, u.b, _says(u)


def _lines(found: Sequence[NotKnown], known: ProbeOf) -> Iterator[_Line]:
    """In the order of `found`, an item where its first fact stood."""
    items = _items(found, known)
    told = set()
    for u in found:
        item = _item_of(u, known)
        if not item or _alike(u, item) not in items:
            yield _Line(u, _pattern(u, known))
        elif _alike(u, item) not in told:
            told.add(_alike(u, item))
            yield _Line(replace(u, names=item), _pattern(u, known)[: len(item)], items[_alike(u, item)])


def _items(found: Sequence[NotKnown], known: ProbeOf) -> Mapping[Hashable, int]:
    """Items most of whose facts are unknown for one reason, and how many are."""
    alike: dict[Hashable, list[NotKnown]] = defaultdict(list)
    for u in found:
        if item := _item_of(u, known):
            alike[_alike(u, item)].append(u)
    many = {likeness: group for likeness, group in alike.items() if len(group) >= LEAST}
    return {likeness: len(group) for likeness, group in many.items() if 2 * len(group) > _size(group[0], known)}


def _alike(u: NotKnown, item: Names) -> Hashable:
    return u.key, item, u.a, u.b, u.says


def _pattern(u: NotKnown, known: ProbeOf) -> tuple[str | None, ...]:
    probe = known(u.key.area)
    return pattern_of(probe.section, u.names) if probe else u.names


def _item_of(u: NotKnown, known: ProbeOf) -> Names:
    """Names up to the outermost key; empty outside of collections, and for an item itself."""
    pattern = _pattern(u, known)
    end = pattern.index(None) + 1 if None in pattern else 0
    return u.names[:end] if end < len(u.names) else ()


def _size(u: NotKnown, known: ProbeOf) -> int:
    """How many facts of such an item as its one are compared, without those of items within."""
    probe, depth = known(u.key.area), len(_item_of(u, known))
    facts = facts_of(probe.section).items() if probe else ()
    pattern = tuple("*" if name is None else name for name in _pattern(u, known)[:depth])
    below = (f for names, f in facts if names[:depth] == pattern and "*" not in names[depth:])
    return sum(fact.lasting or fact.kind == "state" for fact in below)


def tells_why(fact: str, run: str, *, of_process: bool) -> str:
    """The command that tells what went wrong. fact: a path or a glob, or a whole section. run: in which it did."""
    if not of_process:
        return DOCTOR
    return f"fingerprint show {quote(run)}" + (f" --facts {quote(fact)}" if fact.count("/") > 1 else "")


def _told(group: Sequence[_Line], target: Target | None, names: tuple[str, str]) -> Unknown:
    first, facts = group[0], sum(line.facts for line in group)
    path = starred([line.of.key.path(line.of.names) for line in group])
    fact = f"{path}/**" if first.facts > 1 else path
    says = _says(first.of)
    if says == REMEDIES["failed"]:
        command = tells_why(fact, names[first.of.b == "failed"], of_process=bool(first.of.key.target))
        says = says.replace(DOCTOR, command)
    return Unknown(
        fact=fact,
        a=first.of.a,
        b=first.of.b,
        facts=facts,
        rules=_rules(first, target),
        says=says,
    )


def _rules(line: _Line, target: Target | None) -> tuple[str, ...]:
    """Names of the mechanisms that lead from it to the number to be explained; none of what nobody can read."""
    if target is None or _reason(line.of) not in READABLE:
        return ()
    path = line.of.key.path(line.of.names)
    of_itself = rules_of(path) if line.facts == 1 and line.of.names else ()
    return tuple(rule.name for rule in of_itself or rules_below(path) if leads(rule, target.phases))


def _says(unknown: NotKnown) -> str:
    """A fact's own detail names a file or an error; of a section it is all there is."""
    detail = unknown.detail if not unknown.names else ""
    return unknown.says or detail or REMEDIES[_reason(unknown)]
