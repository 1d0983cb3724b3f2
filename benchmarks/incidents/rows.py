"""The incidents, in this project's own words: which facts changed, by what figures, and what else was seen."""

import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import msgspec

from fingerprint.metrics import Better

DATA = Path(__file__).with_name("data")
HELD_OUT: Mapping[int, str] = {
    1: "held_out.jsonl",
    2: "held_out_2.jsonl",
    3: "held_out_3.jsonl",
    4: "held_out_4.jsonl",
    5: "held_out_5.jsonl",
}
"""Sets, in the order in which they were written."""
Half = Literal["A", "B"]
STRONG = ("fix verified", "maintainer")
READABLE = ("host", "namespace")

CATEGORIES: Mapping[str, str] = {
    "local patches": r"libraries/[^/]+/(packages/[^/]+/(modified|record)|origins|hooks|customisations)(/|$)",
    "versions": r"libraries/|mapped/[^/]+/libraries(/|$)",
    "variables": r"process/[^/]+/env/|nccl/",
    "arguments": r"process/[^/]+/(flags/|operands$)",
    "containers": r"container/|process/[^/]+/(cgroup|seccomp|limits)(/|$)",
    "placement": r"process/[^/]+/affinity$|mapped/[^/]+/memory/|numa/",
    "GPUs": r"gpu/",
    "driver": r"driver/",
    "host": r"",
}
"""Of triggers, by what the first of their paths begins with."""

Pair = tuple[Any, Any]
"""Before and after. None: no such item, or `absent`."""
Facts = Mapping[str, Pair]
"""By path; `*` stands for every item of a collection, `#0` for its first."""


class Number(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """stand_in: the incident tells no figures, or but one; then before and after say in which direction it moved."""

    name: str
    unit: str
    before: float
    after: float
    better: Better
    stand_in: bool = False


class Seen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must be seen while the runs ran: telemetry as its level, a counter as its growth per second.

    ground: `reported` in the incident, or `physics`, what goes with the change whoever reports it
    """

    fact: str
    before: float
    after: float
    ground: Literal["reported", "physics"]


class Incident(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row.

    machine   that of `machines` which is most like the one of the incident
    program   the command that ran, of the kind that the source names, without the flags that changed
    trigger   the change that must rank first: any of its facts. Empty: no probe can see it
    also      what changed too and was not the cause; where both values are equal, what held on that machine
    decisive  facts that did not change, and without which the trigger would have done nothing
    null      the trigger was innocent
    said      known messages that the worse run printed: of those alone that the source itself quotes
    computes  with which framework, of a script that is of none of the engines; `nothing`: with the interpreter alone
    devices   that the program opened, on a machine without GPUs of NVIDIA; None where that is not told
    """

    id: str
    source: str
    confirmed_by: Literal["fix verified", "maintainer", "reporter", "plausible"]
    visibility: str
    machine: str
    program: tuple[str, ...]
    metric: Number
    trigger: Facts = {}
    also: Facts = {}
    seen: tuple[Seen, ...] = ()
    decisive: tuple[str, ...] = ()
    null: bool = False
    said: tuple[str, ...] = ()
    computes: Literal["torch", "jax", "tensorflow", "mxnet", "onnxruntime", "nothing"] = "torch"
    devices: tuple[str, ...] | None = None
    note: str = ""

    @property
    def is_strong(self) -> bool:
        """Whether the cause is known for sure, and can be read on the host or in the process."""
        return self.confirmed_by in STRONG and self.visibility in READABLE and not self.null

    @property
    def category(self) -> str:
        first = next(iter(self.trigger), "")
        return next(name for name, path in CATEGORIES.items() if re.match(path, first))


class Outside(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row whose key no probe declares, whose cause nobody confirmed, or that is not played yet. key: in the words of
    its collector."""

    id: str
    source: str
    key: str
    why: str


def half_of(row: str) -> Half:
    """By a digest of its id, whatever other rows there are: what is tuned on one half is checked on the other."""
    return "B" if sha256(row.encode()).digest()[0] & 1 else "A"


@cache
def incidents() -> tuple[Incident, ...]:
    return tuple(_lines("incidents.jsonl", Incident))


@cache
def held_out(number: int) -> tuple[Incident, ...]:
    """Rows of one set that nothing was tuned to. They lend their triggers to no row's drift: what is tuned must not
    know them, so that no call gets a set which it does not name."""
    return tuple(_lines(HELD_OUT[number], Incident))


@cache
def blind() -> tuple[Incident, ...]:
    """Rows whose cause nothing on the host tells: the client, inside the process, hidden, remote, another node."""
    return tuple(_lines("blind.jsonl", Incident))


@cache
def outside() -> tuple[Outside, ...]:
    return tuple(_lines("outside.jsonl", Outside))


def _lines(name: str, cls: type[Any]) -> list[Any]:
    return msgspec.json.Decoder(cls).decode_lines((DATA / name).read_bytes())
