"""Runs and snapshots of a store in their published forms: what the command line prints and the API answers."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from probes.kit.facts import Section
from probes.kit.probe import areas, discover

if TYPE_CHECKING:
    from fingerprint.snapshot import Snapshot
    from fingerprint.store import Found, FoundRun, RunRow


def types_of(wanted: Iterable[str]) -> Mapping[str, type[Section]]:
    """Section types by area, of those that this release knows."""
    return {area: probe.section for area, probe in discover(sorted(set(wanted) & set(areas()))).items()}


def of_snapshot(snapshot: "Snapshot") -> dict[str, Any]:
    from fingerprint.snapshot import document

    return document(snapshot, types_of(key.area for key in snapshot.readings))


def of_found(found: "Found") -> dict[str, Any]:
    """Of a snapshot, or of a run's last attempt."""
    from fingerprint.store import FoundSnapshot

    if isinstance(found, FoundSnapshot):
        return of_snapshot(found.store.snapshot(found.id))
    return of_run(found)


def of_run(found: "FoundRun") -> dict[str, Any]:
    from fingerprint.comparing import subject
    from fingerprint.findings import findings
    from fingerprint.runs.document import document
    from fingerprint.runs.opener import is_alive
    from fingerprint.runs.run import state_of
    from probes.kit.host import Host

    side = subject(found)
    run = side.attempts[-1]
    state = state_of(run.closed, is_alive(Host(), run.opened.opener))
    areas = {*(key.area for key in side.state.sections), *(path.partition("/")[0] for path in side.state.samples)}
    types = types_of(areas)
    return document(run, state, side.state, types, findings(side.state, types.get))


def of_row(row: "RunRow") -> dict[str, Any]:
    """A run as `runs` lists it."""
    from fingerprint.runs.document import whole
    from fingerprint.runs.opener import is_alive
    from fingerprint.runs.run import ended, state_of
    from probes.kit.host import Host

    plain = whole(row)
    plain["opener"], plain["closed"] = whole(row.opener), whole(row.closed) if row.closed else None
    state = state_of(row.closed, row.closed is None and is_alive(Host(), row.opener))
    return {**plain, "state": state, "ended": ended(row.closed, state)}
