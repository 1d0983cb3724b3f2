"""What was clearly not alike while two runs ran."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from fingerprint.diff.folding import starred
from fingerprint.diff.known import ProbeOf, split
from fingerprint.explain.contract import During
from fingerprint.explain.observed import Observed, bulk, level
from fingerprint.places import pattern_of
from fingerprint.runs.record import Distribution, Growth
from fingerprint.words import place, quantities, rates
from probes.kit.paths import parse_path

APART = 2.0
APART_UNDER_LOAD = 1.05
"""Of what counts in one condition only: clocks of two runs that are 5 % apart while the GPU works are no noise."""
ALIKE = 1.05
SHARE_APART = 0.1
MANY = 100  # samples: of fewer it is said how many there were
LONG_ENOUGH = 5.0
"""Seconds, or samples, from which the growth or the distribution of one run says something about another."""


def notable(seen: Iterable[Observed]) -> tuple[During, ...]:
    """By ratio: bulks (5-95 %) that do not touch, rates that differ twofold, and what held in another share of the
    samples."""
    differing = sorted((o for o in seen if _differs(o)), key=lambda o: (-_ratio(o), o.path))
    return tuple(_told(o) for o in differing)


def _told(o: Observed) -> During:
    return During(fact=o.path, unit=o.unit, a=_plain(o.a), b=_plain(o.b), on="", values={}, says=_says(o))


def over_devices(found: Sequence[During], seen: Sequence[Observed], known: ProbeOf) -> tuple[During, ...]:
    """The same of several devices is one line, and the one of them that differs most stands for all."""
    kinds = {o.path: _kind(o.path, known) for o in seen}
    among = Counter(kinds.values())
    levels = {o.path: _level(o, o.b) for o in seen}
    groups: dict[Hashable, list[During]] = defaultdict(list)
    for item in found:
        groups[kinds[item.fact]].append(item)
    return tuple(_folded(group, among[kind], levels) for kind, group in groups.items())


def under_load(found: Iterable[During], seen: Iterable[Observed]) -> str:
    """For the headline: the first that counts in one condition alone, as clocks while the GPU works, or nothing."""
    settled = {o.path for o in seen if _is_settled(o)}
    told = (item for item in found if settled & {item.fact, *item.values})
    return next((f"; {item.fact} {item.says}{f' on {item.on}' if item.on else ''}" for item in told), "")


def _kind(path: str, known: ProbeOf) -> Hashable:
    key, names = split(parse_path(path), known)
    probe = known(key.area)
    return key, pattern_of(probe.section, names) if probe else names


def _folded(group: Sequence[During], among: int, levels: Mapping[str, float]) -> During:
    """levels: of B, by path. Of devices that are about as far the one that is farthest is not named."""
    first, *others = group
    if among == 1:
        return first
    text = starred([parse_path(item.fact) for item in group])
    low, high = (pick(abs(levels[item.fact]) for item in group) for pick in (min, max))
    alike = all(item.says == first.says for item in others) or high <= ALIKE * low
    return msgspec.structs.replace(
        first, fact=text, on=f"{len(group)}/{among}", values={item.fact: (item.a, item.b) for item in group if others},
        says=first.says if alike else f"{first.says}, most on {place(text, first.fact)}",
    )  # fmt: skip


def _differs(o: Observed) -> bool:
    if isinstance(o.a, Distribution) and isinstance(o.b, Distribution):
        return min(o.a.count, o.b.count) >= LONG_ENOUGH and _lie_apart(o, o.a, o.b)
    if isinstance(o.a, Growth) and isinstance(o.b, Growth):
        return min(o.a.seconds, o.b.seconds) >= LONG_ENOUGH and _ratio(o) >= APART
    return False


def _lie_apart(o: Observed, a: Distribution, b: Distribution) -> bool:
    if _is_share(o):
        return abs(a.mean - b.mean) >= SHARE_APART
    (low, high), (other_low, other_high) = bulk(a), bulk(b)
    return (high < other_low or other_high < low) and _ratio(o) >= (APART_UNDER_LOAD if _is_settled(o) else APART)


def _is_settled(o: Observed) -> bool:
    return o.fact is not None and o.fact.settled != "always"


def _is_share(o: Observed) -> bool:
    """Whether each sample says that something held, or that it did not."""
    if o.fact is None or o.unit or not (_is_settled(o) or o.fact.tells):
        return False
    return all(isinstance(side, Distribution) and set(side.quantiles) <= {0.0, 1.0} for side in (o.a, o.b))


def _ratio(o: Observed) -> float:
    low, high = sorted((abs(_level(o, o.a)), abs(_level(o, o.b))))
    return high / low if low else float("inf") if high else 1.0


def _level(o: Observed, side: Distribution | Growth) -> float:
    return side.mean if isinstance(side, Distribution) and _is_share(o) else level(side)


def _plain(sample: Distribution | Growth) -> Any:
    return msgspec.to_builtins(sample)


def _says(o: Observed) -> str:
    return "; ".join(_clauses(o))


def _clauses(o: Observed) -> Iterator[str]:
    """`median 1980 -> 990 MHz while gpu busy`, and in how many samples where that is few, or unlike in both."""
    a, b = _level(o, o.a), _level(o, o.b)
    if isinstance(o.a, Growth) or isinstance(o.b, Growth):
        yield rates(a, b, o.unit)
        return
    share = f"in {100 * a:.0f} -> {100 * b:.0f} % of the samples"
    met = f" while {o.fact.settled}" if o.fact and (o.a.left_out or o.b.left_out) else ""
    yield f"{share if _is_share(o) else f'median {quantities(a, b, o.unit)}'}{met}"
    if met and (min(o.a.count, o.b.count) < MANY or abs(_met(o.a) - _met(o.b)) > SHARE_APART):
        x, y = (f"{side.count} of {side.count + side.left_out}" for side in (o.a, o.b))
        yield f"{x} and {y} samples"


def _met(side: Distribution) -> float:
    """The share of the samples in which the condition held."""
    return side.count / (side.count + side.left_out)
