"""The arithmetic of plain numbers: a split leaves nothing over, and is the same from either side."""

from math import exp, isclose, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.explain.arithmetic.identities import break_even, residual, split, throughput

TIMES = st.floats(1e-5, 10)
TOKENS = st.floats(1, 16)


@pytest.mark.parametrize(("accept", "cycle", "rate"), [(2.0, 21.3e-3, 94), (2.0, 33.3e-3, 60), (1.0, 1 / 82, 82)])
def test_throughput_is_accept_length_by_cycle(accept: float, cycle: float, rate: float) -> None:
    assert round(throughput(accept, cycle)) == rate


@pytest.mark.parametrize(("plain", "needed"), [(82, 2.46), (100, 3.0)])
def test_a_cycle_of_30_ms_pays_from_this_accept_length_on(plain: float, needed: float) -> None:
    assert break_even(plain, 30e-3) == pytest.approx(needed)


@given(TOKENS, TIMES, TIMES)
def test_at_break_even_both_are_equally_fast(accept: float, cycle: float, step: float) -> None:
    assert throughput(break_even(1 / step, cycle), cycle) == pytest.approx(1 / step)


def test_a_residual_is_below_0_where_parts_are_longer_than_the_whole() -> None:
    assert residual(30, [28, 1]) == 1
    assert residual(30, [28, 4]) == -2


def cycles(times: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip(("draft", "verify", "rest"), times, strict=True))


SIDE = st.tuples(TIMES, TIMES, TIMES).map(cycles)


@given(TOKENS, TOKENS, SIDE, SIDE)
def test_the_parts_of_a_split_add_up_to_the_whole(x: float, y: float, a: dict[str, float], b: dict[str, float]) -> None:
    found = split((x, y), a, b)
    expected = log(throughput(y, sum(b.values())) / throughput(x, sum(a.values())))
    assert isclose(found.whole, expected, abs_tol=1e-9)
    assert isclose(found.accept_length + sum(found.parts.values()), found.whole, abs_tol=1e-6)


@given(TOKENS, TOKENS, SIDE, SIDE)
def test_swapping_the_sides_negates_every_part(x: float, y: float, a: dict[str, float], b: dict[str, float]) -> None:
    one, other = split((x, y), a, b), split((y, x), b, a)
    assert isclose(one.whole, -other.whole, abs_tol=1e-9)
    for name, part in one.parts.items():
        assert isclose(part, -other.parts[name], rel_tol=1e-6, abs_tol=1e-9)


@given(TOKENS, TOKENS, SIDE, SIDE, st.sampled_from([1e-3, 1e3]))
def test_the_unit_of_time_changes_no_part(
    x: float, y: float, a: dict[str, float], b: dict[str, float], unit: float
) -> None:
    one = split((x, y), a, b)
    scaled = split((x, y), *({name: time * unit for name, time in side.items()} for side in (a, b)))
    for name, part in one.parts.items():
        assert isclose(part, scaled.parts[name], rel_tol=1e-6, abs_tol=1e-9)


def test_a_part_that_alone_changed_is_all_of_it() -> None:
    found = split((2.0, 2.0), {"verify": 19e-3, "rest": 2e-3}, {"verify": 30e-3, "rest": 2e-3})
    assert found.parts["verify"] == pytest.approx(found.whole)
    assert exp(found.whole) == pytest.approx(21 / 32)


def test_a_cycle_that_stood_still_splits_by_what_its_parts_exchanged() -> None:
    found = split((2.0, 3.0), {"draft": 1.0, "verify": 3.0}, {"draft": 2.0, "verify": 2.0})
    assert found.cycle == 0
    assert found.parts == {"draft": -0.25, "verify": 0.25}
