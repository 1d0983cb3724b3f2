"""Composes the answers: two subjects and the history of their benchmark -> the contract."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from fingerprint.diff.changes import SEEN_TO_CHANGE, Folded
from fingerprint.diff.compare import compare
from fingerprint.diff.known import ProbeOf, probe_of
from fingerprint.explain.answer import Meanwhile, foreword, headline, next_steps, unchanged
from fingerprint.explain.arithmetic import arithmetic
from fingerprint.explain.blind import blind
from fingerprint.explain.bounds import left_over
from fingerprint.explain.canary import Canary, canary
from fingerprint.explain.canary import told as told_by_canary
from fingerprint.explain.circumstances import Circumstances, circumstances
from fingerprint.explain.clocks import apart_from_waiting
from fingerprint.explain.contract import SCHEMA, ChangedFact, Diff, During, MetricChange, OwnNoise, Pair, Suspect
from fingerprint.explain.counters import grew, was_reset
from fingerprint.explain.decisive import Unchanged
from fingerprint.explain.found import found as found_in_one
from fingerprint.explain.found import with_evidence
from fingerprint.explain.held_up import Held, beside, held_up, then_next, told_first, worse_of
from fingerprint.explain.held_up import held_against as apart_from_others
from fingerprint.explain.in_force import AsRead, apart_from_unread, as_read, left_open
from fingerprint.explain.metrics import calls_for_a_cause, metric_changes
from fingerprint.explain.notable import notable, over_devices, under_load
from fingerprint.explain.observed import Observed, observed, reset, under_keys_of_a
from fingerprint.explain.own_noise import Told, apart_from_noise, aside, own_noise, shared
from fingerprint.explain.rank import Ranked, rank
from fingerprint.explain.reach import Target, subject_of, target_of
from fingerprint.explain.ruled_out import ruled_out
from fingerprint.explain.said import told_of
from fingerprint.explain.sameness import comparable, moved
from fingerprint.explain.series import held_against
from fingerprint.explain.subject import Subject, of_host, side_of
from fingerprint.explain.suspects import changed_fact, suspect_of
from fingerprint.explain.tenants import held_by_others
from fingerprint.explain.unknown import not_known, unread
from fingerprint.noise import Learned
from fingerprint.runs.borders import grown_between
from fingerprint.runs.effective import Samples
from fingerprint.runs.run import Run

ExitOn = Literal["any", "facts", "metrics", "worse", "nothing"]
FIRST = 3


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
    history = tuple(history)
    if a.last is None or b.last is None:
        a, b = of_host(a), of_host(b)
    changes = apart_from_unread(a, b, compare(a.state, b.state, waivers=waivers, known=known), known)
    devices = changes.pairing[1:]  # behind the pair of hosts
    seen = observed(a.state.samples, under_keys_of_a(b.state.samples, devices), known)
    noise = shared(noise, a, b)
    apart = apart_from_noise(changes, notable(seen), seen, noise)
    x, y = _between_borders(a, b, known)
    every = (*seen, *observed(x, under_keys_of_a(y, devices), known))
    resets = reset({**x, **a.state.samples}, {**y, **b.state.samples})
    counters = tuple(grew(every, known)), tuple(was_reset(resets, known))
    found = _Found(every, *counters, apart, own_noise(noise, apart), canary(a, b, history))
    return _answers(a, b, found, metric_changes(a, b, history, metric), known)


def _between_borders(a: Subject, b: Subject, known: ProbeOf) -> tuple[Samples, Samples]:
    """What grew in each; what only one of them counted, as 0 in the other where that is known."""
    x, y = (_between(side, known) for side in (a, b))
    if only := x.keys() ^ y.keys():
        x, y = (_between(side, known, only) for side in (a, b))
    return x, y


def _between(side: Subject, known: ProbeOf, also: Iterable[str] = ()) -> Samples:
    return grown_between(side.state, lambda area: probe.section if (probe := known(area)) else None, also)


class _Found(NamedTuple):
    """What both sides say beside each other. seen: what grew from border to border included."""

    seen: tuple[Observed, ...]
    grown: tuple[Folded, ...]
    reset: tuple[ChangedFact, ...]
    apart: Told
    own: OwnNoise | None
    canary: Canary


def _answers(a: Subject, b: Subject, found: _Found, metrics: tuple[MetricChange, ...], known: ProbeOf) -> Diff:
    """What the Diff says in one field by what it says in the others."""
    changes, around, worse = found.apart.changes, circumstances(a, b), worse_of(metrics)
    held = (*held_up(a, b, known), *held_by_others(a, b, around, changes.pairing[1:]))
    ranked = apart_from_others(held_against(_rank(found, metrics, around, as_read(a, b, changes)), a, b, known), held)
    suspects = _suspects(found, ranked, a, b, known)
    findings = found_in_one(a, b, suspects, known)
    suspects = with_evidence(suspects, findings, a, b)
    ranks = {suspect.facts[0]: suspect.rank for suspect in suspects}
    told = (*(changed_fact(folded, ranks) for folded in (*changes.changes, *found.grown)), *found.reset)
    same = comparable(a, b, changes, told_by_canary(a, b, found.canary.changes, metrics))
    ruled, unknown = ruled_out(changes, a, known), not_known(changes, known, _to_explain(metrics), (a.name, b.name))
    intended = tuple(changed_fact(folded, {}) for folded in changes.intended)
    during = apart_from_waiting(over_devices(found.apart.during, found.seen, known), found.seen, suspects)
    start, waited = foreword(a, b, same, metrics, moved(changes)), _meanwhile(during, found, held, worse)
    otherwise = unchanged(ruled.count, unread(changes), intended) + aside(found.apart) + left_open(changes)
    return Diff(
        schema=SCHEMA,
        headline=headline(start, metrics, suspects, told, otherwise, waited, seen=bool(ruled.count or told)),
        a=side_of(a),
        b=side_of(b),
        comparable=same,
        pairing=tuple(Pair(a=pair.a, b=pair.b, how=pair.how) for pair in changes.pairing),
        metrics=metrics,
        canary=found.canary.changes,
        arithmetic=arithmetic(a, b, metrics),
        suspects=suspects,
        findings=findings,
        said=told_of((a, b), suspects, told, known),
        held_up=tuple(each.line for each in held),
        unexplained=left_over(subject_of(metrics), [(one.rules, one.explains) for one in ranked]),
        changes=tuple(sorted(told, key=_order)),
        during=during,
        own_noise=found.own,
        intended=intended,
        ruled_out=ruled,
        not_known=unknown,
        blind=blind(metrics, suspects, any(each.unlike for each in held), (a, b)),
        next=then_next(held, next_steps(a, b, metrics, suspects, told, unknown, known), suspects, worse),
    )


def _meanwhile(during: Sequence[During], found: _Found, held: Sequence[Held], worse: str) -> Meanwhile:
    return Meanwhile(under_load(during, found.seen), told_first(held), told_first(beside(held, worse)))


def _rank(found: _Found, metrics: Sequence[MetricChange], around: Circumstances, read: AsRead) -> tuple[Ranked, ...]:
    return rank(found.apart.changes, found.grown, found.seen, metrics, around, read, found.canary)


def _suspects(found: _Found, ranked: Sequence[Ranked], a: Subject, b: Subject, known: ProbeOf) -> tuple[Suspect, ...]:
    """What decides beside a suspect, of the first few alone: it may cost the decoding of a section that was equal."""
    followers = _followers((*found.apart.changes.changes, *found.grown))
    unchanged = Unchanged(a, b, found.apart.changes.pairing[1:], known)
    beside = [unchanged.beside(one) if one.reaches and at < FIRST else () for at, one in enumerate(ranked)]
    told = enumerate(zip(ranked, beside, strict=True), start=1)
    return tuple(suspect_of(at, one, followers.get(one.change.text, ()), a, b, with_it) for at, (one, with_it) in told)


def _followers(changes: Iterable[Folded]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for folded in changes:
        if folded.follows is not None:
            found[folded.follows].append(folded.text)
    return found


def _to_explain(metrics: Sequence[MetricChange]) -> Target | None:
    metric = subject_of(metrics)
    return target_of(metric) if metric and calls_for_a_cause(metric) else None


def _order(change: ChangedFact) -> tuple[bool, int, bool, str]:
    """What changed during a run is said first, then by suspect, its consequences behind it; context last."""
    return change.context, change.suspect or len(change.fact) + 10_000, change.follows is not None, change.fact


def exit_status(diff: Diff, exit_on: ExitOn = "any") -> int:
    """1 when an undeclared lasting fact is not what it was, or a metric is worse or better; else 0.

    What is context alone sets nothing: a reboot or another working tree is said and no drift by itself. Nor does
    what went dark, came to light or cannot be compared: nobody saw it change.
    """
    facts = any(c.verdict in SEEN_TO_CHANGE and not c.context for c in diff.changes)
    tails = (metric.tail for metric in diff.metrics if metric.tail_is_odd)
    verdicts = {metric.verdict for metric in (*diff.metrics, *tails) if metric}
    metrics, worse = bool(verdicts & {"worse", "better"}), "worse" in verdicts
    wanted = {"any": facts or metrics, "facts": facts, "metrics": metrics, "worse": worse, "nothing": False}
    return int(wanted[exit_on])
