"""Samples that remember each other, as the lines of a log do: what they are worth, and blocks that forget."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil
from operator import mul
from statistics import fmean, median

from fingerprint.statistics.ranks import doubled_midranks

SPAN = 4
"""A block's length in autocorrelation times: then neighbouring blocks hardly know each other (docs/statistics.md)."""
MOST_BLOCKS = 32
MOST_SAMPLES = 4096
"""Beyond this, medians of neighbours stand for the samples: that keeps long memory and the answer quick."""


def autocorrelation_time(samples: Sequence[float]) -> float:
    """Over how many samples one independent sample's worth of information stretches; 1 where they are independent.

    1 plus twice the sum of the autocorrelations, up to where the sum of two neighbouring ones is no longer positive:
    Geyer, Statistical Science 7 (1992) 473, section 3.3. Of ranks, because a heavy tail hides memory from the values.
    Short samples hide it too, since each autocorrelation comes out too low by about this time over their number
    (Marriott and Pope, Biometrika 41 (1954) 390); that is made up for as far as simulation shows it to help.
    """
    ranks = doubled_midranks(samples)
    middle = fmean(ranks)
    centred = [rank - middle for rank in ranks]
    power = sum(map(mul, centred, centred))
    if not power:
        return 1.0
    total = -1.0
    for pair in _pairs(centred, power):
        if pair <= 0:
            break
        total += 2 * pair
    shown = max(1.0, total)
    return 1.0 if shown == 1 else min(len(samples), shown / max(1 - 2 * shown / len(samples), 1 / len(samples)))


def _pairs(centred: Sequence[float], power: float) -> Iterator[float]:
    """Sums of the autocorrelations at lags 0 and 1, 2 and 3, and so on."""
    for lag in range(0, len(centred) // 2, 2):
        even, odd = (sum(map(mul, centred, centred[step:])) for step in (lag, lag + 1))
        yield (even + odd) / power


def effective_size(samples: Sequence[float]) -> float:
    """How many independent samples these are worth. Kish, Survey Sampling (1965), section 8.2, for time series."""
    thinned = _thinned(samples)
    return len(samples) / (autocorrelation_time(thinned) * len(samples) / len(thinned)) if samples else 0.0


def blocks(samples: Sequence[float]) -> list[float]:
    """Medians of successive blocks, long enough for the medians to be as good as independent: their number is chosen
    by the autocorrelation time. One block where the samples remember too long for two.

    Batch means, of medians: Schmeiser, Operations Research 30 (1982) 556, who also says why more than 30 gain nothing.
    """
    thinned = _thinned(samples)
    time = autocorrelation_time(thinned)
    length = 1 if time == 1 else ceil(SPAN * time)
    return _medians(thinned, max(1, min(MOST_BLOCKS, len(thinned) // length)))


def _thinned(samples: Sequence[float]) -> Sequence[float]:
    return samples if len(samples) <= MOST_SAMPLES else _medians(samples, MOST_SAMPLES)


def _medians(samples: Sequence[float], count: int) -> list[float]:
    borders = [i * len(samples) // count for i in range(count + 1)]
    return [median(samples[low:high]) for low, high in pairwise(borders)]
