"""The cheapest experiment that decides between the leading suspects."""

import re
from collections.abc import Iterator, Mapping, Sequence

from fingerprint.explain.contract import EVERY_RUN, MetricChange, Suspect
from fingerprint.explain.in_force import NOT_IN_FORCE
from fingerprint.explain.mechanisms import phases_of, rule
from fingerprint.explain.mechanisms.graph import Phase, Resource
from fingerprint.explain.metrics import calls_for_a_cause
from fingerprint.explain.phases import ANY, phases_of_metric
from fingerprint.explain.reach import subject_of
from fingerprint.explain.serving import OF_SERVING, is_of_serving
from fingerprint.explain.subject import Subject
from fingerprint.words import clean, quantity

# `renice -n 0 -p PID`: whoever restores it knows which process.
_TO_FILL_IN = re.compile(r"\b(CGROUP|COMMAND|CPUS|FROM|IMAGE|PID|PRIORITY|TO|WEIGHT)\b")
_BY_ITSELF: Mapping[Phase, str] = {
    "decode step": "plain decoding, without speculation",
    "verify step": "the verify step",
    "prefill": "a long prompt up to its first token",
    "transfer": "a copy between host and GPU",
    "accept length": "the accept length",
    "start-up": "the start",
}
"""What to measure where no number tells of a phase; in the order of what costs least."""
_OF_STEPS: frozenset[Resource] = frozenset(
    ("memory clock", "gpu memory bandwidth", "sm clock", "gpu compute", "launch latency", "collective", "nvlink")
)
_MOVED_BY: Mapping[Phase, frozenset[Resource]] = {
    "decode step": _OF_STEPS,
    "verify step": _OF_STEPS,
    "prefill": frozenset(("sm clock", "gpu compute", "kernel choice", "collective", "nvlink")),
    "transfer": frozenset(("pcie link", "nvlink", "collective", "network", "memory clock", "gpu memory bandwidth")),
    "accept length": frozenset(("accept length",)),
    "start-up": frozenset(("storage", "page cache", "gpu initialisation")),
}
"""What a rule has to move first of all for a phase to be moved by it whatever else is so: most can move a phase and
need not, and a number that stands still then tells nothing."""
_BETWEEN: frozenset[Resource] = frozenset(("collective", "nvlink", "network"))
"""Which an all-reduce shows, and no copy."""
_SPECULATES = re.compile(r"specul|draft|accept|verify")
_OF_DRAFTS: frozenset[Phase] = frozenset(("verify step", "accept length"))
_OTHER_CODE = re.compile(
    r"^libraries/|(^|[/_])(version|release|record|srcversion|commit|sha256|build_id|digest|image)$"
)
"""Which can move any phase, and need move none."""
_FAR = 0.7
"""Of the first's score: who has less is no rival."""
_SET_BY_HAND = re.compile(r"process/.*/(env|flags)/[^/]*|process/.*/operands")
_OF_NONE = frozenset((NOT_IN_FORCE, "alone", "idle", "unread", "through"))
"""Parts of the score of what cannot act here."""


def command(suspect: Suspect) -> str:
    """Sets it back, as it stands; empty where there is none."""
    return suspect.restore if suspect.restore and not _TO_FILL_IN.search(suspect.restore) else ""


def deciding(metrics: Sequence[MetricChange], suspects: Sequence[Suspect]) -> str:
    """One of the first two is set back, the other kept; empty where there are no two, or no command for either. What
    is set where the run is started is set back as cheaply as by a command."""
    two = _rivals(suspects)
    told = [suspect for suspect in two if command(suspect)]
    back = min(told, key=lambda suspect: "reboot" in command(suspect), default=None)
    if back is None or (back is not two[0] and _is_set_back_by_hand(two[0])):
        return ""
    kept = next(suspect for suspect in two if suspect is not back)
    which = "first" if back is two[0] else "second"
    sign = f": {then} says that it was this one" if (then := _as_in_a(metrics)) else ""
    return f"Set only the {which} suspect back, keep {clean(kept.facts[0])}, and run again{sign}: {command(back)}"


def _is_set_back_by_hand(suspect: Suspect) -> bool:
    is_set = _SET_BY_HAND.fullmatch(suspect.facts[0]) is not None
    return is_set or (bool(suspect.restore) and not command(suspect))


def besides(
    metrics: Sequence[MetricChange], suspects: Sequence[Suspect], sides: Sequence[Subject] = ()
) -> Iterator[str]:
    """A number that nobody took and that tells the first two apart; and how to confirm the first where no command sets
    it back."""
    yield from _measuring(metrics, _rivals(suspects), sides)
    if suspects[0].reaches and suspects[0].confirm and not command(suspects[0]):
        yield f"To confirm the first suspect: {suspects[0].confirm}"


def _rivals(suspects: Sequence[Suspect]) -> Sequence[Suspect]:
    """The first two, where the second may well be it; none where the first has to be mended rather than set back."""
    two = [suspect for suspect in suspects[:2] if suspect.reaches and not _OF_NONE & suspect.parts.keys()]
    if len(two) < 2 or {"grew", "lost"} & two[0].parts.keys() or "seen" in (two[0].before, two[0].after):
        return ()
    is_far = two[1].likelihood != two[0].likelihood or two[1].score < _FAR * two[0].score
    return () if is_far else two


def _as_in_a(metrics: Sequence[MetricChange]) -> str:
    metric = subject_of(metrics)
    if metric is None or metric.a is None or not calls_for_a_cause(metric):
        return ""
    return f"{clean(metric.name)} near {quantity(metric.a.median, metric.unit)}"


def _measuring(metrics: Sequence[MetricChange], two: Sequence[Suspect], sides: Sequence[Subject]) -> Iterator[str]:
    own = [metric for metric in metrics if two and metric.ratio and metric.name not in EVERY_RUN]
    measured = {phase for metric in own for phase in phases_of_metric(metric.name, metric.unit)}
    if measured <= ANY:
        return
    missing = _not_there(own, two, sides) | measured
    for phase in _BY_ITSELF:
        for moves, leaves in (two, reversed(two)) if phase not in missing else ():
            if phase in _told(moves) - _phases(leaves):
                names = clean(moves.facts[0]), clean(leaves.facts[0])
                is_between = phase == "transfer" and rule(moves.rules[0]).moves[0] in _BETWEEN
                what = "an all-reduce by itself" if is_between else _BY_ITSELF[phase]
                yield f"Measure {what} as well, in both: {names[0]} should move it, {names[1]} should not"
                return


def _not_there(own: Sequence[MetricChange], two: Sequence[Suspect], sides: Sequence[Subject]) -> frozenset[Phase]:
    """What a program that does not serve, or that drafts nothing, has no number of."""
    if not any(is_of_serving(metric.name, sides, metric.unit) for metric in own):
        return OF_SERVING
    names = (*(metric.name for metric in own), *(suspect.facts[0] for suspect in two))
    return frozenset() if any(map(_SPECULATES.search, names)) else _OF_DRAFTS


def _phases(suspect: Suspect) -> frozenset[Phase]:
    return frozenset(phase for name in suspect.rules for phase in phases_of(rule(name)))


def _told(suspect: Suspect) -> frozenset[Phase]:
    """Those that it should move, by the rule that knows it best."""
    if not suspect.rules or _OTHER_CODE.search(suspect.facts[0]):
        return frozenset()
    best = rule(suspect.rules[0])
    return frozenset(phase for phase, resources in _MOVED_BY.items() if best.moves[0] in resources) & _phases(suspect)
