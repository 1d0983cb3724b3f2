"""What was observed while two runs ran: what is clearly not alike, device by device and told once for all."""

from collections.abc import Mapping

import pytest

from fingerprint.explain.contract import During
from fingerprint.runs.record import Distribution, Sample
from tests.diff.made_up import Card, rack
from tests.explain.subjects import explained, subject


def held(*samples: float, left_out: int = 0) -> Distribution:
    """By quantiles of 0, 5, 25, 50, 75, 95, 100 %."""
    ordered = sorted(samples)
    quantiles = tuple(ordered[round(q * (len(ordered) - 1))] for q in (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1))
    return Distribution(len(samples), sum(samples) / len(samples), quantiles, left_out)


def during(a: Mapping[str, Sample], b: Mapping[str, Sample]) -> tuple[During, ...]:
    made = rack(x=Card(uuid="1"), y=Card(uuid="2"))
    return explained(
        subject("A", area="rack", made=made, samples=a), subject("B", area="rack", made=made, samples=b)
    ).during


@pytest.mark.parametrize(("after", "is_told"), [(1800, True), (1950, False)])
def test_what_counts_under_load_only_is_told_where_it_is_a_twentieth_apart(after: int, is_told: bool) -> None:
    found = during({"rack/x/clock": held(*[1980] * 20)}, {"rack/x/clock": held(*[after] * 20)})
    assert [item.says for item in found] == ["median 1980 -> 1800 MHz"] * is_told


def test_what_held_now_and_then_is_told_as_a_share_of_the_samples() -> None:
    never, half = held(*[0] * 20), held(*[0, 1] * 10)
    [found] = during({"rack/x/busy": never}, {"rack/x/busy": half})
    assert found.says == "in 0 -> 50 % of the samples"
    assert during({"rack/x/busy": half}, {"rack/x/busy": held(*[0, 1] * 9, 0, 0)}) == ()


def test_the_same_on_several_devices_is_one_line_and_the_one_that_differs_most_is_named() -> None:
    full = held(*[1980] * 20)
    half, low = held(*[990] * 20), held(*[600] * 20)
    [found] = during({f"rack/{key}/clock": full for key in "xy"}, {"rack/x/clock": half, "rack/y/clock": low})
    assert (found.fact, found.on) == ("rack/*/clock", "2/2")
    assert found.says == "median 1980 -> 600 MHz, most on y"
    assert {path: b["mean"] for path, (_, b) in found.values.items()} == {"rack/x/clock": 990, "rack/y/clock": 600}


def test_of_several_devices_the_one_that_differs_is_counted_among_all() -> None:
    full = held(*[1980] * 20)
    [found] = during(
        {f"rack/{key}/clock": full for key in "xy"}, {"rack/x/clock": full, "rack/y/clock": held(*[9] * 20)}
    )
    assert (found.fact, found.on) == ("rack/y/clock", "1/2")


def test_what_was_clearly_not_alike_under_load_is_said_at_once_where_nothing_else_changed() -> None:
    full, half = ({"rack/x/clock": held(*[clock] * 20)} for clock in (1980, 990))
    made = rack(x=Card(uuid="1"))
    a, b = (subject(n, area="rack", made=made, samples=samples) for n, samples in (("A", full), ("B", half)))
    assert explained(a, b).headline.endswith("seen equal in both; rack/x/clock median 1980 -> 990 MHz.")
    assert "clock" not in explained(a, a).headline
