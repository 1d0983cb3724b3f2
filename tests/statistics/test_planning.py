"""What a plan promises holds in simulation."""

from math import log1p
from random import Random

import pytest

from fingerprint.statistics import assess, plan, series
from fingerprint.statistics.planning import advice, starts_for
from tests.statistics.simulated import Case, draw, normal, rates


@pytest.mark.parametrize("starts", [3, 4, 5, 8, 15])
def test_what_can_be_resolved_is_found_in_four_of_five(starts: int) -> None:
    planned = plan(0.02, starts)
    assert planned.resolves is not None
    case = Case(name="planned", starts=(starts, starts), between=normal(log1p(0.02)), effect=planned.resolves)
    assert rates(case, 400).power == pytest.approx(0.80, abs=0.07)


def test_more_starts_resolve_less_and_a_smaller_effect_takes_more() -> None:
    resolved = [plan(0.02, n).resolves or 0 for n in range(3, 40)]
    assert resolved == sorted(resolved, reverse=True)
    needs = plan(0.05, 3, 0.01).needs
    assert list(needs) == [0.01, 0.05, 0.10]
    assert needs[0.01] is not None
    assert needs[0.05] is not None
    assert needs[0.01] > needs[0.05] > (needs[0.10] or 0) >= 3


def test_the_starts_needed_are_the_fewest_that_resolve_it() -> None:
    for effect in (0.03, 0.05, 0.2):
        needed = starts_for(0.02, effect)
        assert needed is not None
        assert log1p(plan(0.0202, needed - 1).resolves or 9) > effect or needed == 3
        assert log1p(plan(0.0201, needed).resolves or 9) < effect * 1.02


def test_an_unknown_spread_is_said_and_one_start_of_it_tells_nothing() -> None:
    three = plan(None, 3)
    assert (three.is_known, three.deviation) == (False, 0.05)
    assert three.says.startswith("The spread between starts is unknown; taken as 5 %.")
    one = plan(None, 1)
    assert one.resolves is None
    assert "1 start on each side cannot resolve a change without other starts" in one.says


def test_history_tells_the_spread_and_makes_one_start_worth_something() -> None:
    history = series([[19.0], [19.1], [19.3], [19.2], [19.5]])
    planned = plan(history, 1)
    assert planned.is_known
    assert "from 5 starts" in planned.says
    assert planned.resolves == pytest.approx(0.11, abs=0.01)
    assert (plan(series([[v] for v in (19.0, 19.1, 19.3, 19.2, 19.5) * 4]), 1).resolves or 9) < 0.05


def test_what_one_start_can_resolve_against_a_history_is_found_in_four_of_five() -> None:
    history = draw(Case(name="", starts=(15, 1)), Random(1), 0.0).a
    resolves = plan(history, 1).resolves
    assert resolves is not None
    chance = Random(2)
    pairs = [draw(Case(name=""), chance, resolves) for _ in range(400)]
    found = sum(assess(pair.a, pair.b, "lower", history).verdict == "worse" for pair in pairs)
    assert found / len(pairs) == pytest.approx(0.80, abs=0.12)


def test_few_or_impossible_others_tell_no_spread() -> None:
    assert not plan(series([[1.0], [2.0]]), 3).is_known
    assert not plan(series([[0.0], [2.0], [1.0], [2.0], [3.0]]), 3).is_known


@pytest.mark.parametrize(("starts", "effect"), [(0, None), (3, 0.0), (3, -0.1)])
def test_what_cannot_be_planned_is_refused(starts: int, effect: float | None) -> None:
    with pytest.raises(ValueError, match="at least one start on each side, and an effect above 0"):
        plan(None, starts, effect)


def test_what_would_take_very_many_is_not_advised() -> None:
    assert advice(0.05, 3, 0.001, is_known=True) == "10 more starts each would tell a change of 6.3 %"
    assert advice(0.02, 3, 0.05, is_known=True) == "2 more starts each would tell a change of 5.1 %"
    assert advice(0.05, 1, 0.5, is_known=False).endswith(", if starts spread by 5 %")
    assert starts_for(0.05, 1e-6) is None


def test_how_two_states_differ_is_no_spread_of_starts() -> None:
    slow, fast = ([[value * state] for value in (100, 101, 99, 100)] for state in (1.5, 1))
    assert plan([series(slow), series(fast)], 4).deviation < 0.02
    assert plan(series([*slow, *fast]), 4).deviation > 0.15
