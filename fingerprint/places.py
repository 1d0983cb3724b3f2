"""Where a value stands among the facts that a section type declares."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from fingerprint.sections import declared
from probes.kit.facts import Fact, Section

Names = tuple[str, ...]


@cache
def facts_of(cls: type[Section]) -> Mapping[tuple[str, ...], Fact]:
    """Facts by names; `*` stands for a collection's key."""
    return {names: fact for names, fact, _ in declared(cls)}


class Place(NamedTuple):
    """Where a fact stands among those of its kind: pattern and item as a Difference has them."""

    pattern: tuple[str | None, ...]
    fact: Fact
    item: str


def place_of(cls: type[Section], names: Names) -> Place | None:
    """None where this release declares no such fact."""
    pattern = pattern_of(cls, names)
    facts = facts_of(cls)
    fact = facts.get(_starred(pattern)) or facts.get(_starred(pattern[:-1]))
    keys = [name for name, part in zip(names, pattern, strict=True) if part is None]
    return Place(pattern, fact, keys[-1] if keys else "") if fact else None


def pattern_of(cls: type[Section], names: Names) -> tuple[str | None, ...]:
    """Names, with None for the keys of items that are sections."""
    collections = _collections(cls)
    pattern: tuple[str | None, ...] = ()
    starred: Names = ()
    for name in names:
        is_key = starred in collections
        pattern += (None if is_key else name,)
        starred += ("*" if is_key else name,)
    return pattern


@cache
def _collections(cls: type[Section]) -> frozenset[tuple[str, ...]]:
    """Those of sections, by names with `*` for keys."""
    return frozenset(names[:at] for names in facts_of(cls) for at, name in enumerate(names) if name == "*")


def _starred(pattern: tuple[str | None, ...]) -> tuple[str, ...]:
    return tuple("*" if name is None else name for name in pattern)
