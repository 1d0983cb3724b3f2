"""Counters that nobody sampled: what they grew by from the snapshot before a run to the one after it."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import msgspec

from fingerprint.runs.effective import Borders, Effective, Samples
from fingerprint.runs.record import Growth
from fingerprint.runs.sample import Counted
from fingerprint.sections import decoder_of, leaves
from fingerprint.walk import Names
from probes.kit.facts import Gap, Section

TypeOf = Callable[[str], "type[Section] | None"]
"""The section type of an area; None for an area that this release does not know."""


def grown_between(state: Effective, type_of: TypeOf) -> Samples:
    """By fact path. Where a counter was sampled the samples tell more, and it is not here.

    Nor is what a stored section holds that no longer fits its type: whoever compares the section says so.
    """
    found: dict[str, Growth] = {}
    for key, standing in state.sections.items():
        cls = type_of(key.area) if standing.borders is not None else None
        if cls is None or standing.borders is None:
            continue
        with suppress(msgspec.ValidationError):
            found.update({str(key.path(names)): growth for names, growth in _growth(standing.borders, cls)})
    return {path: growth for path, growth in found.items() if path not in state.samples}


def _growth(borders: Borders, cls: type[Section]) -> Iterator[tuple[Names, Growth]]:
    decode = decoder_of(cls)
    before = dict(_counters(decode(borders.before)))
    for names, last in _counters(decode(borders.after)):
        if names in before:
            counted = Counted()
            counted.add(before[names], 0)
            counted.add(last, round(borders.seconds * 1e9))
            yield names, counted.growth()


def _counters(section: Section) -> Iterator[tuple[Names, int]]:
    for leaf in leaves(section):
        if leaf.fact.kind == "counter" and not isinstance(leaf.value, (Gap, frozenset)):
            yield leaf.names, leaf.value
