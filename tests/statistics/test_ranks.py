"""The rank test is that of scipy."""

from random import Random

import pytest

from fingerprint.statistics.ranks import Method, doubled_midranks, orders_by_u, rank_test

stats = pytest.importorskip("scipy.stats")


def sides(chance: Random, levels: int | None, most: int) -> tuple[list[float], list[float]]:
    """Of unlike size and place; with `levels`, of few values."""

    def value(shift: float) -> float:
        return chance.gauss(shift, 1) if levels is None else float(chance.randrange(levels) + shift)

    return tuple([value(shift) for _ in range(chance.randint(2, most))] for shift in (0, 1))  # type: ignore[return-value]


@pytest.mark.parametrize(("method", "theirs"), [("exact", "exact"), ("normal", "asymptotic")])
def test_without_ties_it_equals_scipy_on_a_thousand_cases(method: Method, theirs: str) -> None:
    chance = Random(1)
    for _ in range(1000):
        x, y = sides(chance, None, 16)
        ours, other = rank_test(x, y, method), stats.mannwhitneyu(x, y, method=theirs)
        assert (ours.u, ours.p) == (other.statistic, pytest.approx(other.pvalue, abs=1e-12))


def test_with_ties_the_normal_approximation_equals_scipy_on_a_thousand_cases() -> None:
    chance = Random(2)
    for _ in range(1000):
        x, y = sides(chance, 6, 20)
        ours, other = rank_test(x, y, "normal"), stats.mannwhitneyu(x, y, method="asymptotic")
        if len({*x, *y}) > 1:
            assert (ours.u, ours.p) == (other.statistic, pytest.approx(other.pvalue, abs=1e-12))


def test_with_ties_the_exact_p_is_that_of_all_permutations() -> None:
    chance = Random(3)
    for _ in range(100):
        x, y = sides(chance, 4, 5)
        every = stats.PermutationMethod(n_resamples=100_000)
        assert rank_test(x, y, "exact").p == pytest.approx(stats.mannwhitneyu(x, y, method=every).pvalue, abs=1e-12)


def test_ranks_are_scipys_doubled() -> None:
    values = [3.0, 1.0, 3.0, 3.0, 2.0, 1.0]
    assert doubled_midranks(values) == [2 * rank for rank in stats.rankdata(values)]


def test_what_is_equal_throughout_differs_by_nothing() -> None:
    assert {rank_test([1.0] * 4, [1.0] * n, method).p for n in (4, 9) for method in ("exact", "normal")} == {1.0}


def test_large_sides_are_not_counted_order_by_order() -> None:
    chance = Random(4)
    x, y = ([chance.random() for _ in range(200)] for _ in range(2))
    assert rank_test(x, y).method == "normal"
    assert rank_test(x[:5], y[:5]).method == rank_test([1.0, 1.0, 2.0], [2.0, 3.0]).method == "exact"


def test_all_orders_are_counted() -> None:
    assert orders_by_u(2, 2) == (1, 1, 2, 1, 1)
    assert sum(orders_by_u(7, 5)) == 792
