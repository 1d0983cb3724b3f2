"""One snapshot, and which of its values a glob means."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from fingerprint.conditions import Conditions
from fingerprint.diff.known import ProbeOf, probe_of
from fingerprint.places import place_of
from fingerprint.sections import Leaf, is_one_collection, leaves
from fingerprint.snapshot import Key, Outcome, Reading
from probes.kit.facts import Fact, Gap, GapCode, Map, Redacted, Section
from probes.kit.paths import FactPath, parse_glob

Names = tuple[str, ...]

WHY: Mapping[Outcome, GapCode] = {"failed": "failed", "timed_out": "timed_out", "skipped": "not_read"}


class Value(NamedTuple):
    """One value, or the Gap that stands there; its path is that of a collection where the gap hides all below it.

    fact  None where the gap hides which facts there would be
    item  the innermost key of the path: a PCI address
    seen  a collection's is the tuple of its keys
    """

    key: Key
    names: Names
    fact: Fact | None
    seen: Any
    item: str = ""

    @property
    def path(self) -> FactPath:
        return self.key.path(self.names)

    @property
    def gap(self) -> Gap | None:
        return self.seen if isinstance(self.seen, Gap) else None


class Live:
    """What a host, and the process that asks, showed; sections are decoded when they are first asked for."""

    def __init__(self, readings: Mapping[Key, Reading], known: ProbeOf = probe_of) -> None:
        self._readings = readings
        self._known = known
        self._section = cache(self._decoded)
        self._conditions = cache(self._conditions_of)

    def values(self, glob: str) -> Iterator[Value]:
        """All that a glob leads to, in declared order; none where a collection holds no such item."""
        parts = glob.split("/")
        for key in self._readings:
            rest = _below(parts, key)
            for names, seen in self._values(key, rest) if rest is not None else ():
                yield self._value(key, names, seen)

    def at(self, path: FactPath) -> Any:
        """The value of one path; Gap `not_read` where it leads to none."""
        found = next(self.values(str(path)), None)
        return Gap("not_read") if found is None else found.seen

    def knows(self, area: str) -> bool:
        """Whether anything was asked about the area."""
        return any(key.area == area for key in self._readings)

    def settled(self, value: Value) -> bool:
        """Whether the condition held in which the fact means something."""
        if value.fact is None or value.fact.settled == "always":
            return True
        return self._conditions(value.key).hold_for(Leaf(value.names, value.fact, value.seen))

    def _values(self, key: Key, parts: Sequence[str]) -> Iterator[tuple[Names, Any]]:
        section = self._section(key)
        if isinstance(section, Gap):
            yield (), section
        elif "**" in parts:
            glob = parse_glob("/".join(parts))
            yield from ((leaf.names, _keys(leaf.value)) for leaf in self._leaves(key) if glob.matches(_path(leaf)))
        else:
            alone = is_one_collection(type(section))
            top = getattr(section, section.__struct_fields__[0]) if alone else section
            yield from _found(top, tuple(parts), ())

    def _value(self, key: Key, names: Names, seen: Any) -> Value:
        section = self._section(key)
        place = None if isinstance(section, Gap) else place_of(type(section), names)
        return Value(key, names, None, seen) if place is None else Value(key, names, place.fact, seen, place.item)

    def _leaves(self, key: Key) -> list[Leaf]:
        section = self._section(key)
        return [] if isinstance(section, Gap) else [*leaves(section)]

    def _conditions_of(self, key: Key) -> Conditions:
        return Conditions(self._leaves(key))

    def _decoded(self, key: Key) -> Section | Gap:
        reading, probe = self._readings[key], self._known(key.area)
        if reading.outcome != "ok":
            return Gap(WHY[reading.outcome], reading.detail)
        if probe is None:
            return Gap("not_read", "this release does not know the area")
        try:
            section = reading.section(probe.section)
        except msgspec.ValidationError as error:
            return Gap("failed", f"stored by another release: {error}")
        return Gap("not_read") if section is None else section


def _path(leaf: Leaf) -> FactPath:
    return FactPath(leaf.names)


def _below(parts: Sequence[str], key: Key) -> Sequence[str] | None:
    """What of a glob is left below a section; None where it does not lead there."""
    if parts[0] == "**":
        return parts
    if not parse_glob(parts[0]).matches(FactPath((key.area,))):
        return None
    if not key.target:
        return parts[1:]
    if parts[1:2] == ["**"]:
        return parts[1:]
    leads = len(parts) > 1 and parse_glob(parts[1]).matches(FactPath((key.target,)))
    return parts[2:] if leads else None


def _found(at: Any, parts: tuple[str, ...], names: Names) -> Iterator[tuple[Names, Any]]:
    """As walk.matching, with the gap that hides what is below it."""
    if isinstance(at, Gap):
        yield names, at
    elif isinstance(at, Map):
        if not parts:
            yield names, _keys(at)
        for key in (key for key in at.items if parts and _is(parts[0], key)):
            yield from _found(at.items[key], parts[1:], (*names, key))
    elif isinstance(at, Section):
        for field in (field for field in at.__struct_fields__ if parts and _is(parts[0], field)):
            yield from _found(getattr(at, field), parts[1:], (*names, field))
    elif not parts:
        yield names, at


def _is(part: str, name: str) -> bool:
    return part in ("*", name) or (("*" in part or "%" in part) and parse_glob(part).matches(FactPath((name,))))


def _keys(value: Any) -> Any:
    """Of a collection its keys, in an order that lasts."""
    if isinstance(value, Map):
        return tuple(value.items)
    return tuple(sorted(value)) if isinstance(value, frozenset) else value


def published(value: Any) -> Any:
    """As JSON."""
    if isinstance(value, Gap):
        return {"gap": value.code}
    if isinstance(value, Redacted):
        return {"redacted": True}
    return [published(it) for it in value] if isinstance(value, tuple) else value
