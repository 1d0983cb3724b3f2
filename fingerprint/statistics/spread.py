"""How far values differ with nothing changed, and on what level: within a start, between starts."""

from collections.abc import Iterable, Sequence
from math import log, sqrt
from statistics import fmean, median, variance

import msgspec

from fingerprint.statistics.distributions import t_quantile
from fingerprint.statistics.memory import blocks
from fingerprint.statistics.rules import BEYOND_WIDEST, KNOWN_FROM, TAIL
from fingerprint.statistics.series import Series, settled, typical_values


class Spread(msgspec.Struct, frozen=True):
    """Of logarithms. widest: between two values of one group."""

    deviation: float
    degrees: int
    widest: float

    @property
    def is_known(self) -> bool:
        return self.degrees >= KNOWN_FROM


def pooled(groups: Iterable[Sequence[float]]) -> Spread:
    """Of positive values around their own group's middle: a shift between groups is no spread.

    The analysis of variance's error term: Box, Hunter and Hunter, Statistics for Experimenters (2005), section 4.1.
    """
    logs = [[log(value) for value in group] for group in groups if group]
    degrees = sum(len(group) - 1 for group in logs)
    squares = sum((value - fmean(group)) ** 2 for group in logs for value in group)
    widest = max((max(group) - min(group) for group in logs), default=0.0)
    return Spread(sqrt(squares / degrees) if degrees else 0.0, degrees, widest)


def half_interval(spread: Spread, n: int, m: int) -> float:
    """Half the 95 % interval of the difference of n and m values' middles; more than was seen between any two values,
    because few of them do not show how long the tail of their distribution is."""
    student = t_quantile(1 - TAIL, spread.degrees) * spread.deviation * sqrt(1 / n + 1 / m)
    return max(student, BEYOND_WIDEST * spread.widest)


class Components(msgspec.Struct, frozen=True):
    """Standard deviations of logarithms. within: of what a start's median says about its start. between: of starts,
    beyond what the former explains; None where there are not two starts."""

    within: float
    between: float | None


def components(of: Series) -> Components:
    """By moments: the variance of the starts' medians is `between` and `within` squared and added.

    Searle, Casella and McCulloch, Variance Components (1992), section 3.6. Positive samples.
    """
    kept = settled(of)
    within = fmean([_error_of_median(start.samples) ** 2 for start in kept.starts]) if kept.starts else 0.0
    if len(kept.starts) < 2:
        return Components(sqrt(within), None)
    total = variance([log(value) for value in typical_values(kept)])
    return Components(sqrt(within), sqrt(max(0.0, total - within)))


def _error_of_median(samples: Sequence[float]) -> float:
    parts = [log(part) for part in blocks(samples)]
    return sqrt(variance(parts) / len(parts)) if len(parts) > 1 else 0.0


class Modes(msgspec.Struct, frozen=True):
    """Two groups of values: how many are in each, and the middle of each."""

    low: float
    high: float
    low_count: int
    high_count: int


FEWEST_IN_MODE = 2
FEWEST_FOR_MODES = 5
SLIGHT = log(1.02)
"""A distance below which two groups are not worth a word."""


def cleft(n: int) -> float:
    """Share of the whole range that the widest gap of n values must take: a normal group shows that in 1 of 20 cases or
    fewer (docs/statistics.md)."""
    return 0.3 + 1.75 / n


def modes(values: Sequence[float]) -> Modes | None:
    """Two groups of positive values, where a gap parts them that is wide against their own widths; else None.

    The largest gap: Engelman and Hartigan, Journal of the American Statistical Association 64 (1969) 1647.
    """
    ordered = sorted(values)
    if len(ordered) < FEWEST_FOR_MODES or ordered[0] <= 0:
        return None
    cut = max(range(FEWEST_IN_MODE, len(ordered) - FEWEST_IN_MODE + 1), key=lambda i: ordered[i] / ordered[i - 1])
    gap, whole = log(ordered[cut] / ordered[cut - 1]), log(ordered[-1] / ordered[0])
    if gap < SLIGHT or gap < cleft(len(ordered)) * whole:
        return None
    return Modes(median(ordered[:cut]), median(ordered[cut:]), cut, len(ordered) - cut)


def rare_mode_alarm(n: int, m: int, others: int) -> float:
    """How often, at worst, n and m starts of one state lie in two different modes of it while `others` more starts
    show only one of them. That is what no test can tell from a change.

    With a share p of starts in the rare mode: p^n (1-p)^(m+others), and the same with n and m exchanged; the worst p.
    """
    return max(
        p**n * (1 - p) ** (m + others) + (p**m * (1 - p) ** (n + others))
        for p in (step / 200 for step in range(1, 100))
    )
