"""Counters that nobody sampled: what they grew by from the snapshot before a run to the one after it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

import msgspec

from fingerprint.places import facts_of
from fingerprint.runs.effective import Borders, Effective, Samples
from fingerprint.runs.record import Growth
from fingerprint.runs.sample import Counted
from fingerprint.sections import decoder_of, leaves
from fingerprint.snapshot import Key
from fingerprint.walk import MISSING, Names, value_at
from probes.kit.facts import Gap, Section
from probes.kit.paths import parse_path

TypeOf = Callable[[str], "type[Section] | None"]
"""The section type of an area; None for an area that this release does not know."""


def grown_between(state: Effective, type_of: TypeOf, also: Iterable[str] = ()) -> Samples:
    """By fact path. Where a counter was sampled the samples tell more, and it is not here.

    Nor is a counter that wraps: how often it did so in between nobody knows.
    Nor is what a stored section holds that no longer fits its type: whoever compares the section says so.
    also: paths of another run, which are told here too where nothing was counted yet.
    """
    found: dict[str, Growth] = {}
    for key, standing in state.sections.items():
        cls = type_of(key.area) if standing.borders is not None else None
        if cls is None or standing.borders is None:
            continue
        wanted = [names for path in also if (names := _names_in(key, path))]
        with suppress(msgspec.ValidationError):
            found.update({str(key.path(names)): growth for names, growth in _growth(standing.borders, cls, wanted)})
    return {path: growth for path, growth in found.items() if path not in state.samples}


def _names_in(key: Key, path: str) -> Names:
    """Empty for a path of another section."""
    start, whole = key.path(()), parse_path(path)
    return tuple(whole[len(start) :]) if whole[: len(start)] == start else ()


def _growth(borders: Borders, cls: type[Section], wanted: Iterable[Names]) -> Iterator[tuple[Names, Growth]]:
    decode = decoder_of(cls)
    before, after = decode(borders.before), decode(borders.after)
    counts = dict(_counters(before)), dict(_counters(after))
    for names in dict.fromkeys((*counts[1], *wanted)):
        first, last = _count(before, counts[0], names), _count(after, counts[1], names)
        if first is not None and last is not None:
            counted = Counted()
            counted.add(first, 0)
            counted.add(last, round(borders.seconds * 1e9))
            yield names, counted.growth()


def _count(section: Section, counts: Mapping[Names, int], names: Names) -> int | None:
    """None where it was not seen. What is missing from a collection of counts was not counted yet."""
    if names in counts:
        return counts[names]
    collection = facts_of(type(section)).get(names[:1])
    is_of_counts = collection is not None and collection.kind == "counter"
    return 0 if is_of_counts and value_at(section, names) is MISSING else None


def _counters(section: Section) -> Iterator[tuple[Names, int]]:
    for leaf in leaves(section):
        counts = leaf.fact.kind == "counter" and not leaf.fact.wraps_at
        if counts and not isinstance(leaf.value, (Gap, frozenset)):
            yield leaf.names, leaf.value
