"""Who took the CPUs that a run waited for.

A program beside a run is named only where the run itself waited for a CPU, and only if all of them took enough of what
the run's own threads left to have been what it waited for. A busy neighbour of a run that slept did nothing to it.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from fingerprint.diff.known import ProbeOf
from fingerprint.explain.contract import Neighbour
from fingerprint.explain.subject import Subject
from fingerprint.explain.waiting import beside, cpus, used
from fingerprint.runs.effective import Effective, Samples, resolve
from fingerprint.snapshot import Key
from fingerprint.walk import value_at
from probes.kit.parse import cpu_list
from probes.kit.probe import MAIN

PART = 0.25
"""CPUs that all programs took at least, for each second that the run waited; and each one named, of what the first
took, or of one CPU where that is less: a large job on other CPUs hides nobody."""
NAMED = 3
"""Programs at most, of each run."""


class Start(NamedTuple):
    """One start of a side, and how many CPUs it might use; None where that is not known."""

    name: str
    samples: Samples
    may_use: float | None


def starts(subject: Subject, known: ProbeOf) -> tuple[Start, ...]:
    states = (*subject.earlier, subject.state)
    return tuple(Start(subject.name, state.samples, _may_use(state, known)) for state in states)


def _may_use(state: Effective, known: ProbeOf) -> float | None:
    """An affinity list may name CPUs that the host could have: it counts up to those that it has."""
    every = cpus(state.samples)
    standing, probe = state.sections.get(Key("process", MAIN)), known("process")
    if not every or standing is None or standing.blob is None or probe is None:
        return every
    try:
        affinity = value_at(resolve(standing, probe.section).section, ("affinity",))
    except msgspec.ValidationError:  # of another release; what was compared says so
        return every
    return min(len(cpu_list(affinity)), every) if isinstance(affinity, str) else every


def bystanders(sides: Sequence[Start], waits: Sequence[float], least: float) -> tuple[Neighbour, ...]:
    """The programs that took most, with what they took beside each of both. waits: shares of the time of each;
    those below `least` name nobody."""
    took = [beside(side.samples) for side in sides]
    named: dict[str, float] = {}
    for side, waited in zip(sides, waits, strict=True):
        if waited >= least:
            blamed = in_the_way(side, waited)
            named.update({name: max(share, named.get(name, 0)) for name, share in blamed.items()})
    return tuple(Neighbour(program=name, a=_took(took[0], name), b=_took(took[1], name)) for name in _ranked(named))


def in_the_way(at: Start, waited: float) -> Mapping[str, float]:
    """Those of weight among the programs beside it, and the CPUs that they took; nobody where all of them together
    took too little to have been what it waited for."""
    programs = beside(at.samples)
    if is_crowded_by_itself(at, waited) or sum(programs.values()) < _enough(waited):
        return {}
    most = min(1.0, max(programs.values(), default=0))
    return {name: programs[name] for name in _ranked(programs)[:NAMED] if programs[name] >= PART * most}


def _ranked(programs: Mapping[str, float]) -> list[str]:
    return sorted(programs, key=lambda name: (-programs[name], name))


def is_crowded_by_itself(at: Start, waited: float) -> bool:
    """Whether its own threads left too little of the CPUs that it might use for anybody else to have held it up."""
    own = used(at.samples)
    return own is not None and at.may_use is not None and at.may_use - own < _enough(waited)


def _enough(waited: float) -> float:
    return PART * min(1.0, waited)


def _took(programs: Mapping[str, float], name: str) -> float | None:
    return round(programs[name], 3) if name in programs else None
