"""What this release knows of an area or a fact by its name."""

from collections.abc import Callable, Mapping
from functools import cache

from fingerprint.sections import declared
from probes.kit.facts import Fact, Section
from probes.kit.paths import FactPath
from probes.kit.probe import Probe, areas, discover

UNIT_FACTS = ("uuid", "serial", "guid", "wwid")
"""What makes the items of a collection devices: one of these tells the unit, the collection's key tells the slot."""

ProbeOf = Callable[[str], "Probe[Section] | None"]


@cache
def probe_of(area: str) -> Probe[Section] | None:
    """The probe of an area, imported when it is first asked for; None for an area of another release."""
    return discover([area])[area] if area in areas() else None


@cache
def facts_of(cls: type[Section]) -> Mapping[tuple[str, ...], Fact]:
    """Facts by names; `*` stands for a collection's key."""
    return {names: fact for names, fact, _ in declared(cls)}


@cache
def waits_to_settle(cls: type[Section]) -> bool:
    """Whether some state of this section may only be compared under load."""
    return any(fact.kind == "state" and not fact.lasting for fact in facts_of(cls).values())


@cache
def holds_devices(cls: type[Section]) -> bool:
    """Whether a collection of this section keys units by the slot that they sit in."""
    return any("*" in names and names[-1] in UNIT_FACTS for names in facts_of(cls))


def fact_at(path: FactPath, known: ProbeOf = probe_of) -> Fact | None:
    """The fact that a path leads to; None where this release declares none."""
    probe = known(path[0])
    if probe is None:
        return None
    names = path[1:] if probe.of == "host" else path[2:]
    facts = facts_of(probe.section)
    return next((fact for pattern, fact in facts.items() if _fits(names, pattern)), facts.get(tuple(names[:-1])))


def _fits(names: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    return len(names) == len(pattern) and all(p in ("*", n) for n, p in zip(names, pattern, strict=True))
