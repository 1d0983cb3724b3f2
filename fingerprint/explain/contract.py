"""The JSON contract of `diff`: what reports and gates are made of, and nothing else.

Its schema is published (`fingerprint schema diff`). Adding a field is safe; renaming or removing one
needs a new number in `schema`.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from fingerprint.findings.finding import Finding
from fingerprint.metrics import Better
from fingerprint.said.alone import Said
from probes.kit.facts import Kind

SCHEMA: Literal["fingerprint.diff/1"] = "fingerprint.diff/1"
MOST_VALUES = 200
WAS_THERE = "seen"
"""What is told of a whole device or item, instead of all that it was."""
EVERY_RUN = ("wall_time", "cpu_time", "peak_memory", "exit_status")
"""Metrics of each run: they hold start-up and client as well, and are explained where a benchmark tells nothing."""

Likelihood = Literal["likely", "possible", "unlikely"]
MetricVerdict = Literal["worse", "better", "same", "changed", "unassessed"]
ChangeVerdict = Literal[
    "changed",
    "another part",
    "appeared",
    "vanished",
    "went dark",
    "came to light",
    "not comparable",
    "grew",
    "was reset",
    "changed during the run",
]


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the contract: every field is always written."""


class Attempt(Contract, frozen=True):
    """One start of a run. ended: as `closed` tells it, in words. epochs: name -> identity (boot id, ...)."""

    id: str
    attempt: int
    started: str
    ended: str
    epochs: Mapping[str, str]


class Side(Contract, frozen=True):
    """One of the two runs, or a single snapshot (then without attempts)."""

    name: str
    host: str
    command: str
    attempts: tuple[Attempt, ...]


class Comparable(Contract, frozen=True):
    """Whether it was the same experiment. None: not known."""

    same_host: bool | None
    same_gpus: bool | None
    same_workload: bool | None
    same_command: bool | None
    epochs_crossed: tuple[str, ...]
    says: str


class Pair(Contract, frozen=True):
    """Which host or device of A was compared with which of B; empty where there is none."""

    a: str
    b: str
    how: str


class Spread(Contract, frozen=True):
    """n: how many values it is the median of; a start counts no more for having more of them.

    each: those values in the order measured, to draw their distribution; of too many as many evenly spaced by rank.
    """

    median: float
    n: int
    each: tuple[float, ...]


class MetricChange(Contract, frozen=True):
    """ratio: b/a of the medians. ci: its 95 % interval where there is one. a or b None: not measured there.

    tail: a quantile far from the middle, judged by itself, `ttft p99`; odd where it moved, or may have, otherwise.
    """

    name: str
    unit: str
    better: Better
    a: Spread | None
    b: Spread | None
    ratio: float | None
    ci: tuple[float, float] | None
    verdict: MetricVerdict
    says: str
    tail: "MetricChange | None"
    tail_is_odd: bool


class Factor(Contract, frozen=True):
    """One cause of a change of throughput. a, b: what it was. times: by how much it alone multiplied throughput.

    share: of the whole change, all of those that are part of nothing adding up to 1; None where throughput stood still.
    part_of: empty, or `cycle`, whose share those of its parts add up to.
    """

    name: str
    part_of: str
    a: float
    b: float
    unit: str
    times: float
    share: float | None


class Residual(Contract, frozen=True):
    """What is left of a whole beside its measured parts. a or b None: not known there. says: empty of mere rounding."""

    whole: str
    parts: str
    a: float | None
    b: float | None
    unit: str
    says: str


class BreakEven(Contract, frozen=True):
    """From which accept length on speculation pays. side: `a`, `b`, or empty of a single run.

    baseline: throughput without speculation, tok/s; cycle: ms; baseline_is, cycle_is: from which metrics each is.
    measured: the accept length, where known; then throughput is what it gives at this cycle, and margin how far it is
    above the one needed, as a share of it.
    """

    side: str
    baseline: float
    baseline_is: str
    cycle: float
    cycle_is: str
    formula: str
    accept_length: float
    measured: float | None
    throughput: float | None
    margin: float | None
    says: str


class Contradiction(Contract, frozen=True):
    """Numbers of one side that cannot all be true. part: what can be at most `whole`. beyond: by which share it is more
    than that, both taken as far towards each other as they spread."""

    side: str
    metrics: tuple[str, ...]
    part: float
    whole: float
    unit: str
    beyond: float
    says: str


class Arithmetic(Contract, frozen=True):
    """What the metrics say of each other. identities: those that were used. says: all of it in sentences, first what
    matters most."""

    identities: tuple[str, ...]
    factors: tuple[Factor, ...]
    residuals: tuple[Residual, ...]
    break_even: tuple[BreakEven, ...]
    contradictions: tuple[Contradiction, ...]
    says: tuple[str, ...]


class Evidence(Contract, frozen=True):
    fact: str
    a: Any
    b: Any
    says: str


class Range(Contract, frozen=True):
    low: float
    high: float
    unit: str


class Beside(Contract, frozen=True):
    """A fact that decides together with a suspect, and was equal in both. fact: a path, or a glob of several that are
    all alike. says: why it decides."""

    fact: str
    value: Any
    unit: str
    says: str


class Suspect(Contract, frozen=True):
    """One changed state that can have moved the number.

    facts: paths or globs. on: how many of how many devices, or empty; which: their paths, where it is several and not
    all. score: 0..1, orders the suspects; parts: what it
    is made of. rules: mechanisms by which it leads to the number (`fingerprint explain RULE`); reaches: false where it
    is known to lead elsewhere only. explains: of the change, at most so much; null for the reason in explains_why_not.
    beside: what decides with it without having changed. consequences: facts whose change follows from this one.
    bracket: times between which it changed. bracket_by: who tells them: the two runs, or the service that noticed it.
    confirm: the cheapest experiment that tells whether it is the cause.
    """

    rank: int
    facts: tuple[str, ...]
    before: Any
    after: Any
    unit: str
    on: str
    which: tuple[str, ...]
    likelihood: Likelihood
    score: float
    parts: Mapping[str, float]
    rules: tuple[str, ...]
    reaches: bool
    explains: Range | None
    explains_why_not: str | None
    mechanism: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    against: tuple[Evidence, ...]
    beside: tuple[Beside, ...]
    consequences: tuple[str, ...]
    bracket: tuple[str, str] | None
    bracket_by: Literal["runs", "service"] | None
    check: str
    confirm: str
    restore: str | None


class OneSided(Contract, frozen=True):
    """What one run alone shows to be odd in its processes, and the other does not. suspect: rank of the one that it is
    about, among whose evidence it stands too; None: of none."""

    side: Literal["a", "b"]
    finding: Finding
    suspect: int | None


class ChangedFact(Contract, frozen=True):
    """before, after: the value, or {"gap": code}, {"redacted": true} or, where it changed while that run ran,
    {"during": [first, last]}. values: by path where devices differ; then before and after are null. which: as of a
    suspect. follows: the fact that it is a consequence of. suspect: rank of the suspect it belongs to. context: never a
    suspect.
    """

    fact: str
    kind: Kind
    verdict: ChangeVerdict
    before: Any
    after: Any
    unit: str
    on: str
    which: tuple[str, ...]
    values: Mapping[str, tuple[Any, Any]]
    follows: str | None
    suspect: int | None
    context: bool
    says: str


class Group(Contract, frozen=True):
    """Of one area. devices: how many of both were compared, 0 where it has none. themes: of which every fact that was
    seen at all was equal, by the words of a reader."""

    title: str
    facts: int
    devices: int
    themes: tuple[str, ...]
    says: str


class RuledOut(Contract, frozen=True):
    """count: facts seen equal in both. absent: paths that were looked for in both, and are there in neither."""

    count: int
    groups: tuple[Group, ...]
    absent: tuple[str, ...]


class Unknown(Contract, frozen=True):
    """What has no value on one side or both: a fact, a glob of several alike, or a section that failed whole.

    a, b: `seen`, the gap's code, the section's outcome, or `too few samples`. facts: how many the line stands for.
    rules: mechanisms that lead from it to the metric that moved; only of what could have been read.
    """

    fact: str
    a: str
    b: str
    facts: int
    rules: tuple[str, ...]
    says: str


class Blind(Contract, frozen=True):
    """What no probe can see and what can move such a metric, and where to look for it."""

    what: str
    look: str


class During(Contract, frozen=True):
    """What was observed while the runs ran: a distribution or growth on each side.

    on: how many of how many devices, or empty. values: by path where it is several; a and b are those of the one that
    differs most.
    """

    fact: str
    unit: str
    a: Any
    b: Any
    on: str
    values: Mapping[str, tuple[Any, Any]]
    says: str


class OwnNoise(Contract, frozen=True):
    """What `fingerprint noise` learned of the host of both. learned: when.

    left_out: facts that differ by no more than the host moves by itself, and are told nowhere else.
    """

    learned: str
    snapshots: int
    left_out: tuple[str, ...]
    says: str


class Neighbour(Contract, frozen=True):
    """A foreign program. a, b: CPUs that it took beside each run on average; None: not seen there."""

    program: str
    a: float | None
    b: float | None


class HeldUp(Contract, frozen=True):
    """What a run waited for, or others held. a, b: the share of its time, over all its processes or CPUs, or of a GPU's
    memory; of several starts that of the middle one; None: not known.

    by: who took the CPUs meanwhile, the most first; named only where the run itself waited for one.
    """

    fact: str
    a: float | None
    b: float | None
    by: tuple[Neighbour, ...]
    says: str


class Unexplained(Range, frozen=True):
    says: str


class Diff(Contract, frozen=True):
    """`fingerprint diff --format json`. headline: the answer in one sentence.

    own_noise: None where nothing was learned of a host that both share. arithmetic: None where metrics say nothing of
    each other. canary: both ends of each run together. blind: told where a metric moved and nothing likely was found.
    """

    schema: Literal["fingerprint.diff/1"]
    headline: str
    a: Side
    b: Side
    comparable: Comparable
    pairing: tuple[Pair, ...]
    metrics: tuple[MetricChange, ...]
    canary: tuple[MetricChange, ...]
    arithmetic: Arithmetic | None
    suspects: tuple[Suspect, ...]
    findings: tuple[OneSided, ...]
    said: tuple[Said, ...]
    held_up: tuple[HeldUp, ...]
    unexplained: Unexplained | None
    changes: tuple[ChangedFact, ...]
    during: tuple[During, ...]
    own_noise: OwnNoise | None
    intended: tuple[ChangedFact, ...]
    ruled_out: RuledOut
    not_known: tuple[Unknown, ...]
    blind: tuple[Blind, ...]
    next: tuple[str, ...]
