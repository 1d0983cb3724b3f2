"""The far end of what was measured: the slowest requests, which a median does not know."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor

from fingerprint.statistics.memory import SPAN, autocorrelation_time

_BEYOND = 2
"""Samples of a stretch that lie beyond its quantile."""


def quantile(samples: Sequence[float], percent: float) -> float:
    """By linear interpolation."""
    ordered = sorted(samples)
    at = (len(ordered) - 1) * percent / 100
    below = floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


def rarity(percent: float) -> float:
    """The share of the samples that lie beyond, on the nearer end."""
    return min(percent, 100 - percent) / 100


@lru_cache(maxsize=256)
def quantiles_of_stretches(samples: tuple[float, ...], percent: float) -> tuple[float, ...]:
    """Of successive stretches, each long enough to have such a tail and to forget the one before; none where that
    leaves fewer than two of them."""
    needed = _BEYOND / rarity(percent)
    if len(samples) < 2 * needed:
        return ()
    size = ceil(max(needed, SPAN * autocorrelation_time(samples)))
    count = len(samples) // size
    if count < 2:
        return ()
    ends = [at * len(samples) // count for at in range(count + 1)]
    return tuple(quantile(samples[begin:end], percent) for begin, end in pairwise(ends))
