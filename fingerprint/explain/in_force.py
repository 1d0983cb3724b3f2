"""Which files a process cannot have as they are now: it read them when it started, and was not started again since.

Somebody edits a package, pulls a tree or writes /etc/nccl.conf beneath a server that runs on: the next run finds it,
and the server does not have it. What the kernel tells of a process itself (its limits, its CPUs, what it has mapped) is
always in force.
"""

from collections.abc import Iterator, Mapping, Set
from typing import Any

import msgspec

from fingerprint.diff.changes import Changes, Folded
from fingerprint.explain.subject import Subject
from fingerprint.runs.record import Attached
from fingerprint.snapshot import Key
from probes.kit.paths import parse_glob

READ_AT_START = (
    "libraries/**",
    "model/**",
    "nccl/*/files/**",
    "nccl/*/variables/*",
    "process/*/program/sha256",
    "process/*/git/**",
)
NOT_IN_FORCE = "not in force"
"""The part of the score."""
LESS = -0.3
WHY = "the process started before it and was not started again: it has what it read then"
_BY_EXEC = ("program/path", "interpreter/path", "operands", "argv0")
"""What another program in the place of the first has otherwise: that has read its files itself."""
_GLOBS = tuple(map(parse_glob, READ_AT_START))


def kept(a: Subject, b: Subject, changes: Changes) -> frozenset[str]:
    """Targets whose process is the same one in both runs, and runs the same program."""
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


class _Process(msgspec.Struct, frozen=True):
    """started: a number, or a gap as it is stored."""

    started: Any = None


def _began(side: Subject) -> Iterator[tuple[str, int]]:
    """Of each process that was read, in ticks since boot."""
    decoder = msgspec.json.Decoder(_Process)
    sections: Mapping[Key, Any] = side.state.sections
    for key, standing in sections.items():
        if key.area == "process" and standing.volatile:
            started = decoder.decode(standing.volatile).started
            if isinstance(started, int):
                yield key.target, started


def is_in_force(change: Folded, kept: Set[str]) -> bool:
    """kept: see `kept`."""
    return not all(one.key.target in kept and any(glob.matches(one.path) for glob in _GLOBS) for one in change.changes)
