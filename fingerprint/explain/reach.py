"""Which mechanisms lead from a changed fact to the number that moved, and whether they push it that way."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import inf, log
from typing import Any, NamedTuple

from fingerprint.diff.changes import Folded, Unsteady
from fingerprint.explain.contract import WAS_THERE, Evidence, MetricChange
from fingerprint.explain.foremost import foremost
from fingerprint.explain.mechanisms import phases_of, rules_of
from fingerprint.explain.mechanisms.graph import Letters, Phase, Rule
from fingerprint.explain.metrics import EXIT_STATUS
from fingerprint.explain.phases import ANY, OF_MEMORY, phases_of_metric
from probes.kit.facts import Gap, Map, Section
from probes.kit.paths import FactPath

_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,9})?")
MOVED = ("worse", "better", "changed")
ANY_FLAG = "--"
"""No flag has this name, and whatever is known of flags that nobody knows is known of it."""
LITTLE = 1 / 3  # of the change of the number to be explained, as logarithms: what moved less hardly moved


class Target(NamedTuple):
    """The number to be explained. ratio: of B to A. slower: whether B was worse; None where that is not known."""

    name: str
    phases: frozenset[Phase]
    ratio: float
    slower: bool | None


class Reach(NamedTuple):
    """rules: that see the change and lead to the metric; all that see it where there is no metric.

    reaches  False: some rule sees it, and none leads there. Nobody knows of what no rule sees
    against  why it can hardly have moved this number
    opposite whether it moves such a number the other way
    rarely   whether it mostly does
    agrees   whether it pushes the number the way it went; None where it has no direction
    ran_out  whether the run that did not come to its end had less of what runs out
    """

    rules: tuple[Rule, ...]
    reaches: bool
    against: tuple[Evidence, ...]
    opposite: bool = False
    rarely: bool = False
    agrees: bool | None = None
    ran_out: bool = False


def subject_of(metrics: Sequence[MetricChange]) -> MetricChange | None:
    """The foremost that moved, or of which the tail alone did, else of those that are not assessed and differ; None
    where there is neither."""
    moved = [metric for metric in metrics if metric.verdict in MOVED]
    moved = moved or [it.tail for it in metrics if it.tail_is_odd and it.tail and it.tail.verdict in MOVED]
    marked = [metric for metric in metrics if metric.verdict == "unassessed" and metric.ratio not in (None, 1.0)]
    return foremost(moved or marked)


def target_of(metric: MetricChange | None) -> Target | None:
    if metric is None:
        return None
    slower = {"worse": True, "better": False}.get(metric.verdict)
    return Target(metric.name, phases_of_metric(metric.name, metric.unit), metric.ratio or 1.0, slower)


def reach(
    change: Folded,
    target: Target | None,
    metrics: Sequence[MetricChange],
    *,
    letters: Mapping[str, frozenset[Letters]] = {},
) -> Reach:
    """letters: by target, whose its flags of one letter are."""
    seen = _seeing(change, letters)
    if target is None or not seen:
        return Reach(seen, True, ())
    leading = tuple(rule for rule in seen if leads(rule, target.phases))
    if not leading:
        return Reach(seen, False, (_says(change, f"no way from it to {target.name} is known"),))
    agrees = _agrees(change, leading[0], target)
    unmoved = tuple(_unmoved(leading, target, metrics, one_way=agrees is True))
    if agrees is not False or leading[0].mostly:
        runs_out = leading[0].breaks == "often" and not leading[0].best
        ran_out = agrees is True and target.name == EXIT_STATUS and runs_out
        return Reach(leading, True, unmoved, rarely=agrees is False, agrees=agrees, ran_out=ran_out)
    told = f"it should have made {target.name} {'better' if target.slower else 'worse'}"
    return Reach(leading, True, (_says(change, told), *unmoved), opposite=True, agrees=False)


def _seeing(change: Folded, letters: Mapping[str, frozenset[Letters]]) -> tuple[Rule, ...]:
    """Of one line for several items (daemons, modules, variables), the rules of that one which caused most.
    A letter that nobody knows is a flag like any: what `-c` says to an engine, it says to no shell."""
    known = (_known(one.path, letters.get(one.key.target, frozenset())) for one in change.changes)
    path = change.first.path
    like_any = rules_of(FactPath((*path[:-1], ANY_FLAG))) if is_letter(path) else ()
    return max(filter(None, known), key=lambda rules: rules[0].confirmed, default=like_any)


def _known(path: FactPath, letters: frozenset[Letters]) -> tuple[Rule, ...]:
    rules = rules_of(path)
    return tuple(rule for rule in rules if rule.letters in letters) if is_letter(path) else rules


def is_letter(path: FactPath) -> bool:
    return path[-2:-1] == ("flags",) and len(path[-1]) == len("-c")


def leads(rule: Rule, phases: frozenset[Phase]) -> bool:
    """To `any work` leads whatever leads anywhere: a command's wall time holds all of it."""
    reached = phases_of(rule).keys()
    return phases == ANY or bool(reached & phases)


def _agrees(change: Folded, rule: Rule, target: Target) -> bool | None:
    """Whether the mechanism that knows it best pushes the number the way it went; None where it has no direction, and
    of how much memory was taken: more of it is faster, and is taken.
    Whether a command worked at all is a question of more or less only of what runs out: a link that was set slower may
    be the one that works."""
    if target.slower is None or target.phases == OF_MEMORY or (target.name == EXIT_STATUS and not _runs_out(rule)):
        return None
    helps = _helps(rule, change.first.before, change.first.after)
    return None if helps is None else helps is not target.slower


def _runs_out(rule: Rule) -> bool:
    return not rule.mostly and (bool(rule.best) or rule.breaks == "often" or rule.enough is not None)


def _helps(rule: Rule, before: Any, after: Any) -> bool | None:
    """Whether what the rule moves got better from one value to the other; None where it has no direction."""
    if rule.best:
        was, became = (_word(value) in rule.best for value in (before, after))
        return became if was is not became else None
    if rule.worst:
        was, became = (_lowered(value) in rule.worst for value in (before, after))
        return was if was is not became else None
    if rule.scale:
        words = [_lowered(value) for value in (before, after)]
        places = [at for word in words for at, level in enumerate(rule.scale) if word in level]
        return places[1] > places[0] if len({*places}) > 1 else None
    x, y = plain(before), plain(after)
    if rule.way == "either" or x is None or y is None or x == y:
        return None
    return (y > x) is (rule.way == "more helps")


def _lowered(value: Any) -> str:
    return (_word(value) or "").lower()


def _word(value: Any) -> str | None:
    """None of what cannot be told."""
    value = value.last if isinstance(value, Unsteady) else value
    if isinstance(value, Gap):
        return "absent" if value.code == "absent" else None
    if value == WAS_THERE or isinstance(value, (Section, Map)):
        return "present"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else None


def plain(value: object) -> float | None:
    """Of several it is the first: a soft limit before the hard one. Flags and variables are text."""
    value = value.last if isinstance(value, Unsteady) else value
    value = value[0] if isinstance(value, tuple) and value else value
    if isinstance(value, str):
        return inf if value == "unlimited" else float(value) if _NUMBER.fullmatch(value) else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _unmoved(
    rules: Sequence[Rule], target: Target, metrics: Sequence[MetricChange], *, one_way: bool
) -> Iterable[Evidence]:
    """Numbers that it should have moved as much, and that moved little; or, of what pushes all one way, the other
    way."""
    for metric in metrics:
        phases = phases_of_metric(metric.name, metric.unit)
        opposed = one_way and went_against(metric, target)
        if not (opposed or _moved_little(metric, target)) or OF_MEMORY in (phases, target.phases):
            continue
        if phases == ANY or phases <= target.phases:
            continue
        if all(phases <= phases_of(rule).keys() for rule in rules):
            a, b = (side.median if side else None for side in (metric.a, metric.b))
            went = f"went the other way, to {metric.ratio:.2f}x" if opposed else f"went to {metric.ratio:.2f}x only"
            told = f"it should have moved {metric.name} as well, which {went}"
            yield Evidence(fact=metric.name, a=a, b=b, says=told)


def went_against(metric: MetricChange, target: Target) -> bool:
    """Whether it got better where the number to be explained got worse, or the other way round."""
    if target.slower is None or not metric.ratio or metric.verdict not in ("worse", "better"):
        return False
    return (metric.verdict == "worse") is not target.slower


def _moved_little(metric: MetricChange, target: Target) -> bool:
    if not metric.ratio or metric.ratio <= 0 or target.ratio <= 0 or metric.verdict == "unassessed":
        return False
    return abs(log(metric.ratio)) < LITTLE * abs(log(target.ratio))


def _says(change: Folded, says: str) -> Evidence:
    return Evidence(fact=change.text, a=None, b=None, says=says)
