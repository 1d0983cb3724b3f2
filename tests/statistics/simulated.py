"""Pairs of runs made up with a known effect, and how often `assess` is right about them."""

from collections.abc import Callable
from itertools import count
from math import exp, log, sqrt
from random import Random

import msgspec

from fingerprint.statistics import Series, Start, assess
from fingerprint.statistics.series import Kind

Draw = Callable[[Random], float]
"""The logarithm of one start's, epoch's or sample's own factor."""


def normal(deviation: float) -> Draw:
    return lambda chance: chance.gauss(0, deviation)


def heavy(deviation: float) -> Draw:
    """Student's t with three degrees of freedom, scaled to this standard deviation."""
    return lambda chance: chance.gauss(0, deviation) / sqrt(sum(chance.gauss(0, 1) ** 2 for _ in range(3)))


def skewed(deviation: float) -> Draw:
    """Never faster than a floor, as times are."""
    return lambda chance: chance.expovariate(1 / deviation)


def two_modes(distance: float, share: float, deviation: float) -> Draw:
    """A share of them is slower by that factor."""
    return lambda chance: chance.gauss(0, deviation) + (log(distance) if chance.random() < share else 0)


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """How pairs are made.

    starts   of A, of B
    others   of the history
    samples  in each start; 1: the start's own value alone
    phi      by how much a sample repeats the one before (autoregressive, order 1)
    kind     what the samples are
    epochs   of each side and of the history; 0: all starts share one
    effect   of B over A, for the power
    alarms   the highest share of alarms stated
    """

    name: str
    starts: tuple[int, int] = (1, 1)
    others: int = 0
    between: Draw = normal(0.02)
    samples: int = 1
    phi: float = 0.0
    kind: Kind = "series"
    noise: Draw = normal(0.05)
    epochs: int = 0
    across: Draw = normal(0.0)
    effect: float = 0.10
    alarms: float = 0.05


class Pair(msgspec.Struct, frozen=True):
    """offset: by how much these very starts of B lie above those of A, of logarithms, where each side has one."""

    a: Series
    b: Series
    history: Series
    offset: float


def draw(case: Case, chance: Random, effect: float) -> Pair:
    numbers = count()
    a, a_level = _side(case, chance, case.starts[0], 0.0, numbers)
    b, b_level = _side(case, chance, case.starts[1], log(1 + effect), numbers)
    history, _ = _side(case, chance, case.others, 0.0, numbers)
    return Pair(a, b, history, b_level - a_level)


def _side(case: Case, chance: Random, starts: int, shift: float, numbers: "count[int]") -> tuple[Series, float]:
    epochs = [(f"epoch {next(numbers)}", case.across(chance)) for _ in range(case.epochs)] or [("", 0.0)]
    made, level = [], 0.0
    for i in range(starts):
        epoch, offset = epochs[i % len(epochs)]
        level = shift + offset + case.between(chance)
        made.append(Start(tuple(exp(level + noise) for noise in _noise(case, chance)), epoch))
    return Series(tuple(made), case.kind), level


def _noise(case: Case, chance: Random) -> list[float]:
    if case.samples == 1:
        return [0.0]
    fresh = sqrt(1 - case.phi**2)
    noise = [case.noise(chance)]
    while len(noise) < case.samples:
        noise.append(case.phi * noise[-1] + fresh * case.noise(chance))
    return noise


class Rates(msgspec.Struct, frozen=True):
    """Shares of the pairs.

    alarms      one state compared with itself is called changed
    power       the effect is found, and its direction is right
    unassessed  of the pairs with the effect
    covered     the 95 % interval holds the truth
    """

    alarms: float
    power: float
    unassessed: float
    covered: float


def rates(case: Case, pairs: int, seed: int = 1) -> Rates:
    chance = Random(f"{case.name} {seed}")
    alarms = power = unassessed = covered = known = 0
    for _ in range(pairs):
        pair = draw(case, chance, 0.0)
        found = assess(pair.a, pair.b, "lower", pair.history)
        alarms += found.verdict in ("worse", "better")
        if found.ci:
            truth = pair.offset if found.basis == "samples" else 0.0
            known += 1
            covered += found.ci[0] <= exp(truth) <= found.ci[1]
        pair = draw(case, chance, case.effect)
        found = assess(pair.a, pair.b, "lower", pair.history)
        power += found.verdict == "worse"
        unassessed += found.verdict == "unassessed"
    return Rates(alarms / pairs, power / pairs, unassessed / pairs, covered / known if known else 1.0)
