"""Whether a change is more than chance, against scipy where that has an answer."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.statistics import FEWEST, LEAST, student, widest_by_chance

positive = st.floats(1e-3, 1e9)


@pytest.mark.parametrize("degrees", [4, 5, 7, 10, 11, 15, 29, 30, 400])
def test_students_t_is_that_of_scipy_or_a_little_more(degrees: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    exact = stats.t.ppf(1 - 0.001 / 2, degrees)
    assert exact - 0.001 <= student(degrees) <= exact * 1.12


@given(st.lists(positive, max_size=FEWEST - 1))
def test_few_runs_tell_no_spread(values: list[float]) -> None:
    assert widest_by_chance(values) is None


@given(st.lists(positive, min_size=FEWEST), st.floats(0.5, 2))
def test_the_spread_has_no_unit_and_covers_the_runs_it_is_known_from(values: list[float], factor: float) -> None:
    widest = widest_by_chance(values)
    assert widest is not None
    assert widest >= max(LEAST, max(values) / min(values))
    assert widest_by_chance([value * factor for value in values]) == pytest.approx(widest, rel=1e-6)


def test_a_value_of_zero_tells_no_spread() -> None:
    assert widest_by_chance([0, 1, 2, 3, 4, 5]) is None


@pytest.mark.parametrize("known", [5, 8, 20])
def test_pairs_of_one_state_are_hardly_ever_called_a_change(known: int) -> None:
    """Log-normal times with one in ten half as long again, as on a busy machine."""
    chance = random.Random(7)

    def seconds() -> float:
        return chance.lognormvariate(0, 0.05) * (1.5 if chance.random() < 0.1 else 1)

    def alarms() -> bool:
        widest = widest_by_chance([seconds() for _ in range(known)])
        a, b = seconds(), seconds()
        return widest is not None and max(a / b, b / a) > widest

    assert sum(alarms() for _ in range(1000)) <= 100


def test_a_doubling_is_seen_against_a_steady_benchmark() -> None:
    widest = widest_by_chance([4.0, 4.02, 3.99, 4.05, 4.01, 3.97])
    assert widest is not None
    assert widest < 2
