"""States that settle only in a condition, as a PCIe link that sleeps when idle. They stand in the volatile halves.

What counts is what was held while the condition was there: by the samples of the run, or by a reading under load. What
else was read tells what was there at rest, which is never a change.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fingerprint.diff.changes import Paired, Unsteady
from fingerprint.diff.known import is_waiting, waiting
from fingerprint.diff.pairing import device_depth, keys_of_b, under_key_of_a
from fingerprint.diff.verdicts import is_unknown
from fingerprint.lost import is_below
from fingerprint.places import pattern_of, place_of
from fingerprint.runs.effective import Holding, Standing
from fingerprint.runs.record import Distribution, Held, Uncounted
from fingerprint.sections import decoder_of, leaves
from fingerprint.walk import Difference, Names, within_tolerance
from probes.kit.facts import NOT_READ, Fact, Gap, Section

ENOUGH = 5
"""Samples that count, from which a run tells anything about a fact: a second of them, at its first pace."""
STEADY = 0.9
"""The share of those samples that held one value, from which it is what the run had."""


class State(NamedTuple):
    """What one side says of one state. settled: read, or held, while the condition was there."""

    value: Any
    settled: bool = False
    samples: Held | None = None
    counted: str = ""


NOTHING = State(NOT_READ)
TOO_FEW = Gap("not_read", "too few samples")
"""Stands, by identity, for what was sampled, but hardly ever while the condition was there."""


class Told(NamedTuple):
    """One state of both sides, and a sentence on how it was seen."""

    difference: Difference
    says: str = ""


class Settled(NamedTuple):
    """changed: both had settled, and differ. unsteady: it moved under load. unlike, alike: not both had settled, so
    neither counts. spread: by pattern, how many there are."""

    changed: tuple[Told, ...] = ()
    unsteady: tuple[Told, ...] = ()
    equal: tuple[Told, ...] = ()
    unlike: tuple[Told, ...] = ()
    alike: tuple[Told, ...] = ()
    unknown: tuple[Told, ...] = ()
    spread: Mapping[tuple[str | None, ...], int] = {}


def settled(
    a: Standing, b: Standing, cls: type[Section], pairing: Sequence[Paired] = (), told: Sequence[Names] = ()
) -> Settled:
    """pairing: which device of A is which of B; of one that the other side lacks nothing is said, nor of items that
    are told already."""
    if not waiting(cls):
        return Settled()
    at, keys = device_depth(cls), keys_of_b(pairing)
    left = _states(a, cls)
    right = {under_key_of_a(names, cls, keys): state for names, state in _states(b, cls).items()}
    alone = {(pair.a or keys.get(pair.b, pair.b),) for pair in pairing if not (pair.a and pair.b)}
    by_outcome: dict[str, list[Told]] = {}
    for names in dict.fromkeys((*left, *right)):
        place = place_of(cls, names)
        if place is None or names[at : at + 1] in alone or is_below(names, told):
            continue
        x, y = left.get(names, NOTHING), right.get(names, NOTHING)
        d = Difference(names, place.pattern, place.fact, x.value, y.value, place.item)
        by_outcome.setdefault(_outcome(d, x, y), []).append(Told(d, _says(x, y)))
    spread = Counter(pattern_of(cls, names) for names in {*left, *right})
    return Settled(spread=spread, **{outcome: tuple(found) for outcome, found in by_outcome.items()})


def _outcome(d: Difference, x: State, y: State) -> str:
    """The field of Settled that it belongs to."""
    if is_unknown(d):
        return "unknown"
    if isinstance(d.before, Unsteady) or isinstance(d.after, Unsteady):
        return "unsteady"
    same = d.before == d.after or within_tolerance(d.fact, d.before, d.after)
    if x.settled and y.settled:
        return "equal" if same else "changed"
    if isinstance(d.before, Gap) or isinstance(d.after, Gap):
        return "unknown"
    return "alike" if same else "unlike"


def _states(standing: Standing, cls: type[Section]) -> dict[Names, State]:
    found = {
        leaf.names: State(leaf.value, settled=standing.under_load)
        for leaf in leaves(decoder_of(cls)(standing.volatile), fields=waiting)
        if is_waiting(leaf.fact)
    }
    for names, held in standing.held.items():
        place = place_of(cls, names)
        if place is not None and place.fact.kind == "state":
            found[names] = _sampled(held, found.get(names, NOTHING), counted(place.fact, held))
    return found


def counted(fact: Fact, sample: Distribution | Held | Uncounted) -> str:
    """How many samples count, in words."""
    return f"{fact.settled} in {sample.count} of {sample.count + sample.left_out} samples"


def _sampled(held: Holding, read: State, counted: str) -> State:
    """What samples say; of too few, what was read besides."""
    if held.count < ENOUGH or not isinstance(held, Held):
        return read._replace(value=TOO_FEW if read.value == NOT_READ else read.value, counted=counted)
    first, times = held.values[0]
    if times >= STEADY * held.count:
        return State(_as_read(first), settled=True, counted=counted)
    unsteady = Unsteady(_as_read(first), _as_read(held.values[1][0]))
    return State(unsteady, settled=True, samples=held, counted=counted)


def _as_read(value: Any) -> Any:
    """A record has lists where a section has tuples."""
    return tuple(map(_as_read, value)) if isinstance(value, list) else value


def _says(x: State, y: State) -> str:
    """How often the condition was there on each side, and what an unsteady one held."""
    sides = [(name, state) for name, state in (("A", x), ("B", y)) if state.counted]
    return "; ".join(f"{name}: {_shares(state)}" for name, state in sides)


def _shares(state: State) -> str:
    if state.samples is None:
        return state.counted
    shares = (f"{value} in {100 * times / state.samples.count:.0f} %" for value, times in state.samples.values[:2])
    return f"{state.counted}, {', '.join(shares)} of these"
