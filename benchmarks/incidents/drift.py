"""What else changed between two runs: captures of machines on which nobody looked for a cause, and other incidents'
triggers, at least half of it with a way to the number of the row; and packages that came along."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import msgspec

from benchmarks.incidents.environments import VERSION, bumps, packages_in, packages_told
from benchmarks.incidents.machines import MACHINES
from benchmarks.incidents.pairs import Changed
from benchmarks.incidents.programs import OF_A_PROGRAM, OF_AN_INTERPRETER, is_interpreted, name_of
from benchmarks.incidents.putting import Place, Sections, places, value
from benchmarks.incidents.rows import DATA, Incident, Number, incidents
from benchmarks.incidents.sampling import facts_of_place
from benchmarks.incidents.surroundings import scene
from fingerprint.explain.mechanisms import phases_of, rules_of
from fingerprint.explain.phases import ANY, phases_of_metric
from probes.kit.paths import FactPath, parse_glob

CHANGES = 6
LEADING = 4
HALF = 0.5
OF_A_DRIVER = ("gpu/", "driver/", "kernel/modules/nvidia")
OF_ANOTHER_DRIVER = ("kernel/modules/amdgpu",)
"""Drift of machines that have one, and GPUs of its maker."""
_SERVERS = ("a100x8", "h100x8", "b200", "pro6000x4")
HAVE: Mapping[str, tuple[str, ...]] = {
    "numa/": _SERVERS,
    "driver/confidential_computing/": ("h100x8", "b200", "pro6000x4", "spark"),
    "gpu/*/virtualization/": (*_SERVERS, "spark", "l40s", "t4"),
}
"""Machines that have what drifts: several sockets, GPUs from Hopper on, GPUs that can be divided among guests."""
TOLD_BY: Mapping[str, tuple[str, ...]] = {
    "gpu/*/inferred/clock_lock": ("gpu/*/clocks",),
    "gpu/*/power_limit": ("gpu/*/power", "gpu/*/clocks_event_reasons"),
}
"""What is no drift of a row that tells what the GPUs did: another limit than it had would have shown there."""


def drift(incident: Incident, random: Random) -> tuple[Changed, ...]:
    """Some changes that have nothing to do with the row and can be told apart from what it is about."""
    there = [random.choice(alike) for alike in pool(incident.id)]
    there = [change for change in there if _fits(change, incident)]
    random.shuffle(there)
    apart = _apart(there, incident)
    leading = _leading(apart, incident.metric)
    others = [change for change in apart if not leads(change, incident.metric)]
    drifting = [*leading, *others][:CHANGES]
    chosen = list(_apart((*drifting, *_bumped(incident, random)), incident))
    while chosen and share_that_leads(chosen, incident) < HALF:
        chosen.remove(min(reversed(chosen), key=lambda change: share_that_leads([change], incident)))
    return tuple(chosen)


def _bumped(incident: Incident, random: Random) -> Iterator[Changed]:
    """Each by itself: one that was a cause moved its number whatever came along."""
    for bump in bumps(incident, bool(MACHINES[incident.machine].gpus), random):
        yield Changed(bump.origin, {VERSION.format(bump.package): bump.versions})


def _leading(changes: Sequence[Changed], metric: Number) -> list[Changed]:
    """At most half of them other rows' triggers, where captures offer enough: a pool of causes does not stand for what
    drifts by itself."""
    leading = [change for change in changes if leads(change, metric)]
    captured = [change for change in leading if not change.program]
    borrowed = [change for change in leading if change.program]
    taken = captured[: LEADING - min(len(borrowed), LEADING // 2)]
    return [*taken, *borrowed[: LEADING - len(taken)]]


@cache
def pool(apart_from: str) -> tuple[tuple[Changed, ...], ...]:
    """Those that share a fact together: neither how often one was a cause nor how many captures tell of it says how
    often it drifts. A counter of trouble that grew is no drift, but an event."""
    alike: list[list[Changed]] = []
    for change in (*_captured(), *_triggers(apart_from)):
        shared = [others for others in alike if any(change.facts.keys() & other.facts.keys() for other in others)]
        alike = [others for others in alike if others not in shared]
        alike.append([*(other for others in shared for other in others), change])
    return tuple(map(tuple, alike))


def _captured() -> Iterator[Changed]:
    for each in msgspec.json.Decoder(dict[str, Any]).decode_lines((DATA / "drift.jsonl").read_bytes()):
        yield Changed(each["from"], {path: tuple(pair) for path, pair in each["facts"].items()})


def _triggers(apart_from: str) -> Iterator[Changed]:
    for row in incidents():
        if row.id != apart_from and _is_state(row):
            yield Changed(row.id, row.trigger, row.program)


def _is_state(row: Incident) -> bool:
    sections = scene(row.machine, row.program)
    return all(facts_of_place(place).kind != "counter" for path in row.trigger for place in places(sections, path))


def _fits(change: Changed, incident: Incident) -> bool:
    """Whether this machine has it, and the row says nothing of these facts itself."""
    foreign = OF_ANOTHER_DRIVER if MACHINES[incident.machine].gpus else OF_A_DRIVER
    if any(path.startswith(foreign) for path in change.facts) or not _is_read(change, incident.program):
        return False
    if any(
        path.startswith(start) and incident.machine not in have for path in change.facts for start, have in HAVE.items()
    ):
        return False
    if packages_in(change.facts) & packages_told(incident):
        return False
    told = tuple(_anywhere(seen.fact for seen in incident.seen))
    if any(fact.startswith(TOLD_BY.get(path, ())) for path in _anywhere(change.facts) for fact in told):
        return False
    ours = {*incident.trigger, *incident.also, *(seen.fact for seen in incident.seen), *incident.decisive}
    there = all(_places(incident, path) for path in change.facts)
    return there and not _standing_for(change.facts, incident) & _standing_for(ours, incident)


def _anywhere(facts: Iterable[str]) -> Iterable[str]:
    return (path.replace("#0", "*").replace("#1", "*") for path in facts)


def _is_read(change: Changed, program: Sequence[str]) -> bool:
    """What was set for one program drifts on no other one, and what an interpreter is on none that is compiled."""
    if any(path.startswith(OF_A_PROGRAM) for path in change.facts):
        return not change.program or name_of(change.program) == name_of(program)
    return is_interpreted(program) or not any(path.startswith(OF_AN_INTERPRETER) for path in change.facts)


def _apart(changes: Iterable[Changed], incident: Incident) -> tuple[Changed, ...]:
    """No two of them about one fact."""
    kept: list[Changed] = []
    taken: set[Place] = set()
    for change in changes:
        theirs = _standing_for(change.facts, incident)
        if not theirs & taken:
            kept.append(change)
            taken |= theirs
    return tuple(kept)


def _standing_for(facts: Iterable[str], incident: Incident) -> set[Place]:
    return {place for path in facts for place in _places(incident, path)}


def _places(incident: Incident, path: str) -> tuple[Place, ...]:
    return _places_of(incident.machine, incident.program, path)


@cache
def _places_of(machine: str, program: tuple[str, ...], path: str) -> tuple[Place, ...]:
    """A package or a checkout that the environment has not drifts in it no more than a device that the machine has
    not."""
    sections = scene(machine, program)
    return tuple(place for place in places(sections, path) if _is_there(sections, place))


def _is_there(sections: Sections, place: Place) -> bool:
    return place.key.area != "libraries" or value(sections, Place(place.key, place.names[:2])) is not None


def leads(change: Changed, metric: Number) -> bool:
    return any(fact_leads(path, metric) for path in change.facts)


@cache
def fact_leads(path: str, metric: Number) -> bool:
    """Whether some mechanism leads from the fact to a phase of the number."""
    phases = phases_of_metric(metric.name, metric.unit)
    names = FactPath(path.replace("#0", "*").replace("#1", "*").split("/"))
    return any(phases == ANY or phases & phases_of(rule).keys() for rule in rules_of(names))


def share_that_leads(changes: Sequence[Changed], incident: Incident) -> float:
    """Of the facts of a drift that may be suspects at all."""
    facts = [path for change in changes for path in change.facts if not _is_context(path, incident)]
    return sum(fact_leads(path, incident.metric) for path in facts) / max(1, len(facts))


def _is_context(path: str, incident: Incident) -> bool:
    return all(facts_of_place(place).context for place in _places(incident, path))


def about(path: str, told: str) -> bool:
    """Whether what a suspect tells, a path or a glob, is about the facts that a row means."""
    ours, theirs = ("*" if part.startswith("#") else part for part in path.split("/")), told.split("/")
    pairs = list(zip(ours, theirs, strict=False))
    return len(pairs) == len(theirs) == len(path.split("/")) and all(_same(x, y) for x, y in pairs)


def _same(x: str, y: str) -> bool:
    return "*" in (x, y) or parse_glob(y).matches(FactPath((x,)))
