"""A Snapshot: all sections of one host at one moment, each with its outcome and duration."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from fingerprint.sections import Blob, blob_of, join, loader_of, published, volatile_of
from probes.kit.facts import Section
from probes.kit.paths import FactPath
from probes.kit.probe import HOST, MAIN, Target

S = TypeVar("S", bound=Section)

NOTHING = msgspec.Raw(b"{}")

Outcome = Literal[
    "ok",
    "failed",  # the probe raised, or what it sent does not decode
    "timed_out",  # the probe outlived its budget; its reader was abandoned
    "skipped",  # not begun: the snapshot's own budget was spent, or it hung earlier in this run
]


class Key(NamedTuple):
    """Names a section: area, and target unless that is the host (then empty)."""

    area: str
    target: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in self if part)

    @property
    def root(self) -> str:
        """The target at the top of the tree: what a run starts, whatever the process itself is called."""
        return MAIN if self.target else ""

    @property
    def is_descendant(self) -> bool:
        """Whether it is about a process other than the one that a run starts."""
        return self.target not in ("", MAIN)

    @property
    def above(self) -> tuple[str, ...]:
        """The targets that it is below, or may be: what a run starts; of `sglang-30000.tp3` its server, too."""
        head, dot, _ = self.target.partition(".")
        return tuple(dict.fromkeys((MAIN, *([head] if dot else [])))) if self.is_descendant else ()

    def path(self, names: tuple[str, ...] = ()) -> FactPath:
        """The path of a fact of this section."""
        return FactPath((self.area, *([self.target] if self.target else []), *names))


class Job(NamedTuple):
    """One section to read: an area about a target."""

    area: str
    target: Target = HOST

    @property
    def key(self) -> Key:
        return Key(self.area, self.target.name)


class Reading(msgspec.Struct, frozen=True, omit_defaults=True):
    """One section as it was read, its halves undecoded.

    Without an `ok` outcome there is no section, and `detail` says why.
    """

    outcome: Outcome
    detail: str = ""
    duration_ms: float = 0
    lasting: Blob | None = None
    volatile: msgspec.Raw = NOTHING

    def section(self, cls: type[S]) -> S | None:
        """The whole section. Raises msgspec.ValidationError where an older file no longer fits."""
        if self.lasting is None:
            return None
        decode = loader_of(cls, self.lasting.schema)
        whole: S = join(decode(self.lasting.body), decode(self.volatile))
        return whole


def reading_of(section: Section, duration_ms: float = 0) -> Reading:
    """An `ok` Reading, split and digested."""
    return Reading("ok", "", duration_ms, blob_of(section), volatile_of(section))


class Provenance(msgspec.Struct, frozen=True):
    """Who took the snapshot, with what, and as whom: a plain user sees less than root."""

    fingerprint: str
    python: str
    uid: int
    redaction_key: str


class Snapshot(msgspec.Struct, frozen=True):
    """taken_at: ns since 1970. host: the host's stable name. readings: every section that was asked for."""

    id: str
    taken_at: int
    duration_ms: float
    host: str
    provenance: Provenance
    readings: Mapping[Key, Reading]


def document(snapshot: Snapshot, types: Mapping[str, type[Section]]) -> dict[str, Any]:
    """The published form, `fingerprint.snapshot/1`: every section whole, gaps included, in plain JSON values.

    types: area -> section type; a section of an area that is not in it says so instead of its facts.
    """
    return {
        "schema": "fingerprint.snapshot/1",
        "id": snapshot.id,
        "taken_at": snapshot.taken_at,
        "duration_ms": snapshot.duration_ms,
        "host": snapshot.host,
        "provenance": msgspec.to_builtins(snapshot.provenance),
        "sections": {str(key): _section_document(key, reading, types) for key, reading in snapshot.readings.items()},
    }


def _section_document(key: Key, reading: Reading, types: Mapping[str, type[Section]]) -> dict[str, Any]:
    said = {"outcome": reading.outcome, "detail": reading.detail, "duration_ms": reading.duration_ms}
    if key.area not in types:
        return {**said, "detail": f"this fingerprint has no area '{key.area}'", "facts": None}
    try:
        section = reading.section(types[key.area])
        return {**said, "facts": None if section is None else published(section)}
    except msgspec.ValidationError as error:
        return {**said, "detail": f"stored by another release: {error}", "facts": None}
