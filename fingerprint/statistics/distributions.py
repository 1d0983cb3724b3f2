"""The normal and Student's t distribution."""

from functools import lru_cache
from math import exp, lgamma, log, log1p, sqrt
from statistics import NormalDist

NORMAL = NormalDist()
_MANY = 10_000.0  # degrees of freedom from which the normal distribution is the same to four digits


@lru_cache(maxsize=4096)
def t_quantile(p: float, degrees: float) -> float:
    """Student's t below which a share p lies, 0.5 <= p < 1. `degrees` need not be whole (Welch).

    By bisection of the tail: no start value can lead it astray.
    """
    if degrees >= _MANY:
        return NORMAL.inv_cdf(p)
    low, high = 0.0, 1.0
    while _t_tail(high, degrees) > 1 - p:
        low, high = high, high * 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_tail(middle, degrees) > 1 - p else (low, middle)
    return (low + high) / 2


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
    for step in range(2 * int(20 + sqrt(max(a, b))), 0, -1):
        value = 1 + _beta_term(a, b, x, step) / value
    return value


def _beta_term(a: float, b: float, x: float, step: int) -> float:
    m = step // 2
    if step % 2 == 0:
        return m * (b - m) * x / ((a + step - 1) * (a + step))
    return -(a + m) * (a + b + m) * x / ((a + step - 1) * (a + step))
