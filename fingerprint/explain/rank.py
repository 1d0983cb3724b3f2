"""A first, plain order of the suspects; nothing else decides it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fingerprint.diff.changes import Changes, Folded, Unsteady
from fingerprint.diff.folding import starred
from fingerprint.explain.contract import Evidence, Likelihood
from fingerprint.explain.observed import Observed, level
from probes.kit.facts import Gap, Redacted
from probes.kit.paths import FactPath, Glob, parse_glob, parse_path

# How often this kind of state was the confirmed cause (a verified fix or a maintainer's word) in 273 public
# incidents of GPU work. The first glob that matches counts; a sample of incidents makes a weak prior.
CONFIRMED = (
    ("libraries/**", 25),
    ("process/*/program/**", 25),
    ("process/*/interpreter/**", 25),
    ("process/*/git/**", 25),
    ("process/*/env/**", 22),
    ("nccl/**", 22),
    ("gpu/**", 17),
    ("pcie/**", 15),
    ("process/*/arguments", 15),
    ("numa/**", 8),
    ("memory/transparent_hugepage/**", 8),
    ("process/*/mems_allowed", 8),
    ("container/**", 7),
    ("cpu/**", 6),
    ("process/*/affinity", 6),
    ("process/*/nice", 6),
    ("driver/**", 5),
    ("network/**", 5),
    ("process/*/cgroup/**", 2),
    ("kernel/**", 2),
    ("memory/**", 2),
    ("storage/**", 1),
)
ELSE = 1
MOST = 25

HELD = "gpu/*/clocks_event_reasons_counters"
# A limit counts where it binds, and these counters tell whether it did; `*` is the device that was limited.
BINDS = (
    ("process/*/cgroup/cpu_max", ("usage/main/cgroup/nr_throttled", "usage/main/cgroup/throttled_usec")),
    (
        "process/*/cgroup/memory_max",
        ("usage/main/cgroup/memory_events/max", "usage/main/cgroup/memory_events/oom_kill"),
    ),
    ("process/*/cgroup/memory_high", ("usage/main/cgroup/memory_events/high",)),
    ("gpu/*/power_limit", (f"{HELD}/sw_power_cap",)),
    ("gpu/*/enforced_power_limit", (f"{HELD}/sw_power_cap", f"{HELD}/hw_power_brake_slowdown")),
)
GREW_WHERE = "grew where the limit is in force"
BINDING, CAUGHT_IN_THE_ACT, UNBOUND = 0.5, 0.45, -0.3
GREW = 0.3
"""A counter of trouble that grew outranks a setting that differs."""
LOST = 1.0
"""A device that went while the run ran leads before all else: whatever ran on it broke off."""
PRIVATE = -0.05
"""A variable that is kept in clear is known to steer something; of one that is private nobody knows."""
KIND = {"config": 0.02, "identity": 0.01}


class Ranked(NamedTuple):
    """score: 0..1, for the order only."""

    change: Folded
    score: float
    likelihood: Likelihood
    evidence: tuple[Evidence, ...]
    against: tuple[Evidence, ...]


def rank(changes: Changes, grown: Sequence[Folded], seen: Sequence[Observed]) -> tuple[Ranked, ...]:
    """Undeclared changes that lead and are no context, and counters of trouble that are evidence of none of these; the
    most suspicious first."""
    suspects = [_ranked(change, seen) for change in changes.changes if change.follows is None and change.first.leads]
    evidence = [parse_glob(evidence.fact) for suspect in suspects for evidence in suspect.evidence]
    suspects += [_ranked(one, seen) for one in grown if one.follows is None and not _is_one_of(evidence, one)]
    return tuple(sorted(suspects, key=lambda r: (-r.score, r.change.text)))


def _is_one_of(evidence: Sequence[Glob], counter: Folded) -> bool:
    return all(any(glob.matches(change.path) for glob in evidence) for change in counter.changes)


def _ranked(change: Folded, seen: Sequence[Observed]) -> Ranked:
    evidence, against = _bound(change, seen)
    score = 0.4 * prior(change) / MOST + KIND.get(change.first.fact.kind, 0)
    score += BINDING if evidence else UNBOUND if against else 0
    score += PRIVATE if _is_private(change) else 0
    score += CAUGHT_IN_THE_ACT if change.first.verdict == "changed during the run" else 0
    score += GREW if change.first.verdict == "grew" else 0
    score += LOST if _was_lost(change) else 0
    likelihood: Likelihood = "likely" if evidence else "unlikely" if against else "possible"
    return Ranked(change, round(min(1.0, max(0.01, score)), 3), likelihood, evidence, against)


def _is_private(change: Folded) -> bool:
    return isinstance(change.first.before, Redacted) or isinstance(change.first.after, Redacted)


def _was_lost(change: Folded) -> bool:
    """Whether the device itself is what went, in one of the runs."""
    sides = (change.first.before, change.first.after)
    last = [side.last for side in sides if isinstance(side, Unsteady)]
    return change.first.pattern[-1:] == (None,) and any(isinstance(value, Gap) for value in last)


def prior(change: Folded) -> int:
    """Confirmed incidents of this kind of state."""
    return next((count for glob, count in CONFIRMED if parse_glob(glob).matches(change.first.path)), ELSE)


def _bound(change: Folded, seen: Sequence[Observed]) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """Evidence that the limit was reached in one run more than in the other, or that it was reached in neither."""
    lines = tuple(line for paths in _counters(change) if (line := [o for o in seen if o.path in paths]))
    grew = tuple(_evidence(line, GREW_WHERE) for line in lines if any(map(_only_one_grew, line)))
    if grew or not lines or any(level(o.a) or level(o.b) for line in lines for o in line):
        return grew, ()
    return (), (_evidence(lines[0], "stood still in both runs: the limit was not reached"),)


def _counters(change: Folded) -> Iterator[frozenset[str]]:
    """Paths of each counter that tells whether these limits bind: a device's limit binds on that device."""
    for limit, counters in BINDS:
        if parse_glob(limit).matches(change.first.path):
            for counter in counters:
                yield frozenset(_on_item(counter, c.item) for c in change.changes)


def _on_item(glob: str, key: str) -> str:
    return str(FactPath(key if part == "*" else part for part in glob.split("/")))


def _only_one_grew(o: Observed) -> bool:
    low, high = sorted((level(o.a), level(o.b)))
    return high > 0 and high >= 2 * low


def _evidence(line: Sequence[Observed], says: str) -> Evidence:
    """Of one counter: of several devices that which grew most is told."""
    o = max(line, key=lambda o: max(level(o.a), level(o.b)))
    a, b = round(level(o.a), 3), round(level(o.b), 3)
    text = starred([parse_path(o.path) for o in line])
    most = f", most on {o.path}" if line[1:] else ""
    return Evidence(fact=text, a=a, b=b, says=f"{text} {says}: {_rate(a, b, o.unit)}{most}")


def _rate(a: float, b: float, unit: str) -> str:
    return f"{a / 1e4:.3g} -> {b / 1e4:.3g} % of the time" if unit == "us" else f"{a:g} -> {b:g} per second"
