"""The JSON contract of `gate`: what its reports are made of, and nothing else.

Its schema is published (`fingerprint schema gate`). Adding a field is safe; renaming or removing one needs a new
number in `schema`.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

SCHEMA: Literal["fingerprint.gate/1"] = "fingerprint.gate/1"

Outcome = Literal["pass", "fail", "cannot_tell"]
Origin = Literal["baseline", "policy", "nominal"]
Severity = Literal["fail", "warn"]
State = Literal[
    "ok",
    "failed",  # it is not as it should be, and its severity is `fail`
    "warned",  # it is not as it should be, and its severity is `warn`
    "unknown",  # it could not be read: `stops` tells whether the gate can pass all the same
    "waived",  # it failed or warned, and somebody answers for that until a date
    "out_of_scope",  # nothing here to check: it means something only under load, or this host has no such thing
]


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the contract: every field is always written."""


class Check(Contract, frozen=True):
    """One rule, and what was found.

    rule      its name: `power-limit`; of a policy the glob of its facts; of the baseline the fact
    source    where it stands: `FILE:LINE` of a policy, the name of the baseline, empty for what is nominal
    facts     paths that were looked at, or globs of those that are all alike; at least one
    expected  in words, `at least 600 W`
    found     a value, {"gap": code}, {"redacted": true}, or null where `values` has several
    values    by path, of those that are not as they should be and not all alike
    on        how many of how many devices are not as they should be, as `7/8`; empty where it is about one
    stops     whether the gate does not pass because of it
    reason    why it is asked for
    says      one sentence
    restore   a shell command that sets it right, empty where there is no single one
    waiver    index into `waivers` of the one that was used; null for none
    """

    rule: str
    origin: Origin
    source: str
    facts: tuple[str, ...]
    expected: str
    found: Any
    values: Mapping[str, Any]
    unit: str
    on: str
    severity: Severity
    state: State
    stops: bool
    reason: str
    says: str
    restore: str
    waiver: int | None


class Waiver(Contract, frozen=True):
    """Who answers for what is not as it should be. expires: a date, the last day on which it counts.

    source: `FILE:LINE`. used: how many checks it let pass. expired: it counts no more.
    """

    fact: str
    reason: str
    owner: str
    expires: str
    source: str
    used: int
    expired: bool


class Verdict(Contract, frozen=True):
    """`fingerprint gate --format json`. says: the answer in one sentence. baseline: its name, empty for none.

    taken_at: when the host was read, UTC. policies: the files, in order. waited_s: how long it waited for what settles
    by itself. checks: those that stop it first. notes: what is worth knowing and decides nothing.
    """

    schema: Literal["fingerprint.gate/1"]
    outcome: Outcome
    says: str
    host: str
    taken_at: str
    baseline: str
    policies: tuple[str, ...]
    waited_s: float
    checks: tuple[Check, ...]
    waivers: tuple[Waiver, ...]
    notes: tuple[str, ...]
