"""What snapshots tell where nobody watched: it changed between two readings of a section, one after the other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from fingerprint.diff.changes import Change, Folded
from fingerprint.diff.compare import compare
from fingerprint.diff.known import ProbeOf
from fingerprint.explain.values import plain
from fingerprint.runs.effective import effective_of_snapshot
from fingerprint.sections import Blob
from fingerprint.snapshot import Key, Reading, Snapshot
from fingerprint.timeline.happening import Happening
from probes.kit.facts import Section

SECOND = 1_000_000_000
BOOT, LOADED, STARTED = ("kernel", "boot_id"), ("driver", "kernel_log", "driver_loaded_at"), ("container", "started")


class Look(NamedTuple):
    """A stored snapshot. at, until: ns since 1970, when it was taken, and until when nothing lasting changed. run,
    last_run: ids of those whose borders these are, empty for none."""

    snapshot: Snapshot
    at: int
    until: int
    run: str = ""
    last_run: str = ""


class _Stood(NamedTuple):
    """What stands of a section, and until when it was seen to."""

    reading: Reading
    until: int
    run: str


def of_the_host(looks: Iterable[Look], known: ProbeOf) -> Iterator[Happening]:
    """looks: of one host, in the order of time. What is about processes is left to `starts`."""
    stands: dict[Key, _Stood] = {}
    for look in looks:
        read = {key: it for key, it in look.snapshot.readings.items() if not key.target and it.lasting is not None}
        others = {key: it for key, it in read.items() if key in stands and _differ(stands[key].reading, it)}
        yield from _between({key: stands[key] for key in others}, others, look, known)
        stands |= {key: _Stood(it, look.until, look.last_run) for key, it in read.items()}


def _differ(one: Reading, other: Reading) -> bool:
    return _address(one.lasting) != _address(other.lasting)


def _address(blob: Blob | None) -> tuple[str, str]:
    return (blob.schema, blob.digest) if blob else ("", "")


def _between(
    stood: Mapping[Key, _Stood], read: Mapping[Key, Reading], look: Look, known: ProbeOf
) -> Iterator[Happening]:
    if not read:
        return
    before = replace(look.snapshot, readings={key: it.reading for key, it in stood.items()})
    after = replace(look.snapshot, readings=read)
    found = compare(effective_of_snapshot(before), effective_of_snapshot(after), known=known).changes
    epochs = {place_of(it.first) for it in found}
    for folded in found:
        last = stood[folded.first.key]
        told = Happening(
            host=look.snapshot.host,
            kind="state",
            since=last.until,
            until=look.at,
            runs=tuple(dict.fromkeys(filter(None, (last.run, look.run)))),
        )
        if place_of(folded.first) == BOOT:
            yield _boot(told, read[folded.first.key], known)
        elif place_of(folded.first) == LOADED and BOOT not in epochs:
            yield replace(told, kind="driver load", says="The driver was loaded again.")
        elif folded.first.leads and folded.follows is None:
            yield as_state(folded, told, found)


def place_of(change: Change) -> tuple[str, ...]:
    return change.key.area, *change.names


def as_state(folded: Folded, told: Happening, found: Sequence[Folded]) -> Happening:
    """found: all that changed then."""
    change = folded.first
    alike = all((it.before, it.after) == (change.before, change.after) for it in folded.changes)
    return replace(
        told,
        what=folded.text,
        was=plain(change.before) if alike else None,
        is_=plain(change.after) if alike else None,
        unit=change.fact.unit,
        paths=tuple(str(it.path) for it in folded.changes),
        says="" if alike else "Each to another value.",
        follows=tuple(it.text for it in found if it.follows == folded.text),
    )


def _boot(told: Happening, kernel: Reading, known: ProbeOf) -> Happening:
    """The kernel tells when it was, to the second."""
    probe = known("kernel")
    at = getattr(_section(kernel, probe.section), "boot_time", None) if probe else None
    when = at * SECOND if isinstance(at, int) else 0
    if not told.since <= when <= told.until:
        return replace(told, kind="boot", says="The host was started again.")
    return replace(told, kind="boot", since=when, until=when, says="The host was started again.")


def _section(reading: Reading, cls: type[Section]) -> Section | None:
    try:
        return reading.section(cls)
    except msgspec.ValidationError:  # stored by another release
        return None
