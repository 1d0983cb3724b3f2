"""Samples taken before the measured thing had settled."""

from collections.abc import Sequence
from itertools import accumulate
from statistics import fmean, median, quantiles

BATCH = 5
FEWEST_BATCHES = 8


def warm_up(samples: Sequence[float]) -> int:
    """How many of the first samples to leave out; 0 unless what goes is clearly not like what stays.

    MSER-5: cut where the standard error of the rest's mean would be least, in batches of five, within the first half.
    White, Simulation 69 (1997) 323; Franklin and White, Winter Simulation Conference (2008) 546. By itself it also cuts
    series that had settled, and then thinks them steadier than they are; so the cut stands only where the median of
    what goes lies outside of the middle 90 % of what stays.
    """
    if len(samples) < FEWEST_BATCHES * BATCH:
        return 0
    cut = BATCH * _least_error([fmean(samples[i : i + BATCH]) for i in range(0, len(samples) - BATCH + 1, BATCH)])
    return cut if cut and _is_apart(samples[:cut], samples[cut:]) else 0


def _least_error(means: Sequence[float]) -> int:
    """How many of the first to drop. Sums from the end, so that all cuts take one pass."""
    middle = fmean(means)
    centred = [value - middle for value in reversed(means)]
    sums, squares = (list(accumulate(value**power for value in centred)) for power in (1, 2))
    kept = range(len(means), len(means) // 2, -1)
    return len(means) - min(kept, key=lambda n: ((squares[n - 1] - sums[n - 1] ** 2 / n) / n**2, -n))


def _is_apart(gone: Sequence[float], stays: Sequence[float]) -> bool:
    bulk = quantiles(stays, n=20)
    return not bulk[0] <= median(gone) <= bulk[-1]
