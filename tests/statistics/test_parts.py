"""The parts that a verdict is made of."""

from itertools import combinations, pairwise
from math import exp, inf, log, nan, sqrt
from random import Random
from statistics import fmean, median, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.statistics import Series, Start, components, modes, series, standing
from fingerprint.statistics.distributions import t_quantile
from fingerprint.statistics.memory import autocorrelation_time, blocks, effective_size
from fingerprint.statistics.ranks import rank_test
from fingerprint.statistics.series import by_epoch, lie_apart, settled
from fingerprint.statistics.shift import hodges_lehmann, shift, welch
from fingerprint.statistics.spread import pooled, rare_mode_alarm
from fingerprint.statistics.warmup import warm_up
from tests.statistics.simulated import Case, draw, normal

finite = st.floats(-1e6, 1e6)


def lines(phi: float, n: int, seed: int = 1) -> tuple[float, ...]:
    case = Case(name="", samples=n, phi=phi, noise=normal(0.05))
    return draw(case, Random(seed), 0.0).a.samples


# Distributions and intervals.


@pytest.mark.parametrize("degrees", [1, 1.5, 2, 2.7, 4, 13.3, 100, 9_999])
@pytest.mark.parametrize("p", [0.5, 0.8, 0.975, 0.9995])
def test_students_t_is_scipys(degrees: float, p: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert t_quantile(p, degrees) == pytest.approx(stats.t.ppf(p, degrees), rel=1e-8, abs=1e-12)


@given(st.floats(0.51, 0.99999), st.floats(1, 9_999))
def test_below_a_quantile_of_t_lies_its_share(p: float, degrees: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert stats.t.sf(t_quantile(p, degrees), degrees) == pytest.approx(1 - p, rel=1e-6)


def test_welchs_interval_is_scipys() -> None:
    stats = pytest.importorskip("scipy.stats")
    chance = Random(1)
    for _ in range(200):
        a, b = ([chance.gauss(0, s) for _ in range(chance.randint(2, 9))] for s in (1, 3))
        theirs = stats.ttest_ind(b, a, equal_var=False).confidence_interval()
        ours = welch(a, b)
        assert (ours.low, ours.high) == (pytest.approx(theirs.low, rel=1e-6), pytest.approx(theirs.high, rel=1e-6))


def test_hodges_and_lehmanns_interval_is_what_the_rank_test_does_not_refuse() -> None:
    chance = Random(2)
    for _ in range(200):
        a, b = ([chance.gauss(0, 1) for _ in range(chance.randint(4, 12))] for _ in range(2))
        found = hodges_lehmann(a, b)
        for at, refuses in ((found.low - 1e-9, True), (found.low + 1e-9, False), (found.high + 1e-9, True)):
            assert (rank_test(b, [x + at for x in a], "exact").p <= 0.05) == refuses


def test_the_interval_of_many_is_nearly_that_of_the_exact_test() -> None:
    chance = Random(3)
    a, b = ([chance.gauss(0, 1) for _ in range(51)] for _ in range(2))
    many, few = hodges_lehmann(a, b), hodges_lehmann(a[:-2], b[:-2])
    assert (many.low, many.high) == (pytest.approx(few.low, abs=0.1), pytest.approx(few.high, abs=0.1))


def test_three_against_three_that_overlap_are_never_clear() -> None:
    assert shift([1, 2, 3], [10, 11, 12]).is_clear
    assert not shift([1, 2, 10.5], [10, 11, 12]).is_clear
    assert not shift([0.99999, 1.00001, 2.00000], [2.00000, 2.0, 2.0]).is_clear


@given(st.lists(finite, min_size=2, max_size=9), st.lists(finite, min_size=2, max_size=9))
def test_exchanged_sides_give_the_mirrored_interval_and_it_holds_the_estimate(a: list[float], b: list[float]) -> None:
    there, back = shift(a, b), shift(b, a)
    assert there.low <= there.estimate <= there.high
    assert (there.low, there.high) == (pytest.approx(-back.high, abs=1e-6), pytest.approx(-back.low, abs=1e-6))


def test_widening_adds_as_independent_uncertainties_do() -> None:
    found = welch([1, 2, 3], [4, 5, 6]).widened(4.0)
    half = welch([1, 2, 3], [4, 5, 6]).high - 3
    assert found.high - 3 == pytest.approx(sqrt(half**2 + 16))


# Memory.


@pytest.mark.parametrize(("phi", "time"), [(0.0, 1), (0.5, 3), (0.9, 19)])
def test_the_autocorrelation_time_is_that_of_the_process(phi: float, time: float) -> None:
    found = median(autocorrelation_time(lines(phi, 2000, seed)) for seed in range(9))
    assert found == pytest.approx(time, rel=0.35)


def test_medians_of_blocks_have_forgotten_each_other() -> None:
    found = [blocks(lines(0.9, 4000, seed)) for seed in range(20)]
    assert all(10 <= len(medians) <= 32 for medians in found)
    assert fmean(_neighbours(medians) for medians in found) < 0.2 < _neighbours(lines(0.9, 4000))


def _neighbours(values: "list[float] | tuple[float, ...]") -> float:
    """The first autocorrelation."""
    middle = fmean(values)
    centred = [value - middle for value in values]
    return sum(x * y for x, y in pairwise(centred)) / sum(x * x for x in centred)


def test_a_walk_is_one_block_and_a_constant_has_no_memory() -> None:
    assert len(blocks([float(i) for i in range(200)])) == 1
    assert autocorrelation_time([5.0] * 100) == 1
    assert effective_size(lines(0.9, 2000)) < 300
    assert effective_size(lines(0.0, 2000)) > 1200


def test_a_hundred_thousand_lines_are_worth_what_they_are_although_they_are_thinned() -> None:
    short, long = lines(0.9, 4000), lines(0.9, 40_000)
    assert effective_size(long) / len(long) == pytest.approx(effective_size(short) / len(short), rel=0.5)


# Warm-up.


def test_a_slow_start_is_cut_and_a_settled_series_is_not() -> None:
    ramp = [2 - i / 30 for i in range(30)]
    cut = warm_up([*(x + y for x, y in zip(ramp, lines(0.0, 30), strict=True)), *lines(0.0, 200)])
    assert 20 <= cut <= 40
    assert sum(warm_up(lines(phi, 200, seed)) > 0 for seed in range(50) for phi in (0.0, 0.5)) <= 5


def test_a_short_series_is_left_alone_and_one_early_outlier_is_no_warm_up() -> None:
    assert warm_up([9.0, 1.0, 1.0, 1.0]) == 0
    assert warm_up([9.0, *lines(0.0, 100)]) == 0


# Spread, level by level.


def test_a_shift_between_groups_is_no_spread() -> None:
    found = pooled([[100, 102, 98], [200, 204, 196]])
    assert found.degrees == 4
    assert found.is_known
    assert found.deviation == pytest.approx(stdev([log(x) for x in (100, 102, 98)]), rel=1e-6)
    assert not pooled([[1.0], [2.0]]).is_known


def test_the_spread_within_starts_and_the_one_between_them_are_told_apart() -> None:
    case = Case(name="", starts=(60, 1), samples=100, between=normal(0.05), noise=normal(0.10))
    found = components(draw(case, Random(1), 0.0).a)
    assert found.between == pytest.approx(0.05, rel=0.3)
    assert found.within == pytest.approx(0.10 * 1.25 / sqrt(100), rel=0.3)
    alike = components(draw(Case(name="", starts=(60, 1), samples=100, between=normal(0.0)), Random(1), 0.0).a)
    assert alike.between is not None
    assert alike.between < 0.004 < alike.within
    assert components(series([[1.0, 2.0]])).between is None


def test_two_groups_of_starts_are_seen_and_one_group_hardly_ever_taken_for_two() -> None:
    found = modes([22.5, 25.5, 22.4, 25.6, 22.6, 25.4])
    assert found is not None
    assert (found.low, found.high, found.low_count, found.high_count) == (22.5, 25.5, 3, 3)
    chance = Random(1)
    for n in (5, 6, 8, 12, 20):
        assert sum(modes([exp(chance.gauss(0, 0.05)) for _ in range(n)]) is not None for _ in range(500)) <= 35


def test_one_outlier_or_a_gap_of_a_hundredth_is_no_second_group() -> None:
    assert modes([1, 1, 1, 1, 2]) is None
    assert modes([1, 1, 1, 1.01, 1.01, 1.01]) is None
    assert modes([0.0, 0.0, 1.0, 1.0, 1.0]) is None


def test_the_worst_alarm_of_a_rare_mode_is_what_counting_says() -> None:
    p = 1 / 7
    assert rare_mode_alarm(1, 1, 5) == pytest.approx(2 * p * (1 - p) ** 6, abs=2e-3)
    alarms = [rare_mode_alarm(1, 1, others) for others in range(20)]
    assert alarms == sorted(alarms, reverse=True)
    assert rare_mode_alarm(1, 1, 13) > 0.05 > rare_mode_alarm(1, 1, 14)
    assert rare_mode_alarm(2, 2, 5) < 0.05
    assert rare_mode_alarm(3, 3, 0) < 0.05


# What is compared.


def test_a_quoted_number_is_typical_or_a_peak() -> None:
    log_of_a_server = [80.65, 82.0, 83.1, 84.0, 85.2, 85.9, 86.4, 87.0, 88.1, 91.44]
    assert "a peak, above 90% of the 10 samples" in standing(89, log_of_a_server)
    assert "a peak, below 90% of the 10 samples" in standing(81, log_of_a_server)
    assert "typical" in standing(85.5, log_of_a_server)


@pytest.mark.parametrize("odd", [nan, inf, -inf])
def test_what_is_no_number_is_refused_by_name(odd: float) -> None:
    with pytest.raises(ValueError, match="only finite numbers"):
        Start((1.0, odd))


def test_a_start_without_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="no samples"):
        Start(())


def test_a_start_counts_once_however_often_it_was_sampled() -> None:
    assert series([[1.0], [2.0], [3.0] * 100]).median == 2


def test_epochs_count_once_however_many_starts_they_hold() -> None:
    of = Series((Start((1.0,), "boot 1"), Start((3.0,), "boot 1"), Start((9.0,), "boot 2")))
    assert [start.samples for start in by_epoch(of).starts] == [(2.0,), (9.0,)]


def test_sides_lie_apart_only_where_every_start_has_a_known_and_another_epoch() -> None:
    x, y, unknown = (series([[1.0]], epoch=epoch) for epoch in ("x", "y", ""))
    both = Series((*x.starts, *y.starts))
    assert lie_apart(x, y)
    assert not any(lie_apart(*pair) for pair in combinations([x, both, unknown], 2))


def test_settled_keeps_kind_and_epoch() -> None:
    found = settled(series([lines(0.0, 50)], "series", "boot"))
    assert (found.kind, found.starts[0].epoch, len(found.samples)) == ("series", "boot", 50)
