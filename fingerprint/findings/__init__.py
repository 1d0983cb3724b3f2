"""Findings: what one run alone shows to be odd in the processes of its server and between its GPUs, without another to
compare it with."""

from collections.abc import Callable, Collection, Iterator, Mapping

from fingerprint.findings.finding import Finding
from fingerprint.findings.state import SectionOf, State
from fingerprint.runs.effective import Effective

__all__ = ["Finding", "SectionOf", "findings", "one_sided"]

OF_THE_HOST = frozenset({"gpu", "pcie"})
Look = Callable[[State], Iterator[Finding]]


def findings(effective: Effective, section_of: SectionOf) -> tuple[Finding, ...]:
    """Of the processes and environments that were read, and of GPUs."""
    return _of(effective, section_of, _read(effective))


def one_sided(a: Effective, b: Effective, section_of: SectionOf) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """What only A shows, and what only B does. An area whose sections are the same in both is not decoded."""
    x, y = _read(a), _read(b)
    areas = {area for area in x.keys() | y.keys() if x.get(area) != y.get(area)}
    found_a, found_b = (_of(side, section_of, areas & read.keys()) for side, read in ((a, x), (b, y)))
    return _without(found_a, found_b), _without(found_b, found_a)


def _read(effective: Effective) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """By area and target, what tells whether two sections are the same."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for key, standing in effective.sections.items():
        if key.target or key.area in OF_THE_HOST:
            found.setdefault(key.area, {})[key.target] = standing.parts
    return found


def _of(effective: Effective, section_of: SectionOf, areas: Collection[str]) -> tuple[Finding, ...]:
    state = State(effective, section_of)
    return tuple(finding for look in _looks(areas) for finding in look(state))


def _without(found: tuple[Finding, ...], others: tuple[Finding, ...]) -> tuple[Finding, ...]:
    shared = {finding.identity for finding in others}
    return tuple(finding for finding in found if finding.identity not in shared)


def _looks(read: Collection[str]) -> Iterator[Look]:
    """Those that have something to look at: what reads an area is imported for it alone."""
    if "process" in read:
        from fingerprint.findings import grants, variables

        yield variables.of_processes
        yield grants.of_processes
    if "mapped" in read:
        from fingerprint.findings import grants, libraries

        yield libraries.of_mapped
        yield grants.of_memory
    if "libraries" in read:
        from fingerprint.findings import libraries

        yield libraries.of_environments
    if "nccl" in read:
        from fingerprint.findings import collectives

        yield collectives.of_nccl
    if not OF_THE_HOST.isdisjoint(read):
        from fingerprint.findings import distances

        yield distances.of_buses
    if "storage" in read:
        from fingerprint.findings import places

        yield places.of_storage
    if "engine" in read:
        from fingerprint.findings import arguments

        yield arguments.of_engines
