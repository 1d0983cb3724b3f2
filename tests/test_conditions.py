"""Which values of one reading count."""

from typing import Any

import pytest

from fingerprint.conditions import Conditions
from fingerprint.sections import leaves
from probes.kit.facts import Gap, Map, Section, Seen, config, state, telemetry
from tests.diff.made_up import Card, Rack, rack


def counted(section: Section, name: str) -> list[tuple[str, ...]]:
    """Names of the facts called so that count."""
    found = list(leaves(section))
    conditions = Conditions(found)
    return [leaf.names for leaf in found if leaf.names[-1:] == (name,) and conditions.hold_for(leaf)]


def test_a_value_counts_where_its_own_device_tells_that_the_condition_holds() -> None:
    two = rack(a=Card(busy=97, clock=1980), b=Card(busy=0, clock=210))
    assert counted(two, "clock") == [("a", "clock")]


@pytest.mark.parametrize("busy", [0, False, Gap("unsupported"), Gap("not_read")])
def test_what_nobody_tells_does_not_hold(busy: Any) -> None:
    assert counted(rack(a=Card(busy=busy, clock=210)), "clock") == []


def test_what_needs_no_condition_always_counts() -> None:
    assert counted(rack(a=Card(busy=0, limit=1)), "limit") == [("a", "limit")]


class Part(Section):
    at_work: Seen[bool] = telemetry("tells", "made up", tells="cpu busy")


class Engine(Section):
    speed: Seen[int] = state("settles", "made up", settled="cpu busy")
    part: Part = Part()


class Shop(Section):
    engines: Seen[Map[Engine]] = config("the engines", "made up")
    open: Seen[bool] = telemetry("tells for what tells nothing itself", "made up", tells="cpu busy")


def test_a_condition_told_in_a_part_holds_for_the_whole_item() -> None:
    shop = Shop(engines=Map({"1": Engine(speed=3, part=Part(at_work=True)), "2": Engine(speed=3)}))
    assert counted(shop, "speed") == [("engines", "1", "speed")]


def test_the_innermost_item_that_tells_decides() -> None:
    idle = Engine(speed=3, part=Part(at_work=False))
    shop = Shop(open=True, engines=Map({"idle": idle, "silent": Engine(speed=3)}))
    assert counted(shop, "speed") == [("engines", "silent", "speed")]


def test_an_area_that_is_a_gap_tells_nothing() -> None:
    assert counted(Rack(cards=Gap("absent")), "clock") == []
