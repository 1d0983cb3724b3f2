"""States that settle only under load, as a PCIe link that sleeps when idle. They stand in the volatile halves."""

from collections.abc import Iterator
from typing import NamedTuple

from fingerprint.diff.known import waits_to_settle
from fingerprint.diff.verdicts import is_unknown
from fingerprint.runs.effective import Standing
from fingerprint.sections import Leaf, decoder_of, leaves
from fingerprint.walk import Difference, Names
from probes.kit.facts import NOT_READ, Section


class Settled(NamedTuple):
    """changed: both were read under load, and differ. unlike, alike: not both were, so neither counts."""

    changed: tuple[Difference, ...] = ()
    equal: tuple[Difference, ...] = ()
    unlike: tuple[Difference, ...] = ()
    alike: tuple[Difference, ...] = ()
    unknown: tuple[Difference, ...] = ()


def settled(a: Standing, b: Standing, cls: type[Section]) -> Settled:
    if not waits_to_settle(cls):
        return Settled()
    told = list(_pairs(_states(a, cls), _states(b, cls)))
    known = [d for d in told if not is_unknown(d)]
    equal = tuple(d for d in known if d.before == d.after)
    differing = tuple(d for d in known if d.before != d.after)
    unknown = tuple(d for d in told if is_unknown(d))
    if a.under_load and b.under_load:
        return Settled(changed=differing, equal=equal, unknown=unknown)
    return Settled(unlike=differing, alike=equal, unknown=unknown)


def _states(standing: Standing, cls: type[Section]) -> dict[Names, Leaf]:
    found = leaves(decoder_of(cls)(standing.volatile))
    return {leaf.names: leaf for leaf in found if leaf.fact.kind == "state" and not leaf.fact.lasting}


def _pairs(a: dict[Names, Leaf], b: dict[Names, Leaf]) -> Iterator[Difference]:
    for names in dict.fromkeys((*a, *b)):
        x, y = (side[names].value if names in side else NOT_READ for side in (a, b))
        yield Difference(names, names, (a.get(names) or b[names]).fact, x, y)
