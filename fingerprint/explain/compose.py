"""Composes the answers: two subjects and the history of their benchmark -> the contract."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from fingerprint.diff.changes import SEEN_TO_CHANGE, Changes, Folded
from fingerprint.diff.compare import compare
from fingerprint.diff.known import ProbeOf, fact_at, probe_of
from fingerprint.explain.answer import foreword, headline, next_steps, unchanged
from fingerprint.explain.contract import SCHEMA, ChangedFact, Diff, MetricChange, OwnNoise, Pair, Suspect
from fingerprint.explain.held_up import held_up, then_next, told_first
from fingerprint.explain.metrics import metric_changes
from fingerprint.explain.observed import Observed, level, notable, observed, reset
from fingerprint.explain.own_noise import Told, apart_from_noise, aside, own_noise, shared
from fingerprint.explain.rank import TROUBLE, Ranked, rank
from fingerprint.explain.sameness import comparable
from fingerprint.explain.series import held_against
from fingerprint.explain.subject import Subject, of_host, side_of
from fingerprint.explain.suspects import changed_fact, suspect_of
from fingerprint.explain.unknown import not_known, ruled_out, unread
from fingerprint.noise import Learned
from fingerprint.runs.run import Run
from probes.kit.paths import parse_path

ExitOn = Literal["any", "facts", "metrics", "nothing"]


def explain(
    a: Subject,
    b: Subject,
    history: Iterable[Run] = (),
    *,
    metric: str | None = None,
    waivers: Iterable[str] = (),
    known: ProbeOf = probe_of,
    noise: Learned | None = None,
) -> Diff:
    """`history`: runs of the same benchmark, from which a spread is known. `metric`: look at this one alone.

    `noise`: what was learned of a host; of another one than that of both sides it says nothing.
    """
    if a.last is None or b.last is None:
        a, b = of_host(a), of_host(b)
    seen = observed(a.state.samples, b.state.samples, known)
    noise = shared(noise, a, b)
    apart = apart_from_noise(compare(a.state, b.state, waivers=waivers, known=known), notable(seen), seen, noise)
    return _answers(a, b, seen, apart, metric_changes(a, b, history, metric), own_noise(noise, apart), known)


def _answers(
    a: Subject,
    b: Subject,
    seen: tuple[Observed, ...],
    apart: Told,
    metrics: tuple[MetricChange, ...],
    own: OwnNoise | None,
    known: ProbeOf,
) -> Diff:
    """What the Diff says in one field by what it says in the others."""
    changes = apart.changes
    suspects = _suspects(changes, held_against(rank(changes, seen), a, b, known), a, b)
    ranks = {suspect.facts[0]: suspect.rank for suspect in suspects}
    told = (*(changed_fact(folded, ranks) for folded in changes.changes), *_counters(a, b, seen, known))
    same = comparable(a, b, changes)
    held = held_up(a, b, known)
    ruled, unknown = ruled_out(changes), not_known(changes)
    intended = tuple(changed_fact(folded, {}) for folded in changes.intended)
    otherwise = unchanged(ruled.count, unread(changes), intended) + aside(apart)
    return Diff(
        schema=SCHEMA,
        headline=headline(foreword(a, b, same, metrics), metrics, suspects, told, otherwise, told_first(held)),
        a=side_of(a),
        b=side_of(b),
        comparable=same,
        pairing=tuple(Pair(a=pair.a, b=pair.b, how=pair.how) for pair in changes.pairing),
        metrics=metrics,
        suspects=suspects,
        held_up=tuple(each.line for each in held),
        unexplained=None,
        changes=tuple(sorted(told, key=_order)),
        during=apart.during,
        own_noise=own,
        intended=intended,
        ruled_out=ruled,
        not_known=unknown,
        next=then_next(held, next_steps(a, b, metrics, suspects, told, unknown), suspects),
    )


def _suspects(changes: Changes, ranked: Sequence[Ranked], a: Subject, b: Subject) -> tuple[Suspect, ...]:
    followers = _followers(changes.changes)
    return tuple(suspect_of(at, r, followers.get(r.change.text, ()), a, b) for at, r in enumerate(ranked, start=1))


def _followers(changes: Iterable[Folded]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for folded in changes:
        if folded.follows is not None:
            found[folded.follows].append(folded.text)
    return found


def _order(change: ChangedFact) -> tuple[bool, int, bool, str]:
    """What changed during a run is said first, then by suspect, its consequences behind it; context last."""
    return change.context, change.suspect or len(change.fact) + 10_000, change.follows is not None, change.fact


def _counters(a: Subject, b: Subject, seen: Iterable[Observed], known: ProbeOf) -> Iterable[ChangedFact]:
    """Counters of trouble that stood still in one run only, and counters that fell."""
    for o in seen:
        if o.path in TROUBLE and bool(level(o.a)) != bool(level(o.b)):
            yield _counter(o.path, "grew", (round(level(o.a), 3), round(level(o.b), 3)), f"{o.unit or 'count'}/s")
    for path in reset(a.state.samples, b.state.samples):
        fact = fact_at(parse_path(path), known)
        yield _counter(path, "was reset", (None, None), fact.unit if fact else "")


def _counter(
    path: str, verdict: Literal["grew", "was reset"], sides: tuple[float | None, float | None], unit: str
) -> ChangedFact:
    return ChangedFact(
        fact=path, kind="counter", verdict=verdict, before=sides[0], after=sides[1], unit=unit, on="", values={},
        follows=None, suspect=None, context=False,
        says="growth while the run ran" if verdict == "grew" else "the counter fell while a run ran",
    )  # fmt: skip


def exit_status(diff: Diff, exit_on: ExitOn = "any") -> int:
    """1 when an undeclared lasting fact is not what it was, or a metric is worse or better; else 0.

    What is context alone sets nothing: a reboot or another working tree is said and no drift by itself. Nor does
    what went dark, came to light or cannot be compared: nobody saw it change.
    """
    facts = any(c.verdict in SEEN_TO_CHANGE and not c.context for c in diff.changes)
    metrics = any(metric.verdict in ("worse", "better") for metric in diff.metrics)
    wanted = {"any": facts or metrics, "facts": facts, "metrics": metrics, "nothing": False}
    return int(wanted[exit_on])
