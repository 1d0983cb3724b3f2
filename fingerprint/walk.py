"""Two sections of one type, side by side.

Equal subtrees are passed over by msgspec's own comparison and never entered, so the cost is that of what differs.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from fingerprint.sections import is_one_collection
from probes.kit.facts import NOT_READ, Fact, Gap, Map, Redacted, Section
from probes.kit.paths import FactPath, parse_glob

S = TypeVar("S", bound=Section)

Names = tuple[str, ...]

MISSING = Gap("absent", "no such key")
"""Stands, by identity, for the item of a collection that lacks the key."""


class Difference(NamedTuple):
    """One value that is not the same, or one item that only one of two collections has.

    names    below area and target
    pattern  names, with None for the key of an item that is a section: the same fact on other devices has the same
    item     the innermost of the keys among names; empty where there is none
    """

    names: Names
    pattern: tuple[str | None, ...]
    fact: Fact
    before: Any
    after: Any
    item: str = ""


def two_keys(x: Any, y: Any) -> bool:
    """Whether the values differ in nothing but digests made under two redaction keys."""
    if isinstance(x, Redacted) and isinstance(y, Redacted):
        return x.key != y.key
    if not (isinstance(x, tuple) and isinstance(y, tuple)) or len(x) != len(y):
        return False
    return all(i == j or two_keys(i, j) for i, j in zip(x, y, strict=True))


def differences(a: S, b: S) -> Iterator[Difference]:
    """What differs, in declared order. Differences within a fact's tolerance are none; gaps are equal by code."""
    yield from _of_sections(a, b, _Place((), (), ""))


class _Place(NamedTuple):
    """Where a walk has come to."""

    names: Names
    pattern: tuple[str | None, ...]
    item: str

    def field(self, name: str) -> "_Place":
        return _Place((*self.names, name), (*self.pattern, name), self.item)

    def key(self, key: str, *, of_section: bool) -> "_Place":
        return _Place((*self.names, key), (*self.pattern, None if of_section else key), key)

    def differs(self, fact: Fact, before: Any, after: Any) -> Difference:
        return Difference(self.names, self.pattern, fact, before, after, self.item)


def _of_sections(a: Section, b: Section, place: _Place) -> Iterator[Difference]:
    alone = not place.names and is_one_collection(type(a))
    for field in a.__struct_fields__:
        x, y = getattr(a, field), getattr(b, field)
        if x is y or x == y:
            continue
        x, y = _collections(a.__facts__.get(field), x, y)
        at = place if alone else place.field(field)
        if isinstance(x, Section):
            yield from _of_sections(x, y, at)
        elif isinstance(x, Map) and isinstance(y, Map):
            yield from _of_items(a.__facts__[field], x, y, at)
        elif not within_tolerance(a.__facts__[field], x, y):
            yield at.differs(a.__facts__[field], x, y)


def _collections(fact: Fact | None, x: Any, y: Any) -> tuple[Any, Any]:
    """A collection of counts stands in a lasting half only where it holds what lasts: else it is empty there."""
    if fact is None or fact.kind != "counter":
        return x, y
    if isinstance(x, Map) and y == NOT_READ:
        return x, Map({})
    return (Map({}), y) if isinstance(y, Map) and x == NOT_READ else (x, y)


def _of_items(fact: Fact, a: Map[Any], b: Map[Any], place: _Place) -> Iterator[Difference]:
    for key in (*a.items, *(key for key in b.items if key not in a.items)):
        x, y = a.items.get(key, MISSING), b.items.get(key, MISSING)
        if x is y or (x == y and MISSING is not x and MISSING is not y):
            continue
        if isinstance(x, Section) and isinstance(y, Section):
            yield from _of_sections(x, y, place.key(key, of_section=True))
        elif not within_tolerance(fact, x, y):
            at = place.key(key, of_section=isinstance(x, Section) or isinstance(y, Section))
            yield at.differs(fact, x, y)


def within_tolerance(fact: Fact, x: Any, y: Any) -> bool:
    return bool(fact.tolerance) and isinstance(x, int) and isinstance(y, int) and abs(x - y) <= fact.tolerance


def overlaid(section: S, below: S) -> S:
    """`section` with the value of `below` wherever it has a gap; its collections keep their own keys."""
    changes = {f: _overlaid(getattr(section, f), getattr(below, f)) for f in section.__struct_fields__}
    return type(section)(**changes)


def _overlaid(value: Any, below: Any) -> Any:
    if isinstance(value, Section) and isinstance(below, Section):
        return overlaid(value, below)
    if isinstance(value, Map) and isinstance(below, Map):
        return Map({key: _overlaid(item, below.items.get(key, item)) for key, item in value.items.items()})
    return below if isinstance(value, Gap) and below is not NOT_READ else value


def explained(section: S, by: Section) -> S:
    """`section` with what the gaps of `by` say of why they are."""
    changes = {f: _explained(getattr(section, f), getattr(by, f)) for f in section.__struct_fields__}
    return type(section)(**changes)


def _explained(value: Any, by: Any) -> Any:
    if isinstance(value, Section) and isinstance(by, Section):
        return explained(value, by)
    if isinstance(value, Map) and isinstance(by, Map):
        return Map({key: _explained(item, by.items.get(key, item)) for key, item in value.items.items()})
    return by if isinstance(value, Gap) and isinstance(by, Gap) and value == by else value


def without(section: S, names: Sequence[Names]) -> S:
    """`section` as if nobody had looked at the values or items of these names."""
    fields = section.__struct_fields__
    if is_one_collection(type(section)):
        return type(section)(**{fields[0]: _without(getattr(section, fields[0]), names)})
    return _section_without(section, names)


def _section_without(section: S, names: Sequence[Names]) -> S:
    changes: dict[str, Any] = {}
    for field in section.__struct_fields__:
        below = [rest for first, *rest in names if first == field]
        value = getattr(section, field)
        changes[field] = _without(value, [tuple(rest) for rest in below]) if below else value
    return type(section)(**changes)


def _without(value: Any, names: Sequence[Names]) -> Any:
    if () in names:
        return NOT_READ
    if isinstance(value, Section):
        return _section_without(value, names)
    if not isinstance(value, Map):
        return value
    items = {key: _without(item, [n[1:] for n in names if n[0] == key]) for key, item in value.items.items()}
    return Map({key: item for key, item in items.items() if item is not NOT_READ or value.items[key] is NOT_READ})


def value_at(section: Section, names: Names) -> Any:
    """The value or item of these names; MISSING for a key that is not there, NOT_READ below a gap."""
    at: Any = section
    for name in (*section.__struct_fields__, *names) if is_one_collection(type(section)) else names:
        if isinstance(at, Section):
            at = getattr(at, name)
        elif isinstance(at, Map):
            at = at.items.get(name, MISSING)
        else:
            return at if at is MISSING else NOT_READ
    return at


def matching(section: Section, parts: Sequence[str]) -> Iterator[Names]:
    """Names of the values and items of a section that the parts of a glob lead to; `*` stands for any one name or a
    part of one."""
    alone = is_one_collection(type(section))
    yield from _matching(getattr(section, section.__struct_fields__[0]) if alone else section, parts)


def _matching(at: Any, parts: Sequence[str]) -> Iterator[Names]:
    if not parts:
        yield ()
    elif isinstance(at, Map):
        glob = parse_glob(parts[0])
        keys = [key for key in at.items if parts[0] == "*" or glob.matches(FactPath((key,)))]
        yield from ((key, *rest) for key in keys for rest in _matching(at.items[key], parts[1:]))
    elif isinstance(at, Section):
        fields = [field for field in at.__struct_fields__ if parts[0] in ("*", field)]
        yield from ((field, *rest) for field in fields for rest in _matching(getattr(at, field), parts[1:]))


def spread(section: Section, pattern: tuple[str | None, ...]) -> int:
    """How many values this section has at the places of a Difference's pattern."""
    whole = (*section.__struct_fields__, *pattern) if is_one_collection(type(section)) else pattern
    return _spread(section, whole)


def _spread(value: Any, pattern: tuple[str | None, ...]) -> int:
    if not pattern:
        return not isinstance(value, Gap)
    first, rest = pattern[0], pattern[1:]
    if isinstance(value, Section):
        return _spread(getattr(value, first or ""), rest)
    if not isinstance(value, Map):
        return 0
    items = value.items.values() if first is None else [value.items.get(first, MISSING)]
    return sum(_spread(item, rest) for item in items)
