"""The usual interval for the ratio of two medians of series, as a yardstick for ours."""

from collections.abc import Sequence
from math import ceil, log, log10, sqrt
from random import Random
from statistics import fmean, median

RESAMPLES = 400


def block_length(samples: Sequence[float]) -> int:
    """Of a circular bootstrap. Politis and White, Econometric Reviews 23 (2004) 53, corrected ibid. 28 (2009) 372."""
    n = len(samples)
    middle = fmean(samples)
    centred = [sample - middle for sample in samples]
    runs = max(5, ceil(sqrt(log10(n))))
    furthest = min(n - 1, ceil(sqrt(n)) + runs)
    covariances = [sum(x * y for x, y in zip(centred, centred[lag:], strict=False)) / n for lag in range(furthest + 1)]
    if not covariances[0]:
        return 1
    limit = 2 * sqrt(log10(n) / n)
    clear = [lag for lag in range(1, furthest + 1) if abs(covariances[lag] / covariances[0]) > limit]
    last = next((lag for lag in range(furthest) if not any(lag < c <= lag + runs for c in clear)), furthest)
    reach = min(2 * max(last, 1), furthest)
    weights = [min(1.0, 2 * (1 - lag / reach)) for lag in range(reach + 1)]
    slope = 2 * sum(w * lag * covariances[lag] for lag, w in enumerate(weights))
    level = covariances[0] + 2 * sum(w * covariances[lag] for lag, w in enumerate(weights) if lag)
    if not level:
        return 1
    length = (2 * slope**2 / (4 / 3 * level**2)) ** (1 / 3) * n ** (1 / 3)
    return max(1, min(round(length), ceil(min(3 * sqrt(n), n / 3))))


def ratio_interval(a: Sequence[float], b: Sequence[float], chance: Random) -> tuple[float, float]:
    """95 %, by percentiles. Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapters 8 and 13."""
    lengths = block_length([log(x) for x in a]), block_length([log(x) for x in b])
    ratios = sorted(_median(b, lengths[1], chance) / _median(a, lengths[0], chance) for _ in range(RESAMPLES))
    return ratios[int(0.025 * RESAMPLES)], ratios[int(0.975 * RESAMPLES)]


def _median(samples: Sequence[float], length: int, chance: Random) -> float:
    drawn: list[float] = []
    while len(drawn) < len(samples):
        start = chance.randrange(len(samples))
        drawn += [samples[(start + i) % len(samples)] for i in range(length)]
    return median(drawn[: len(samples)])
