"""What crossed a link: whether it was loaded, idle, or gave its traffic to another way."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fingerprint.diff.changes import Folded
from fingerprint.explain.observed import Observed, level
from fingerprint.runs.record import Distribution

LOADED, IDLE = 0.10, 0.005
"""Of what a link carries. It costs at most the time that its traffic takes on it: to make a run 1.15x as long, fewer
lanes must have been full for a seventh of it. Decoding over two GPUs crossed PCIe at 0.01 to 0.12 GB/s, prefill at 6 to
9 (club-3090#1098, #1079, #1107)."""
STILL = 1e6
"""B/s: far less than any work on several GPUs says to each other."""
CEASED = 0.02
TWICE = 2.0
MB = 1e6
WELL = frozenset(("ok", "completed", "success", "active"))
"""Of what joins GPUs, the words that say that it does."""


class Pair(NamedTuple):
    """The traffic, and on the same device what it is held against: None where that was not seen in both runs."""

    traffic: Observed
    other: Observed | None


def carried(_: Folded, pairs: Sequence[Pair]) -> bool | None:
    """Whether the link carried a tenth of what it can, in either run: the narrower one shows more. False where it
    carried next to nothing in both, even if all that crossed it did so while the GPU worked."""
    loads = [load for pair in pairs for load in _loads(pair)]
    if any(whole >= LOADED for whole, _ in loads):
        return True
    return False if loads and all(at_work < IDLE for _, at_work in loads) else None


def _loads(pair: Pair) -> Iterator[tuple[float, float]]:
    """Of each run as shares of what the link carries: over the run, and if all was while the GPU worked."""
    if pair.other is None:
        return
    for traffic, most in ((pair.traffic.a, pair.other.a), (pair.traffic.b, pair.other.b)):
        if isinstance(most, Distribution) and most.count and level(most) > 0:
            whole = level(traffic) / (level(most) * MB)
            yield whole, whole * (most.count + most.left_out) / most.count


def crossed(_: Folded, pairs: Sequence[Pair]) -> bool | None:
    """False where nothing to speak of crossed it in either run. That something did tells of no limit."""
    return False if all(level(side) < STILL for pair in pairs for side in (pair.traffic.a, pair.traffic.b)) else None


def rerouted(change: Folded, pairs: Sequence[Pair]) -> bool | None:
    """Whether it ceased in the run that lost the way, and the other way's grew there. Else nothing follows."""
    lost_in = _without(change)
    return True if any(_gave_way(pair, run) for pair in pairs for run in lost_in) else None


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
    """The run that has less of it: fewer links, or not the word for well; both where the values do not tell."""
    before, after = change.first.before, change.first.after
    if isinstance(before, int) and isinstance(after, int):
        return "a" if before < after else "b"
    if _is_well(before) is not _is_well(after):
        return "a" if _is_well(after) else "b"
    return "ab"


def _is_well(value: object) -> bool:
    return isinstance(value, str) and value in WELL
