"""The JSON contract of `timeline`: what its pictures and texts are made of, and nothing else.

Its schema is published (`fingerprint schema timeline`). Adding a field is safe; renaming or removing one needs a new
number in `schema`.
"""

from typing import Any, Literal

import msgspec

from fingerprint.metrics import Better
from fingerprint.store.events import EventKind

SCHEMA: Literal["fingerprint.timeline/1"] = "fingerprint.timeline/1"

Mark = Literal["", "a", "b"]


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the contract: every field is always written. Times are UTC, to the second."""


class Event(Contract, frozen=True):
    """One thing that happened. since, until: between which it did; equal where the moment is known.

    what     of a state its path, or the glob of several that changed alike; else a target (`sglang-30000`), or a class
             of kernel lines (xid, aer, link, oom, thermal, hung); may be empty
    was, is  of a state, as a diff writes values: {"gap": code}, {"redacted": true}
    count    how many facts `what` stands for
    says     one sentence, empty where `what`, `was` and `is` say all
    follows  what changed with it and because of it
    told_by  the service that noticed it, or the readings of runs and snapshots between which it must have happened
    runs     ids: of the service, of the run that it opened, cut or closed; else of those whose readings tell it
    """

    host: str
    kind: EventKind
    since: str
    until: str
    what: str
    was: Any
    is_: Any = msgspec.field(name="is")
    unit: str
    count: int
    says: str
    follows: tuple[str, ...]
    told_by: Literal["service", "readings"]
    runs: tuple[str, ...]


class Measured(Contract, frozen=True):
    """What a run measured. value: the median of its samples."""

    name: str
    unit: str
    better: Better
    value: float


class Run(Contract, frozen=True):
    """One attempt. ended: empty while it is open. how: it ended, in words. mark: which side it is of, if of one.

    by_service: the service opened it, of a server that ran. metrics: the benchmark's own first.
    """

    id: str
    name: str
    attempt: int
    host: str
    benchmark: str
    started: str
    ended: str
    how: str
    mark: Mark
    good: bool
    by_service: bool
    metrics: tuple[Measured, ...]


class Timeline(Contract, frozen=True):
    """`fingerprint timeline --format json`. says: all of it in one sentence. since, until: the time that was asked for.

    a, b: the names of the two sides, empty for none. events: in the order in which they were over. runs: as they
    started. notes: what is left out, and why.
    """

    schema: Literal["fingerprint.timeline/1"]
    says: str
    hosts: tuple[str, ...]
    since: str
    until: str
    a: str
    b: str
    events: tuple[Event, ...]
    runs: tuple[Run, ...]
    notes: tuple[str, ...]
