"""The far end of what was measured, by stretches that forget each other."""

import random

import pytest

from fingerprint.statistics import Series, Start, Verdict, assess, quantile, quantiles_of_stretches

requests = random.Random(7)


def latencies(count: int, slow: float = 0.0) -> tuple[float, ...]:
    """slow: the share that takes three times as long."""
    return tuple(requests.lognormvariate(3, 0.3) * (3 if requests.random() < slow else 1) for _ in range(count))


def judged(a: tuple[float, ...], b: tuple[float, ...], percent: float) -> Verdict:
    x, y = (Series((Start(quantiles_of_stretches(side, percent)),)) for side in (a, b))
    return assess(x, y, "lower")


def test_a_quantile_is_interpolated() -> None:
    assert quantile((1.0, 2.0, 3.0, 4.0), 50) == 2.5
    assert quantile(range(101), 99) == 99


@pytest.mark.parametrize(("count", "percent", "most"), [(399, 99, 0), (1000, 99, 5), (99, 5, 2), (79, 5, 0)])
def test_each_stretch_has_samples_beyond_its_quantile(count: int, percent: float, most: int) -> None:
    assert len(quantiles_of_stretches(latencies(count), percent)) <= most


def test_samples_that_remember_each_other_too_long_have_no_stretches() -> None:
    assert quantiles_of_stretches(tuple(map(float, range(800))), 99) == ()


def test_a_tail_that_grew_is_worse_and_one_that_did_not_is_hardly_ever_called_so() -> None:
    assert judged(latencies(2000), latencies(2000, slow=0.05), 99).verdict == "worse"
    verdicts = [judged(latencies(600), latencies(600), 99).verdict for _ in range(60)]
    assert sum(verdict in ("worse", "better") for verdict in verdicts) <= 3
