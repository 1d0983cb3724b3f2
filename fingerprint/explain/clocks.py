"""Clocks that were lower while nothing held them: a processor that waits for work lowers its own."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from fingerprint.explain.contract import During, Suspect
from fingerprint.explain.mechanisms import rule
from fingerprint.explain.mechanisms.graph import Resource
from fingerprint.explain.observed import Observed, level
from fingerprint.runs.record import Distribution, Growth
from probes.kit.paths import parse_glob, parse_path

HELD = 0.05
"""Of the time, or of the samples under load, from which something holds a clock down: a moment of an event reason
belongs to each change of clocks."""
IDLE = "gpu_idle"
_SECOND = {"us": 1e6, "ms": 1e3}


class _Clock(NamedTuple):
    """held_by: what stands in the paths that tell whether something did: shares of samples, or a time."""

    facts: str
    resource: Resource
    whose: str
    held_by: str


CLOCKS = (
    _Clock("gpu/*/clocks/sm", "sm clock", "GPU", "/clocks_event_reasons"),
    _Clock("gpu/*/clocks/graphics", "sm clock", "GPU", "/clocks_event_reasons"),
    _Clock("gpu/*/clocks/mem", "memory clock", "GPU", "/clocks_event_reasons"),
    _Clock("cpu/frequency/*", "cpu clock", "CPU", "/throttle_time"),
)


def apart_from_waiting(
    during: Sequence[During], seen: Iterable[Observed], suspects: Iterable[Suspect]
) -> tuple[During, ...]:
    """Says of a lower clock that nothing held that it may be no cause at all; nothing where nobody saw what holds it.

    A suspect that moves the clock holds it, unless all that is known of that one speaks against it.
    """
    clocks = {item.fact: clock for item in during if (clock := _clock(item))}
    if not clocks:
        return tuple(during)
    sides, held = {o.path: o for o in seen}, {resource for suspect in suspects for resource in _moves(suspect)}
    free = {fact: clock for fact, clock in clocks.items() if clock.resource not in held}
    return tuple(_told(item, free[item.fact], sides) if item.fact in free else item for item in during)


def _clock(item: During) -> _Clock | None:
    path = parse_path(next(iter(item.values), item.fact))
    return next((clock for clock in CLOCKS if parse_glob(clock.facts).matches(path)), None)


def _moves(suspect: Suspect) -> Iterable[Resource]:
    counts = suspect.reaches and (suspect.evidence or suspect.likelihood != "unlikely")
    return [resource for name in suspect.rules for resource in rule(name).moves] if counts else ()


def _told(item: During, clock: _Clock, sides: Mapping[str, Observed]) -> During:
    paths = [*(item.values or (item.fact,))]
    in_b = level(sides[paths[0]].b) < level(sides[paths[0]].a)
    shares: dict[str, list[float]] = defaultdict(list)
    for o in sides.values():
        if clock.held_by in o.path and not o.path.endswith(IDLE):
            shares[_device(clock, o.path)].append(_share(o.b if in_b else o.a, o.unit))
    found = [shares[_device(clock, path)] for path in paths]
    if not all(found) or max(map(max, found)) >= HELD:
        return item
    waits = f"low in {'B' if in_b else 'A'}, possibly because the {clock.whose} waits: nothing held it"
    return replace(item, says=f"{item.says}; {waits}")


def _device(clock: _Clock, path: str) -> str:
    """Of CPUs one package that was held back holds them all."""
    return parse_path(path)[1] if clock.whose == "GPU" else ""


def _share(sample: Distribution | Growth, unit: str) -> float:
    return sample.mean if isinstance(sample, Distribution) else level(sample) / _SECOND.get(unit, 1.0)
