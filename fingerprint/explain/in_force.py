"""Which files a process cannot have as they are now: it read them when it started, and was not started again since.

Somebody edits a package, pulls a tree or writes /etc/nccl.conf beneath a server that runs on: the next run finds it,
and the server does not have it. What the kernel tells of a process itself (its limits, its CPUs, what it has mapped) is
always in force.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from typing import Any, NamedTuple

import msgspec

from fingerprint.diff.changes import Change, Changes, Folded, NotKnown
from fingerprint.diff.known import ProbeOf
from fingerprint.explain.subject import Subject
from fingerprint.runs.record import Attached
from fingerprint.sections import decoder_of, leaves
from fingerprint.snapshot import Key
from fingerprint.walk import Names, value_at
from probes.kit.facts import Gap, Section
from probes.kit.paths import parse_glob

READ_AT_START = (
    "libraries/**",
    "model/**",
    "nccl/*/files/**",
    "nccl/*/variables/*",
    "process/*/program/sha256",
    "process/*/git/**",
)
TELLING = ("libraries", "nccl", "process")
"""Areas that tell what was written since the process started."""
NOT_IN_FORCE = "not in force"
"""The part of the score."""
LESS = -0.3
RAN_ON = "the process started before it and was not started again: it has what it read then"
_AS_READ = "it was written after the process had started, which has what it read then"
RAN_BEFORE = f"in {{}} {_AS_READ}"
_BY_EXEC = ("program/path", "interpreter/path", "operands", "argv0")
"""What another program in the place of the first has otherwise: that has read its files itself."""
_GLOBS = tuple(map(parse_glob, READ_AT_START))


class AsRead(NamedTuple):
    """kept: targets whose process was the same one in both runs, and ran the same program. since: by run, of sections,
    what was written after their process had started."""

    kept: Set[str] = frozenset()
    since: Mapping[str, Mapping[Key, tuple[str, ...]]] = {}

    def why_not(self, change: Folded) -> str:
        """Why a process does not have this; empty where it may, or another of several does."""
        whys = [self._why_not(one) for one in change.changes]
        return whys[0] if all(whys) else ""

    def _why_not(self, change: Change) -> str:
        if change.key.target in self.kept and any(glob.matches(change.path) for glob in _GLOBS):
            return RAN_ON
        name, key = "/".join(change.names[:2]), change.key
        return next((RAN_BEFORE.format(run) for run, told in self.since.items() if name in told.get(key, ())), "")


NOTHING = AsRead()


def as_read(a: Subject, b: Subject, changes: Changes) -> AsRead:
    return AsRead(_kept(a, b, changes), {side.name: dict(_written_since(side)) for side in (a, b)})


def apart_from_unread(a: Subject, b: Subject, changes: Changes, known: ProbeOf) -> Changes:
    """What is equal on disk and was written after a process had started, which another has as it is now, is not known
    to be equal in both."""
    told = as_read(a, b, changes)
    changed = (one for folded in (*changes.changes, *changes.intended) for one in folded.changes)
    elsewhere = {(one.key, one.names) for one in changed} | {(one.key, one.names) for one in changes.not_known}
    found: dict[tuple[Key, Names], NotKnown] = {}
    for run, sections in told.since.items():
        for key, items in sections.items():
            for names in _seen_in(a, key, items, known) if key.target not in told.kept else ():
                if not any((key, names[:end]) in elsewhere for end in range(len(names) + 1)):
                    found.setdefault((key, names), NotKnown(key, names, "seen", "seen", says=RAN_BEFORE.format(run)))
    counted = Counter(key.area for key, _ in found)
    ruled_out = {area: count - counted[area] for area, count in changes.ruled_out.items()}
    return msgspec.structs.replace(changes, not_known=(*changes.not_known, *found.values()), ruled_out=ruled_out)


def _seen_in(side: Subject, key: Key, items: tuple[str, ...], known: ProbeOf) -> Iterator[Names]:
    """The facts of these items that have a value."""
    standing, probe = side.state.sections.get(key), known(key.area)
    if standing is None or standing.blob is None or probe is None:
        return
    try:
        section = decoder_of(probe.section)(standing.blob.body)
    except msgspec.ValidationError:  # of another release; what was compared says so
        return
    for names in (tuple(item.split("/")) for item in items):
        item = value_at(section, names)
        if isinstance(item, Section):
            yield from (leaf.names for leaf in leaves(item, names) if not isinstance(leaf.value, Gap))
        elif not isinstance(item, Gap):
            yield names


def left_open(changes: Changes) -> str:
    """What `Nothing changed` has to be followed by."""
    open_ = [str(one.key.path(one.names)) for one in changes.not_known if one.says.endswith(_AS_READ)]
    more = f" and {len(open_) - 1} more" if open_[1:] else ""
    return f"; not known of {open_[0]}{more}, written after a process had started" if open_ else ""


def _kept(a: Subject, b: Subject, changes: Changes) -> frozenset[str]:
    if not _same_servers(a, b):
        return frozenset()
    began = [dict(_began(side)) for side in (a, b)]
    replaced = {
        change.key.target
        for folded in changes.changes
        for change in folded.changes
        if change.key.area == "process" and "/".join(change.names) in _BY_EXEC
    }
    return frozenset(target for target, at in began[0].items() if began[1].get(target) == at) - replaced


def _same_servers(a: Subject, b: Subject) -> bool:
    """Whether both runs were attached to the same processes of one boot, whose other processes count from one clock."""
    return a.state.host == b.state.host and bool(_servers(a) & _servers(b))


def _servers(side: Subject) -> Set[tuple[str, Attached]]:
    opened = side.last.opened if side.last else None
    return {(opened.opener.boot_id, server) for server in opened.attached} if opened else set()


class _Volatile(msgspec.Struct, frozen=True):
    """Values, or gaps as they are stored."""

    started: Any = None
    written_since: Any = None


def _began(side: Subject) -> Iterator[tuple[str, int]]:
    """Of each process that was read, in ticks since boot."""
    for key, told in _told(side, ("process",)):
        if isinstance(told.started, int):
            yield key.target, told.started


def _written_since(side: Subject) -> Iterator[tuple[Key, tuple[str, ...]]]:
    for key, told in _told(side, TELLING):
        if isinstance(told.written_since, list):
            yield key, tuple(told.written_since)


def _told(side: Subject, areas: tuple[str, ...]) -> Iterator[tuple[Key, _Volatile]]:
    decoder = msgspec.json.Decoder(_Volatile)
    for key, standing in side.state.sections.items():
        if key.area in areas:
            yield key, decoder.decode(standing.volatile)
