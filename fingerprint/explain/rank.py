"""The order of the suspects: which changed state can have moved this number, by what leads from it to the number,
whether that was seen at work, and what speaks against it."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from fingerprint.diff.changes import Changes, Folded, Unsteady
from fingerprint.explain.binding import Bound, bound
from fingerprint.explain.bounds import Explained, by_path, explained
from fingerprint.explain.contract import Evidence, Likelihood, MetricChange
from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.observed import Observed
from fingerprint.explain.reach import MOVED, Reach, Target, reach, subject_of, target_of
from fingerprint.explain.signs import is_alone, shown
from probes.kit.facts import Gap, Redacted
from probes.kit.paths import Glob, parse_glob

MOST = 25  # confirmed incidents of one kind of state, of 273: a sample of incidents makes a weak prior
ELSE = 1
PRIOR = 0.4
BINDING, UNBOUND = 0.5, -0.3
CAUGHT_IN_THE_ACT = 0.45
GREW = 0.3
"""A counter of trouble that grew outranks a setting that differs."""
SHOWN = 0.25
"""Of what harms in more ways than one: less than a limit that was reached, which has but this one."""
ALONE = -0.1
"""What GPUs say to each other, where one was seen: it may still work with those of other hosts."""
LOST = 1.0
"""A device that went while the run ran leads before all else: whatever ran on it broke off."""
PRIVATE = -0.05
"""A variable that is kept in clear is known to steer something; of one that is private nobody knows."""
KIND = {"config": 0.02, "identity": 0.01}
AGAINST = -0.3
LEAST = 0.01


class Ranked(NamedTuple):
    """rules: by which it leads to the metric. reaches: False: by none. parts: what its score is made of."""

    change: Folded
    rules: tuple[Rule, ...]
    reaches: bool
    parts: Mapping[str, float]
    score: float
    likelihood: Likelihood
    evidence: tuple[Evidence, ...]
    against: tuple[Evidence, ...]
    explains: Explained

    @property
    def order(self) -> tuple[bool, float, str]:
        """What cannot reach the metric stands behind all that can, and never among them."""
        return not self.reaches, -self.score, self.change.text


def rank(
    changes: Changes, grown: Sequence[Folded], seen: Sequence[Observed], metrics: Sequence[MetricChange] = ()
) -> tuple[Ranked, ...]:
    """Undeclared changes that lead and are no context, and counters of trouble that are evidence of none of these; the
    most suspicious first."""
    metric = subject_of(metrics)
    about = _About(target_of(metric), metric, metrics, by_path(seen))
    suspects = [_ranked(change, about) for change in changes.changes if change.follows is None and change.first.leads]
    evidence = [parse_glob(evidence.fact) for suspect in suspects for evidence in suspect.evidence]
    suspects += [_ranked(one, about) for one in grown if one.follows is None and not _is_one_of(evidence, one)]
    return tuple(sorted(suspects, key=lambda one: one.order))


class _About(NamedTuple):
    """What suspects are held against."""

    target: Target | None
    metric: MetricChange | None
    metrics: Sequence[MetricChange]
    seen: Mapping[str, Observed]


def _is_one_of(evidence: Sequence[Glob], counter: Folded) -> bool:
    return all(any(glob.matches(change.path) for glob in evidence) for change in counter.changes)


def _ranked(change: Folded, about: _About) -> Ranked:
    way = reach(change, about.target, about.metrics)
    limits = bound(change, way.rules, about.seen)
    signs = shown(change, way.rules, about.seen)
    evidence, against = (*limits.evidence, *signs), (*limits.against, *way.against)
    every = {**_parts(change, way, limits), **_signs(limits, signs, is_alone(way.rules, about.seen))}
    parts = {name: part for name, part in every.items() if part}
    score = round(min(1.0, max(LEAST, sum(parts.values()))), 3)
    likelihood = _likelihood(way, evidence, against, about)
    most = explained(change, way.rules, about.metric, about.seen, _cap(way, about))
    return Ranked(change, way.rules, way.reaches, parts, score, likelihood, evidence, against, most)


def _likelihood(way: Reach, evidence: Sequence[Evidence], against: Sequence[Evidence], about: _About) -> Likelihood:
    """What was seen at work stays possible where all that speaks against it is a number that moved too, and by less: it
    can be a part of the change. One that stood still is none."""
    if not way.reaches:
        return "unlikely"
    if not against:
        return "likely" if evidence else "possible"
    moved = {metric.name for metric in about.metrics if metric.verdict in MOVED}
    return "possible" if evidence and all(one.fact in moved for one in against) else "unlikely"


def _signs(limits: Bound, signs: Sequence[Evidence], alone: bool) -> Mapping[str, float]:
    """A limit that was reached shows in the same counters: they count once."""
    return {"shows": SHOWN if signs and not limits.evidence else 0.0, "alone": ALONE if alone else 0.0}


def _parts(change: Folded, way: Reach, limits: Bound) -> Mapping[str, float]:
    """What a score is made of, by the words of the contract."""
    return {
        "prior": round(PRIOR * prior(way.rules) / MOST, 3),
        "kind": KIND.get(change.first.fact.kind, 0.0),
        "binds": BINDING if limits.evidence else UNBOUND if limits.against else 0.0,
        "private": PRIVATE if _is_private(change) else 0.0,
        "changed during the run": CAUGHT_IN_THE_ACT if change.first.verdict == "changed during the run" else 0.0,
        "grew": GREW if change.first.verdict == "grew" else 0.0,
        "lost": LOST if _was_lost(change) else 0.0,
        "against": AGAINST if way.against and way.reaches else 0.0,
    }


def prior(rules: Sequence[Rule]) -> int:
    """Confirmed incidents of this kind of state."""
    return min(MOST, max((rule.confirmed for rule in rules), default=0)) or ELSE


def _cap(way: Reach, about: _About) -> float:
    """No more than the least of what moved beside it, and should have moved as well."""
    names = {evidence.fact for evidence in way.against}
    ratios = [metric.ratio for metric in about.metrics if metric.name in names and metric.ratio]
    return min((max(ratio, 1 / ratio) for ratio in ratios), default=inf)


def _is_private(change: Folded) -> bool:
    return isinstance(change.first.before, Redacted) or isinstance(change.first.after, Redacted)


def _was_lost(change: Folded) -> bool:
    """Whether the device itself is what went, in one of the runs."""
    sides = (change.first.before, change.first.after)
    last = [side.last for side in sides if isinstance(side, Unsteady)]
    return change.first.pattern[-1:] == (None,) and any(isinstance(value, Gap) for value in last)
