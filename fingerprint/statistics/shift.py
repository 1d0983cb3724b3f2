"""Intervals for how far one side lies from the other: a difference, on logarithms a ratio."""

from collections.abc import Sequence
from functools import lru_cache
from math import comb, sqrt
from statistics import fmean, median, variance

import msgspec

from fingerprint.statistics.distributions import NORMAL, t_quantile
from fingerprint.statistics.ranks import EXACT_PAIRS, orders_by_u
from fingerprint.statistics.rules import TAIL


class Shift(msgspec.Struct, frozen=True):
    """By how much the second side lies higher, with its 95 % interval."""

    estimate: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        return self.low > 0 or self.high < 0

    def reaching(self, estimate: float) -> "Shift":
        """With this estimate, and an interval that holds it."""
        return Shift(estimate, min(self.low, estimate), max(self.high, estimate))

    def widened(self, half: float) -> "Shift":
        """By half the interval of another, independent uncertainty.

        Zou and Donner, Statistics in Medicine 27 (2008) 1693.
        """
        low = self.estimate - sqrt((self.estimate - self.low) ** 2 + half**2)
        high = self.estimate + sqrt((self.high - self.estimate) ** 2 + half**2)
        return Shift(self.estimate, low, high)


def shift(a: Sequence[float], b: Sequence[float]) -> Shift:
    """Hodges and Lehmann where ranks can tell at all, else Welch. Each side has at least two values.

    Welch alone trusts three values to be normal; so his interval is no witness unless the sides do not overlap, which
    chance brings about in 1 of 10 cases for three against three, whatever the distribution.
    """
    if ranks_can_tell(len(a), len(b)):
        return hodges_lehmann(a, b)
    found = welch(a, b)
    return found if max(a) < min(b) or max(b) < min(a) else found.reaching(0.0).reaching(found.estimate)


def ranks_can_tell(n: int, m: int) -> bool:
    """Whether the rarest order of n and m values is rarer than 5 %: from four against four, three against five."""
    return comb(n + m, n) * TAIL >= 1


def hodges_lehmann(a: Sequence[float], b: Sequence[float]) -> Shift:
    """The median of all differences, and those that the rank test does not refuse.

    Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963) 598; Lehmann, Nonparametrics (1975), section 2.6.
    """
    differences = sorted(y - x for x in a for y in b)
    out = refused(len(a), len(b))
    return Shift(median(differences), differences[out], differences[-1 - out])


@lru_cache(maxsize=1024)
def refused(n: int, m: int) -> int:
    """How many differences at either end lie outside of the 95 % interval, less one where that leaves all in."""
    if n * m > EXACT_PAIRS:
        return max(0, int(n * m / 2 + NORMAL.inv_cdf(TAIL) * sqrt(n * m * (n + m + 1) / 12)) - 1)
    allowed = TAIL * comb(n + m, n)
    below = 0
    for u, orders in enumerate(orders_by_u(n, m)):
        below += orders
        if below > allowed:
            return max(0, u - 1)
    raise AssertionError("all orders together are more than a share of them")


def welch(a: Sequence[float], b: Sequence[float]) -> Shift:
    """Student's t for unequal variances. Welch, Biometrika 34 (1947) 28."""
    shares = variance(a) / len(a), variance(b) / len(b)
    estimate, total = fmean(b) - fmean(a), sum(shares)
    if total == 0:
        return Shift(estimate, estimate, estimate)
    share = shares[0] / total
    degrees = 1 / (share**2 / (len(a) - 1) + (1 - share) ** 2 / (len(b) - 1))
    half = t_quantile(1 - TAIL, degrees) * sqrt(total)
    return Shift(estimate, estimate - half, estimate + half)
