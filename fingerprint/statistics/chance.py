"""Whether a metric's change is more than chance. Standard library only."""

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import stdev

FEWEST = 5
"""Runs from which a spread is known."""
LEAST = 1.10
"""A ratio below this is never called a change: one command timed twice differed by more in 10 of 40 idle pairs."""

# Student's t, two-sided 0.1 %, by degrees of freedom; in between, the next smaller one's (larger) value holds.
_T = {4: 8.610, 5: 6.869, 6: 5.959, 7: 5.408, 8: 5.041, 9: 4.781, 10: 4.587, 12: 4.318, 15: 4.073, 20: 3.850, 30: 3.646}


def widest_by_chance(values: Sequence[float]) -> float | None:
    """The ratio, above 1, that two single values of this spread stay within by chance; None where it is not known.

    The larger of two: the 99.9 % prediction interval for the quotient of two log-normal values, and the square of
    the widest ratio seen, because times on a busy machine have a long tail that no small sample shows.
    """
    if len(values) < FEWEST or min(values) <= 0:
        return None
    logs = [log(value) for value in values]
    predicted = exp(student(len(values) - 1) * sqrt(2) * stdev(logs))
    return max(LEAST, predicted, (max(values) / min(values)) ** 2)


def student(degrees: int) -> float:
    """The two-sided 0.1 % point of Student's t, rounded up to a tabled one."""
    return _T[max(tabled for tabled in _T if tabled <= degrees)]
