"""Verdicts, and the lessons they must not forget."""

from math import exp
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fingerprint.statistics import Series, Start, assess, series
from tests.statistics.simulated import Case, draw, normal

LOG = (84.1, 80.65, 82.9, 85.3, 87.2, 86.0, 83.8, 89.0, 85.9, 86.6, 91.44, 84.7, 81.9, 88.3, 85.0, 86.3, 83.1, 87.7)
STEADY = series([[19.0], [19.1], [19.3], [19.2], [19.5]])
RESTARTS = (100.0, 103.0, 106.0, 108.0, 111.0)


def numbers(*values: float, epoch: str = "") -> Series:
    return series([[value] for value in values], epoch=epoch)


def lines(center: float, seed: int, n: int = 400, phi: float = 0.5) -> Series:
    case = Case(name="", samples=n, phi=phi, between=normal(0.0), noise=normal(0.04))
    return series([[center * sample for sample in draw(case, Random(seed), 0.0).a.samples]], "series")


# The lessons.


def test_a_number_within_the_logs_own_range_is_no_change() -> None:
    found = assess(series([LOG], "series"), series([[82.5]], "summary"), "higher")
    assert found.verdict == "same"
    assert "B's 82.5 lies within A's own range (80.65 to 91.44, 13 %)" in found.says
    turned = assess(series([[82.5]], "summary"), series([LOG], "series"), "higher")
    assert turned.verdict == "same"
    assert "A's 82.5 lies within B's own range" in turned.says


def test_a_peak_is_not_compared_with_a_typical_value() -> None:
    for a, b in ((numbers(82.5), series([[89]], "peak")), (series([[89]], "peak"), series([LOG], "series"))):
        found = assess(a, b, "higher")
        assert (found.verdict, found.ratio, found.ci) == ("unassessed", None, None)
        assert "89 is a peak, and a peak is not a typical value" in found.says
    assert "peak" not in assess(series([[89]], "peak"), series([[91]], "peak"), "higher").says


def test_two_numbers_of_unknown_spread_are_marked_and_unassessed() -> None:
    found = assess(numbers(19), numbers(30), "lower")
    assert (found.verdict, found.basis, found.is_marked) == ("unassessed", "none", True)
    assert found.says.startswith("58 % apart, and one number each: no spread is known")
    assert found.more.startswith("2 more starts each would tell a change of 58 %")
    assert not assess(numbers(19), numbers(20), "lower").is_marked


def test_a_small_effect_is_within_the_spread_across_restarts() -> None:
    five = assess(numbers(*RESTARTS), numbers(*(0.95 * x for x in RESTARTS)), "higher")
    assert (five.verdict, five.basis) == ("same", "starts")
    assert "B's 100.7 lies within A's own spread (100 to 111, 11 %)" in five.says
    one = assess(numbers(*RESTARTS), numbers(100.7), "higher")
    assert (one.verdict, one.basis) == ("same", "history")
    turned = assess(numbers(100.7), numbers(*RESTARTS), "higher")
    assert "A's 100.7 lies within B's own spread" in turned.says


# By starts.


def test_three_steady_starts_each_tell_a_tenth() -> None:
    found = assess(numbers(100, 101, 102), numbers(111, 112, 113), "lower")
    assert (found.verdict, found.basis, found.more) == ("worse", "starts", "")
    assert found.ratio == pytest.approx(112 / 101)
    assert found.medians == (101, 112)
    assert found.ci is not None
    assert found.ratio is not None
    assert 1 < found.ci[0] < found.ratio < found.ci[1]


@pytest.mark.parametrize(("better", "verdict"), [("lower", "worse"), ("higher", "better"), ("unknown", "changed")])
def test_the_direction_that_is_better_decides_the_word(better: str, verdict: str) -> None:
    assert assess(numbers(100, 101, 102), numbers(111, 112, 113), better).verdict == verdict  # type: ignore[arg-type]


def test_no_overlap_of_too_few_is_unassessed_and_says_how_many_more_would_do() -> None:
    found = assess(numbers(100, 101, 102), numbers(104, 107, 112), "lower")
    assert found.verdict == "unassessed"
    assert "no overlap, but too few to tell" in found.says
    assert found.more == "3 more starts each would tell a change of 5.9 %"


def test_many_samples_in_each_start_do_not_stand_for_starts() -> None:
    """Three starts each, of which each side's differ among themselves by more than A from B: their 1200 samples would
    tell A from B at once."""
    a = Series(tuple(lines(center, seed).starts[0] for seed, center in enumerate((100, 110, 120))), "series")
    b = Series(tuple(lines(center, seed).starts[0] for seed, center in enumerate((104, 114, 124), start=7))), "series"
    found = assess(a, Series(b[0].starts, "series"), "lower")
    assert (found.verdict, found.basis) == ("same", "starts")
    assert "more samples in each start would hardly help" in found.more


def test_starts_in_two_groups_are_said() -> None:
    found = assess(numbers(22.5, 25.5, 22.4, 25.6, 22.6), numbers(22.5, 25.4, 25.5, 22.4, 25.6), "lower")
    assert found.verdict == "same"
    assert "the starts of A fall into two groups: 3 around 22.5, 2 around 25.55" in found.notes


def test_what_never_varies_and_differs_is_a_change() -> None:
    assert assess(numbers(5, 5, 5), numbers(5.01, 5.01, 5.01), "lower").verdict == "worse"
    assert assess(numbers(5, 5, 5), numbers(5, 5, 5), "lower").says == "equal"


# By history.


def test_the_spread_of_other_starts_decides_between_two_numbers() -> None:
    far = assess(numbers(19.2), numbers(29.6), "lower", STEADY)
    assert (far.verdict, far.basis) == ("worse", "history")
    assert "5 other starts show" in far.says
    assert "not excluded: a rare mode" in far.says
    near = assess(numbers(19.2), numbers(19.4), "lower", STEADY)
    assert (near.verdict, near.basis) == ("same", "history")
    few = Series(STEADY.starts[:4])
    assert assess(numbers(19.2), numbers(29.6), "lower", few).verdict == "unassessed"


def test_an_effect_under_a_tenth_takes_more_starts_than_one_each() -> None:
    found = assess(numbers(19.2), numbers(20.6), "lower", STEADY)
    assert found.verdict == "unassessed"
    assert "under 10 %" in found.says
    assert found.more == "2 more starts each would tell a change of 7.3 %"
    fifteen = Series(STEADY.starts * 3)
    assert assess(numbers(19.2), numbers(20.6), "lower", fifteen).verdict == "worse"


def test_how_other_states_differ_is_no_spread_of_starts() -> None:
    fast, slow = (tuple(Start((level * x,), "", str(level)) for x in (0.99, 1.0, 1.01)) for level in (19.0, 29.0))
    mixed = tuple(Start(start.samples) for start in (*fast, *slow))
    assert assess(numbers(19.2), numbers(29.6), "lower", Series((*fast, *slow))).verdict == "worse"
    assert assess(numbers(19.2), numbers(29.6), "lower", Series(mixed)).verdict == "same"


def test_a_distance_beyond_a_doubling_is_told_alike_in_both_directions() -> None:
    assert assess(numbers(100), numbers(1)).says.startswith("x 100 apart")
    assert assess(numbers(1), numbers(100)).says.startswith("x 100 apart")
    assert assess(numbers(1), numbers(1.9)).says.startswith("90 % apart")


def test_a_history_in_two_groups_is_said() -> None:
    found = assess(numbers(19.2), numbers(29.6), "lower", numbers(19.1, 29.5, 19.2, 29.4, 29.7, 19.0))
    assert found.verdict == "same"
    assert any(note.startswith("the starts of the history fall into two groups") for note in found.notes)


# By samples.


def test_logs_of_one_start_each_tell_a_large_effect_and_not_a_small_one() -> None:
    large = assess(lines(19.2, 1), lines(29.6, 2), "lower")
    assert (large.verdict, large.basis) == ("worse", "samples")
    assert "400 samples of A, 400 of B, worth" in large.says
    assert "how starts differ by themselves is not known" in large.says
    small = assess(lines(19.2, 1), lines(20.6, 2), "lower")
    assert small.verdict == "unassessed"
    assert "beyond the samples' own spread, but 1 start of A, 1 of B" in small.says
    assert "more starts each would tell a change of 6.1 %" in small.more
    assert assess(lines(19.2, 1), lines(19.2, 2), "lower").verdict == "same"


def test_a_few_lines_of_one_process_tell_nothing_and_as_many_repeats_do() -> None:
    a, b = (10.0, 10.2, 10.1, 10.3, 9.9), (15.0, 15.1, 15.2, 14.9, 15.3)
    assert assess(series([a], "series"), series([b], "series"), "lower").verdict == "unassessed"
    assert assess(series([a], "repeats"), series([b], "repeats"), "lower").verdict == "worse"
    assert assess(series([a], "summary"), series([b], "summary"), "lower").basis == "none"


def test_a_median_that_jumps_between_two_modes_of_the_samples_is_no_change_of_that_size() -> None:
    """Both modes of B are 3 % slower, and about half of either side's samples are in the upper one, which is half as
    slow again: which of the modes a median lies in is chance."""
    chance = Random(1)

    def mixed(factor: float) -> Series:
        return series([[factor * chance.choice((1.0, 1.5)) * exp(chance.gauss(0, 0.005)) for _ in range(400)]])

    found = [assess(mixed(1.0), mixed(1.03), "lower") for _ in range(30)]
    assert sum(verdict.ratio is not None and abs(verdict.ratio - 1.03) > 0.2 for verdict in found) > 5
    assert not [verdict.says for verdict in found if verdict.verdict in ("worse", "better")]


def test_warm_up_is_left_out_and_said() -> None:
    slow = tuple(200.0 - 3 * i for i in range(30))
    warm = series([slow + lines(100.0, 1).samples], "series")
    found = assess(warm, lines(100.0, 2), "lower")
    assert found.verdict == "same"
    assert any("of 430 samples were warm-up" in note for note in found.notes)
    assert found.medians is not None
    assert found.medians[0] == pytest.approx(100, rel=0.02)


# Across epochs.


def test_across_a_border_the_spread_within_an_epoch_does_not_decide() -> None:
    here, there = (100, 100.2, 100.1, 99.9), (107.2, 107.3, 107.1, 107.4)
    assert assess(numbers(*here), numbers(*there), "lower").verdict == "worse"
    found = assess(numbers(*here, epoch="boot 1"), numbers(*there, epoch="boot 2"), "lower")
    assert found.verdict == "unassessed"
    assert "between them lies an epoch's border" in found.says
    assert "in 3 epochs each" in found.more


def test_three_epochs_a_side_are_compared_as_starts_are() -> None:
    def side(values: tuple[float, ...], name: str) -> Series:
        return Series(tuple(Start((value * x,), f"{name} {value}") for value in values for x in (1.0, 1.001)))

    found = assess(side((100, 101, 102), "a"), side((120, 121, 122), "b"), "lower")
    assert (found.verdict, found.basis) == ("worse", "starts")
    assert "3 epochs of A, 3 of B" in found.says


def test_other_epochs_tell_how_epochs_differ() -> None:
    history = Series(tuple(Start((value,), f"boot {value}") for value in (98.0, 100.0, 101.0, 103.0, 97.0)))
    a, b = numbers(100, 100.1, epoch="boot 8"), numbers(104, 104.1, epoch="boot 9")
    assert (assess(a, b, "lower", history).verdict, assess(a, b, "lower", history).basis) == ("same", "history")
    far = numbers(130, 130.1, epoch="boot 9")
    assert assess(a, far, "lower", history).verdict == "worse"


# What is no number above 0, and what is missing.


def test_values_of_0_are_ranked() -> None:
    found = assess(numbers(0, 1, 2, 3), numbers(7, 6, 4, 5), "lower")
    assert (found.verdict, found.ratio) == ("worse", None)
    assert assess(numbers(0, 5, 2, 7), numbers(6, 1, 4, 3), "lower").verdict == "same"
    assert assess(numbers(0), numbers(7), "lower").verdict == "unassessed"


def test_what_was_not_measured_is_told() -> None:
    assert assess(numbers(1), Series(), "lower").says == "not measured in B"
    assert assess(Series(), Series(), "lower").says == "not measured in A and B"


# What holds for all.

side = st.lists(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=30), min_size=1, max_size=6)
MIRROR = {"worse": "better", "better": "worse"}


@settings(deadline=None)
@given(side, side, side, st.sampled_from(["repeats", "series", "summary"]))
def test_exchanged_sides_give_the_mirrored_verdict(
    a: list[list[float]], b: list[list[float]], history: list[list[float]], kind: str
) -> None:
    x, y, others = (series(starts, kind) for starts in (a, b, history))  # type: ignore[arg-type]
    there, back = assess(x, y, "lower", others), assess(y, x, "lower", others)
    assert back.verdict == MIRROR.get(there.verdict, there.verdict)
    assert there.basis == back.basis
    if there.ci and back.ci and there.ratio and back.ratio:
        assert there.ratio == pytest.approx(1 / back.ratio)
        assert there.ci == (pytest.approx(1 / back.ci[1]), pytest.approx(1 / back.ci[0]))


@settings(deadline=None)
@given(side, side, st.floats(1e-3, 1e3))
def test_the_unit_changes_nothing(a: list[list[float]], b: list[list[float]], unit: float) -> None:
    def in_unit(starts: list[list[float]]) -> Series:
        return series([[x * unit for x in samples] for samples in starts])

    there, scaled = assess(series(a), series(b), "lower"), assess(in_unit(a), in_unit(b), "lower")
    assert there.ratio is None or there.ratio == pytest.approx(scaled.ratio)


@settings(deadline=None)
@given(side, side)
def test_every_verdict_says_why_and_its_interval_holds_the_ratio(a: list[list[float]], b: list[list[float]]) -> None:
    found = assess(series(a), series(b), "higher")
    assert found.says
    assert bool(found.more) == (found.verdict == "unassessed" or (found.verdict == "same" and found.says != "equal"))
    if found.ci and found.ratio:
        assert found.ci[0] <= found.ratio * exp(1e-9)
        assert found.ratio <= found.ci[1] * exp(1e-9)
