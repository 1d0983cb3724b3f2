"""The pictures of numbers: round ticks within the axis, every value within the picture."""

import re

from hypothesis import given
from hypothesis import strategies as st

from fingerprint.explain.contract import Spread
from fingerprint.report.html.charts import axis_of, ratios, share, strip, ticks
from tests.report.cases import metric

numbers = st.floats(-1e12, 1e12, allow_nan=False, allow_subnormal=False).map(lambda number: float(f"{number:.4g}"))


def places(svg: str) -> list[float]:
    return [float(place) for place in re.findall(r'="(-?[\d.]+)%"', svg)]


@given(st.lists(numbers, min_size=1, max_size=30))
def test_ticks_are_few_and_lie_within_the_axis(values: list[float]) -> None:
    axis = axis_of(values)
    found = ticks(axis)
    assert 1 <= len(found) <= 9
    slack = 1e-9 * max(abs(axis.low), abs(axis.high))
    assert all(axis.low - slack <= at <= axis.high + slack for at in found)
    assert found == sorted(set(found))


@given(st.lists(numbers, min_size=1, max_size=30), st.lists(numbers, min_size=1, max_size=30))
def test_each_value_is_one_mark_within_the_picture(a: list[float], b: list[float]) -> None:
    one, other = (Spread(median=sorted(side)[len(side) // 2], n=len(side), each=tuple(side)) for side in (a, b))
    drawn = strip(metric("ms", "worse", 1, 2, a=one, b=other), ("A", "B"))
    assert drawn is not None
    assert drawn.count("<circle") == len(a)
    assert drawn.count("<path") == len(b)
    assert all(0 <= place <= 100 for place in places(drawn))


def test_a_side_without_values_has_no_picture() -> None:
    assert strip(metric("ms", "unassessed", 1, 2, b=None), ("A", "B")) is None


def test_twice_and_half_lie_equally_far_from_one() -> None:
    twice, half = metric("x", "worse", 1, 2), metric("y", "better", 2, 1)
    scale = ratios([twice, half])
    drawn = [scale.drawn(it) for it in (twice, half)]
    assert scale.ends == ("0.50", "2.00")
    far = [float(re.findall(r'cx="([\d.]+)%"', svg or "")[0]) for svg in drawn]
    assert far == [96.0, 4.0]


def test_what_cannot_be_a_ratio_is_not_drawn() -> None:
    assert ratios([]).drawn(metric("x", "unassessed", 1, 2, ratio=None)) is None
    assert ratios([]).drawn(metric("x", "changed", 1, 2, ratio=0.0)) is None


def test_a_share_is_at_most_the_whole() -> None:
    assert max(places(share(5, 20, 10))) == 100
    assert "100 % of the change at most" in share(5, 20, 10)
