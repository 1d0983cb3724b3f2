"""The normal and Student's t distribution."""

from functools import lru_cache
from math import exp, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

NORMAL = NormalDist()
_MANY = 10_000.0  # degrees of freedom from which the normal distribution is the same to four digits
_EXACT = 1e-11


@lru_cache(maxsize=4096)
def t_quantile(p: float, degrees: float) -> float:
    """Student's t below which a share p lies, 0.5 <= p < 1. `degrees` need not be whole (Welch).

    By Newton's steps from the normal quantile, which is never above it. The tail is convex there, so that each step
    rises and none goes too far: what no longer rises has arrived.
    """
    t = NORMAL.inv_cdf(p)
    if degrees >= _MANY or t == 0:
        return t
    while (rise := (_t_tail(t, degrees) - (1 - p)) / _t_density(t, degrees)) > _EXACT * t:
        t += rise
    return t


def _t_density(t: float, degrees: float) -> float:
    front = exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2)) / sqrt(degrees * pi)
    return float(front * (1 + t * t / degrees) ** (-(degrees + 1) / 2))


def _t_tail(t: float, degrees: float) -> float:
    """The share above t >= 0. Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.1."""
    return _beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2


def _beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b). Ibid. 26.5.2 and 26.5.8."""
    if x in (0.0, 1.0):
        return x
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front / _beta_fraction(a, b, x) / a
    return 1 - front / _beta_fraction(b, a, 1 - x) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of 26.5.8 from its far end; sqrt(max(a, b)) terms are of the order needed."""
    value = 1.0
    for m in range(int(20 + sqrt(max(a, b))), 0, -1):
        value = 1 + m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m) * value)
        value = 1 - (a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1) * value)
    return value
