"""The sections of a run that findings look at, decoded when they are first asked for."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from fingerprint.runs.effective import Effective, Standing, resolve
from probes.kit.facts import Section

S = TypeVar("S", bound=Section)
SectionOf = Callable[[str], "type[Section] | None"]
"""The section type of an area; None of one that this release does not know."""


class State:
    """A run's effective state, by area and target."""

    def __init__(self, effective: Effective, section_of: SectionOf) -> None:
        self._effective = effective
        self._section_of = section_of
        self._read: dict[str, Mapping[str, Any]] = {}

    def sections(self, area: str, cls: type[S]) -> Mapping[str, S]:
        """By target, which is empty for the host; none where the area is of another type, as one made up may be."""
        if area not in self._read:
            self._read[area] = self._decoded(area, cls) if self._section_of(area) is cls else {}
        return self._read[area]

    def _decoded(self, area: str, cls: type[S]) -> Mapping[str, S]:
        standing = {key.target: it for key, it in self._effective.sections.items() if key.area == area}
        return {target: section for target, it in standing.items() if (section := _section(it, cls)) is not None}


def _section(standing: Standing, cls: type[S]) -> S | None:
    """None of what was not read, and of what another release stored otherwise."""
    if standing.blob is None:
        return None
    try:
        section = resolve(standing, cls).section
    except msgspec.ValidationError:
        return None
    return section if isinstance(section, cls) else None
