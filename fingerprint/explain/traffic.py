"""What crossed a link: whether it was loaded, idle, or gave its traffic to another way."""

from collections.abc import Sequence
from typing import NamedTuple

from fingerprint.diff.changes import Folded
from fingerprint.explain.mechanisms import rules_of
from fingerprint.explain.observed import Observed, level
from fingerprint.runs.record import Distribution, Growth

LOADED, IDLE = 0.10, 0.005
"""Of what a link carries. It costs at most the time that its traffic takes on it: to make a run 1.15x as long, fewer
lanes must have been full for a seventh of it. Decoding over two GPUs crossed PCIe at 0.01 to 0.12 GB/s, prefill at 6 to
9 (club-3090#1098, #1079, #1107)."""
STILL = 1e6
"""B/s: far less than any work on several GPUs says to each other."""
CEASED = 0.02
ALIKE = 0.97
TWICE = 2.0
MB = 1e6
WELL = frozenset(("ok", "completed", "success", "active"))
"""Of what joins GPUs, the words that say that it does."""


class Pair(NamedTuple):
    """The traffic, and on the same device what it is held against: None where that was not seen in both runs."""

    traffic: Observed
    other: Observed | None


class _Side(NamedTuple):
    """Of one run: B/s that crossed the link, B/s that it carries at most, the share of the time that the GPU worked."""

    rate: float
    most: float
    worked: float


def carried(_: Folded, pairs: Sequence[Pair]) -> bool | None:
    """Whether the narrower link carried a tenth of what it can, and the wider one about as much as that. False where
    both carried next to nothing, even if all that crossed them did so while the GPU worked."""
    links = [sides for pair in pairs if (sides := _sides(pair))]
    if any(_was_waited_for(*sides) for sides in links):
        return True
    return False if links and all(_is_idle(side) for sides in links for side in sides) else None


def _sides(pair: Pair) -> tuple[_Side, ...]:
    """The narrower one first; none where a run does not tell."""
    if pair.other is None:
        return ()
    both = ((pair.traffic.a, pair.other.a), (pair.traffic.b, pair.other.b))
    sides = [_Side(level(traffic), level(most) * MB, _share(most)) for traffic, most in both]
    return tuple(sorted(sides, key=lambda side: side.most)) if all(side.most * side.worked for side in sides) else ()


def _share(most: Distribution | Growth) -> float:
    counts = isinstance(most, Distribution) and most.count + most.left_out
    return most.count / counts if isinstance(most, Distribution) and counts else 0.0


def _was_waited_for(narrow: _Side, wide: _Side) -> bool:
    """Where much more crossed the narrower one it was other work, or work that lost another way: NVLink."""
    is_narrower = narrow.most < ALIKE * wide.most
    return is_narrower and narrow.rate >= LOADED * narrow.most and wide.rate * TWICE >= narrow.rate


def _is_idle(side: _Side) -> bool:
    return side.rate < IDLE * side.most * side.worked


def crossed(_: Folded, pairs: Sequence[Pair]) -> bool | None:
    """False where nothing to speak of crossed it in either run. That something did tells of no limit, and a counter
    that never counted, as of a virtual function, tells nothing."""
    sides = [side for pair in pairs for side in (pair.traffic.a, pair.traffic.b)]
    has_counted = any(not isinstance(side, Growth) or side.last > 0 for side in sides)
    return False if has_counted and all(level(side) < STILL for side in sides) else None


def rerouted(change: Folded, pairs: Sequence[Pair]) -> bool | None:
    """Whether it ceased in the run that lost the way, and the other way's grew there. False where that run has nothing
    of it left, and as much crossed all the same. Else nothing follows."""
    lost_in = _without(change)
    if any(_gave_way(pair, run) for pair in pairs for run in lost_in):
        return True
    left = change.first.after if lost_in == "b" else change.first.before
    is_all = len(lost_in) == 1 and (left == 0 or isinstance(left, str))
    return False if pairs and is_all and all(_went_on(pair, lost_in) for pair in pairs) else None


def _went_on(pair: Pair, run: str) -> bool:
    had, lacks = _in_order(pair.traffic, run)
    return lacks >= STILL and TWICE * lacks >= had


def _gave_way(pair: Pair, run: str) -> bool:
    """run: the one without, `a` or `b`."""
    if pair.other is None:
        return False
    had, lacks = _in_order(pair.traffic, run)
    before, after = _in_order(pair.other, run)
    ceased = had >= STILL and lacks <= CEASED * had
    return ceased and after >= max(STILL, TWICE * before)


def _in_order(o: Observed, run: str) -> tuple[float, float]:
    """B/s in the other run, and in this one."""
    a, b = level(o.a), level(o.b)
    return (a, b) if run == "b" else (b, a)


def _without(change: Folded) -> str:
    """The run that has less of it: fewer links, or not a word for well, as the mechanism that knows the fact best tells
    them; both where the values do not tell."""
    before, after = change.first.before, change.first.after
    if isinstance(before, int) and isinstance(after, int):
        return "a" if before < after else "b"
    rules = rules_of(change.first.path)
    well = WELL | frozenset(rules[0].best if rules else ())
    was, became = (isinstance(value, str) and value in well for value in (before, after))
    return "ab" if was is became else "a" if became else "b"
