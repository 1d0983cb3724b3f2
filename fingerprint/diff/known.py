"""What this release knows of an area or a fact by its name."""

from collections.abc import Callable
from functools import cache

from fingerprint.places import facts_of, place_of
from fingerprint.sections import sections_in
from fingerprint.snapshot import Key
from fingerprint.walk import Names
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
def waiting(cls: type[Section]) -> tuple[str, ...]:
    """The fields of this section that are, or hold, states that may only be compared under load."""
    own = {field for field, fact in cls.__facts__.items() if is_waiting(fact)}
    holders = {field for field, kind in sections_in(cls) if waiting(kind)}
    return tuple(field for field in cls.__struct_fields__ if field in own | holders)


def is_waiting(fact: Fact) -> bool:
    return fact.kind == "state" and not fact.lasting


@cache
def holds_devices(cls: type[Section]) -> bool:
    """Whether a collection of this section keys units by the slot that they sit in."""
    return any("*" in names and names[-1] in UNIT_FACTS for names in facts_of(cls))


def split(path: FactPath, known: ProbeOf = probe_of) -> tuple[Key, Names]:
    """The section that a path lies in, and the names below it; of an area that nobody knows, as of the host."""
    probe = known(path[0])
    if probe is None or probe.of == "host":
        return Key(path[0]), tuple(path[1:])
    return Key(path[0], "".join(path[1:2])), tuple(path[2:])


def fact_at(path: FactPath, known: ProbeOf = probe_of) -> Fact | None:
    """The fact that a path leads to; None where this release declares none."""
    probe = known(path[0])
    place = place_of(probe.section, split(path, known)[1]) if probe else None
    return place.fact if place else None
