"""Whether a limit was in force: what was seen in the runs, held against the conditions of a rule."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fingerprint.diff.changes import Folded
from fingerprint.diff.folding import starred
from fingerprint.explain.contract import Evidence
from fingerprint.explain.mechanisms.graph import Condition, Rule, Sign
from fingerprint.explain.observed import Observed, bulk, level, on_item
from fingerprint.explain.traffic import Pair, carried, crossed, rerouted
from fingerprint.runs.record import Distribution, Growth
from fingerprint.words import place, quantities, rates
from probes.kit.paths import parse_glob, parse_path
from probes.kit.probe import MAIN

TWICE = 2.0
LEAST: Mapping[str, float] = {
    "us": 2e4, "ms": 20.0, "ns": 2e7, "ticks of 1/100 s": 2.0, "B": 1e6, "pages": 256.0, "switches": 100.0,
}  # fmt: skip
"""Per second, of counters that always move, from which on twice as much says something: of times two per cent."""
OTHERWISE = 1.0
BEYOND_IT = 1.2
AT_THE_LIMIT, FAR_FROM_IT = 0.97, 0.90  # of the limit: draw under a power cap stays some per cent below it
LOWER = 0.97
_OF_MAIN = f"usage/{MAIN}/"


class Bound(NamedTuple):
    """evidence: that the limit was reached in one run more than in the other. against: that it was in neither."""

    evidence: tuple[Evidence, ...] = ()
    against: tuple[Evidence, ...] = ()


def bound(
    change: Folded, rules: Sequence[Rule], seen: Mapping[str, Observed], *, ended: bool = False, harmed: str = ""
) -> Bound:
    """seen: by path. ended: it is to be explained that a run ended, of which it tells nothing how much crossed a link.
    harmed: the worse run, `a` or `b`; empty where that is not known. Where no condition could be looked at, nothing is
    said."""
    evidence: list[Evidence] = []
    against: list[Evidence] = []
    for condition in dict.fromkeys(condition for rule in rules for condition in rule.binds):
        line = tuple(_line(change, condition, seen))
        if line and not (ended and condition.sign in _TRAFFIC):
            holds = _holds(change, condition, line, seen)
            if holds and harmed and not any(_harms(o, condition.sign, harmed) for o in line):
                continue
            (evidence if holds else against if holds is False else []).append(_told(line, condition, holds))
    return Bound(tuple(_once(evidence))) if evidence else Bound(against=tuple(against[:1]))


def _harms(o: Observed, sign: Sign, run: str) -> bool:
    """Whether the run has more of what harms, or less of what harm lowers. Some signs know it themselves."""
    more = "b" if _share(o.b) > _share(o.a) else "a"
    return sign not in ("grew", "active", "lower") or (more == run) is not (sign == "lower")


def _once(evidence: Sequence[Evidence]) -> Iterable[Evidence]:
    """The samples that had an event reason tell what its counter told before."""
    told: dict[str, Evidence] = {}
    for one in evidence:
        told.setdefault(one.fact.rpartition("/")[2], one)
    return told.values()


def _line(change: Folded, condition: Condition, seen: Mapping[str, Observed]) -> Iterator[Observed]:
    """What the condition is about, on the items of the change: a device's limit binds on that device."""
    items = _items(change, condition.facts)
    wanted = (on_item(facts, item) for facts in _sampled(change, condition.facts, seen) for item in items or ("",))
    for text in dict.fromkeys(wanted):
        if text in seen:
            yield seen[text]
        elif "*" in text:
            glob = parse_glob(text)
            yield from (observed for path, observed in seen.items() if glob.matches(parse_path(path)))


def _sampled(change: Folded, facts: str, seen: Mapping[str, Observed]) -> Iterator[str]:
    """Of a run of several servers, which has no `main`, that of the server that changed; of all where that is the host,
    or a server that listened on another port before."""
    if not facts.startswith(_OF_MAIN) or any(path.startswith(_OF_MAIN) for path in seen):
        yield facts
        return
    for server in dict.fromkeys(one.key.target.partition(".")[0] for one in change.changes):
        own = f"usage/{server}/"
        is_sampled = any(path.startswith(own) for path in seen)
        yield facts.replace(_OF_MAIN, own if is_sampled else "usage/*/")


def _items(change: Folded, glob: str) -> Sequence[str]:
    """None where the glob means whatever it matches: devices of another area are not those of the change."""
    if "*" not in glob:
        return ("",)
    same = glob.partition("/")[0] == change.first.path[0]
    return [one.names[one.pattern.index(None)] for one in change.changes if one.item] if same else ()


def _holds(change: Folded, condition: Condition, line: Sequence[Observed], seen: Mapping[str, Observed]) -> bool | None:
    if condition.sign in _TRAFFIC:
        return _TRAFFIC[condition.sign](change, [Pair(o, _other(o, condition, seen)) for o in line])
    told = [o for o in line if max(_share(o.a), _share(o.b)) >= max(condition.least, _least(o))]
    return _HOLDS[condition.sign](change, told)


def _least(o: Observed) -> float:
    """A counter of trouble stands still where all is well."""
    if isinstance(o.a, Distribution) or (o.fact and o.fact.trouble):
        return 0.0
    return LEAST.get(o.unit, OTHERWISE)


def _other(o: Observed, condition: Condition, seen: Mapping[str, Observed]) -> Observed | None:
    names = zip(parse_path(o.path), condition.facts.split("/"), strict=True)
    return seen.get(on_item(condition.of, next(name for name, part in names if part == "*")))


def _grew(_: Folded, line: Sequence[Observed]) -> bool | None:
    if any(_only_one(o) for o in line):
        return True
    return None if any(level(o.a) or level(o.b) for o in line) else False


def _only_one(o: Observed) -> bool:
    low, high = sorted((_share(o.a), _share(o.b)))
    return high > 0 and high >= TWICE * low


def _share(sample: Distribution | Growth) -> float:
    """A flag's mean is the share of the samples in which it was on; its median is 0 or 1."""
    return sample.mean if isinstance(sample, Distribution) else level(sample)


def _reached(change: Folded, line: Sequence[Observed]) -> bool | None:
    """Whether it came to the lower of the two limits, in the run that had it. What is far beyond one, it does not
    hold."""
    found = [_came_near(one.before, one.after, o) for one, o in zip(change.changes, line, strict=False)]
    known = [near for near in found if near is not None]
    if any(AT_THE_LIMIT <= near <= BEYOND_IT for near in known):
        return True
    return False if known and all(near < FAR_FROM_IT for near in known) else None


def _came_near(before: object, after: object, o: Observed) -> float | None:
    if not (isinstance(before, int) and isinstance(after, int) and isinstance(o.b, Distribution)):
        return None
    limit, side = min((before, o.a), (after, o.b), key=lambda pair: pair[0])
    return bulk(side)[1] / limit if isinstance(side, Distribution) and limit else None


def _lower(_: Folded, line: Sequence[Observed]) -> bool | None:
    ratios = [min(level(o.a), level(o.b)) / highest for o in line if (highest := max(level(o.a), level(o.b)))]
    return min(ratios) < LOWER if ratios else None


_HOLDS: Mapping[Sign, Callable[[Folded, Sequence[Observed]], bool | None]] = {
    "grew": _grew,
    "worked": _grew,
    "active": _grew,
    "reached": _reached,
    "lower": _lower,
}
_TRAFFIC: Mapping[Sign, Callable[[Folded, Sequence[Pair]], bool | None]] = {
    "carried": carried,
    "crossed": crossed,
    "rerouted": rerouted,
}


def _told(line: Sequence[Observed], condition: Condition, holds: bool | None) -> Evidence:
    """Of several devices, and of two directions, that which was most is told, and named where not all are alike."""
    o = max(line, key=lambda o: max(_share(o.a), _share(o.b)))
    line = [one for one in line if parse_path(one.path)[-1] == parse_path(o.path)[-1]]
    (a, b), *others = (_shares(one) for one in (o, *line))
    text = starred([parse_path(o.path) for o in line])
    says = condition.says if holds else f"in neither run was it seen that {condition.says}"
    most = f", most on {place(text, o.path)}" if {*others} != {(a, b)} else ""
    return Evidence(fact=text, a=a, b=b, says=f"{text} {_figures(a, b, o, condition.sign)}{most}: {says}")


def _shares(o: Observed) -> tuple[float, float]:
    return round(_share(o.a), 3), round(_share(o.b), 3)


def _figures(a: float, b: float, o: Observed, sign: Sign) -> str:
    if sign == "active" and isinstance(o.a, Distribution):
        return f"in {100 * a:.0f} -> {100 * b:.0f} % of the samples"
    if isinstance(o.a, Distribution):
        return quantities(a, b, o.unit)
    return rates(a, b, o.unit)
