"""The arithmetic itself, of plain numbers in s, tokens and tokens a second."""

from collections.abc import Mapping, Sequence
from math import log, log1p
from typing import NamedTuple


def throughput(accept_length: float, cycle: float) -> float:
    """2.0 tokens every 21.3 ms are 94 tokens a second. Without speculation a cycle is a step, and makes one token."""
    return accept_length / cycle


def break_even(plain: float, cycle: float) -> float:
    """The accept length from which on speculation pays: 82 tokens a second x 30 ms = 2.46."""
    return plain * cycle


def residual(cycle: float, parts: Sequence[float]) -> float:
    """What is left of a cycle; below 0 where its parts are longer than it is."""
    return cycle - sum(parts)


class Split(NamedTuple):
    """Logarithms of the factors by which each part multiplied throughput: they add up to `whole`."""

    whole: float
    accept_length: float
    parts: Mapping[str, float]

    @property
    def cycle(self) -> float:
        return sum(self.parts.values())


def split(accept: tuple[float, float], a: Mapping[str, float], b: Mapping[str, float]) -> Split:
    """A change of throughput by its causes. a, b: the same parts, which add up to the cycle; a part may be 0 or less.

    A part's share of a changed cycle is its own change divided by the cycle's logarithmic mean, so that nothing is
    left over: Ang, The LMDI approach to decomposition analysis, Energy Policy 33 (2005) 867.
    """
    before, after = sum(a.values()), sum(b.values())
    mean = _logarithmic_mean(before, after)
    parts = {name: -(b[name] - a[name]) / mean for name in a}
    grown = log(accept[1] / accept[0])
    return Split(grown - log(after / before), grown, parts)


def _logarithmic_mean(x: float, y: float) -> float:
    """By log1p, which loses nothing where both are nearly the same."""
    return x if x == y else (y - x) / log1p((y - x) / x)
