"""The cheapest experiment that decides between the leading suspects."""

import re
from collections.abc import Iterator, Mapping, Sequence

from fingerprint.explain.contract import EVERY_RUN, MetricChange, Suspect
from fingerprint.explain.in_force import NOT_IN_FORCE
from fingerprint.explain.mechanisms import phases_of, rule
from fingerprint.explain.mechanisms.graph import SERVES, Phase
from fingerprint.explain.metrics import calls_for_a_cause
from fingerprint.explain.phases import ANY, phases_of_metric
from fingerprint.explain.reach import subject_of
from fingerprint.words import clean, quantity

# `renice -n 0 -p PID`: whoever restores it knows which process.
_TO_FILL_IN = re.compile(r"\b(CGROUP|COMMAND|CPUS|FROM|IMAGE|PID|PRIORITY|TO|WEIGHT)\b")
_BY_ITSELF: Mapping[Phase, str] = {
    "decode step": "plain decoding, without speculation",
    "verify step": "the verify step",
    "prefill": "a long prompt up to its first token",
    "transfer": "a copy or an all-reduce",
    "accept length": "the accept length",
    "start-up": "the start",
}
"""What to measure where no number tells of a phase; in the order of what costs least."""


def command(suspect: Suspect) -> str:
    """Sets it back, as it stands; empty where there is none."""
    return suspect.restore if suspect.restore and not _TO_FILL_IN.search(suspect.restore) else ""


def deciding(metrics: Sequence[MetricChange], suspects: Sequence[Suspect]) -> str:
    """One of the first two is set back, the other kept; empty where there are no two, or no command for either."""
    two = _rivals(suspects)
    told = [suspect for suspect in two if command(suspect)]
    if not told:
        return ""
    back = min(told, key=lambda suspect: "reboot" in command(suspect))
    kept = next(suspect for suspect in two if suspect is not back)
    which = "first" if back is two[0] else "second"
    sign = f": {then} says that it was this one" if (then := _as_in_a(metrics)) else ""
    return f"Set only the {which} suspect back, keep {clean(kept.facts[0])}, and run again{sign}: {command(back)}"


def besides(metrics: Sequence[MetricChange], suspects: Sequence[Suspect]) -> Iterator[str]:
    """A number that nobody took and that tells the first two apart; and how to confirm the first where no command sets
    it back."""
    yield from _measuring(metrics, _rivals(suspects))
    if suspects[0].reaches and suspects[0].confirm and not command(suspects[0]):
        yield f"To confirm the first suspect: {suspects[0].confirm}"


def _rivals(suspects: Sequence[Suspect]) -> Sequence[Suspect]:
    """The first two, where the second may well be it; none where the first has to be mended rather than set back."""
    two = [suspect for suspect in suspects[:2] if suspect.reaches and NOT_IN_FORCE not in suspect.parts]
    if len(two) < 2 or {"grew", "lost"} & two[0].parts.keys() or "seen" in (two[0].before, two[0].after):
        return ()
    return () if two[1].likelihood == "unlikely" != two[0].likelihood else two


def _as_in_a(metrics: Sequence[MetricChange]) -> str:
    metric = subject_of(metrics)
    if metric is None or metric.a is None or not calls_for_a_cause(metric):
        return ""
    return f"{clean(metric.name)} near {quantity(metric.a.median, metric.unit)}"


def _measuring(metrics: Sequence[MetricChange], two: Sequence[Suspect]) -> Iterator[str]:
    if not two:
        return
    first, second = map(_phases, two)
    own = [metric for metric in metrics if metric.ratio and metric.name not in EVERY_RUN]
    measured = {phase for metric in own for phase in phases_of_metric(metric.name, metric.unit)}
    if measured <= ANY:
        return
    told = (_told(two[0]) - second) | (_told(two[1]) - first)
    for phase, what in _BY_ITSELF.items():
        if phase in told and phase not in measured:
            moves, leaves = two if phase in first else (two[1], two[0])
            names = clean(moves.facts[0]), clean(leaves.facts[0])
            yield f"Measure {what} as well, in both: {names[0]} should move it, {names[1]} should not"
            return


def _phases(suspect: Suspect) -> frozenset[Phase]:
    return frozenset(phase for name in suspect.rules for phase in phases_of(rule(name)))


def _told(suspect: Suspect) -> frozenset[Phase]:
    """Those that it should move: other code, kernels or work can move any phase, and a transfer need move by none."""
    rules = [rule(name) for name in suspect.rules]
    moves = [(one, resource) for one in rules for resource in one.moves if resource not in ("code", "workload")]
    found = ((phase, resource) for one, resource in moves for phase in phases_of(one) if phase in SERVES[resource])
    return frozenset(phase for phase, resource in found if (phase, resource) != ("transfer", "kernel choice"))
