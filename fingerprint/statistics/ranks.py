"""The rank test of Mann and Whitney, with ties."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import comb, sqrt
from typing import Literal

import msgspec

from fingerprint.statistics.distributions import NORMAL

Method = Literal["exact", "normal"]

EXACT_PAIRS = 2500
"""Without ties: pairs up to which counting all orders is quick (1 ms)."""
EXACT_TIED = 24
"""With ties: values of both sides up to which it is."""


class RankTest(msgspec.Struct, frozen=True):
    """u: pairs in which the first side's value is the larger, ties half. p: two-sided."""

    u: float
    p: float
    method: Method


def rank_test(x: Sequence[float], y: Sequence[float], method: Method | None = None) -> RankTest:
    """Whether x tends to be larger or smaller than y. Exact where that is quick, unless told which method.

    Mann and Whitney, Annals of Mathematical Statistics 18 (1947) 50. With ties `exact` is the permutation
    distribution of the midranks: Lehmann, Nonparametrics (1975), sections 1.4 and A.1.
    """
    ranks = doubled_midranks([*x, *y])
    doubled_u = sum(ranks[: len(x)]) - len(x) * (len(x) + 1)
    chosen = method or _quick(len(x), len(y), ranks)
    p = _exact_p(doubled_u, len(x), ranks) if chosen == "exact" else _normal_p(doubled_u / 2, len(x), ranks)
    return RankTest(u=doubled_u / 2, p=min(1.0, p), method=chosen)


def doubled_midranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each; equal values share the mean of theirs. Doubled they are whole, and sums of them exact."""
    times = Counter(values)
    distinct = sorted(times)
    below = dict(zip(distinct, accumulate((times[value] for value in distinct), initial=0), strict=False))
    return [2 * below[value] + times[value] + 1 for value in values]


def _quick(n: int, m: int, ranks: Sequence[int]) -> Method:
    few = n + m <= EXACT_TIED if len(set(ranks)) < n + m else n * m <= EXACT_PAIRS
    return "exact" if few else "normal"


def _exact_p(doubled_u: int, n: int, ranks: Sequence[int]) -> float:
    m = len(ranks) - n
    if len(set(ranks)) == len(ranks):
        return 2 * share_at_or_below(min(doubled_u // 2, n * m - doubled_u // 2), n, m)
    ways = _ways_of_rank_sums(n, ranks)
    seen = doubled_u + n * (n + 1)
    low, high = (sum(w for total, w in ways.items() if fits(total)) for fits in (seen.__ge__, seen.__le__))
    return 2 * min(low, high) / comb(len(ranks), n)


def share_at_or_below(u: int, n: int, m: int) -> float:
    """Of all orders of n and m different values, those in which U is at most u."""
    return sum(orders_by_u(n, m)[: u + 1]) / comb(n + m, n)


@lru_cache(maxsize=256)
def orders_by_u(n: int, m: int) -> tuple[int, ...]:
    """How many orders of n and m different values have U = 0, 1, ... n m: the coefficients of a Gaussian binomial.

    Andrews, The Theory of Partitions (1976), section 3.2.
    """
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for u in range(n * m, m + i - 1, -1):
            counts[u] -= counts[u - m - i]
        for u in range(i, n * m + 1):
            counts[u] += counts[u - i]
    return tuple(counts)


def _ways_of_rank_sums(n: int, ranks: Sequence[int]) -> dict[int, int]:
    """In how many ways n of these ranks add up to each sum: value by value, how many of its equals are chosen."""
    ways: dict[tuple[int, int], int] = {(0, 0): 1}
    for rank, equals in sorted(Counter(ranks).items()):
        grown: dict[tuple[int, int], int] = defaultdict(int)
        for (chosen, total), count in ways.items():
            for more in range(min(equals, n - chosen) + 1):
                grown[chosen + more, total + more * rank] += count * comb(equals, more)
        ways = grown
    return {total: count for (chosen, total), count in ways.items() if chosen == n}


def _normal_p(u: float, n: int, ranks: Sequence[int]) -> float:
    """With the corrections for ties and continuity. Lehmann, Nonparametrics (1975), section 1.4."""
    size = len(ranks)
    m = size - n
    tied = sum(t**3 - t for t in Counter(ranks).values())
    deviation = sqrt(n * m / 12 * (size + 1 - tied / (size * (size - 1))))
    distance = max(u, n * m - u) - n * m / 2 - 0.5
    return 2 * NORMAL.cdf(-distance / deviation) if deviation else 1.0
