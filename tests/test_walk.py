"""Two sections side by side, those that are one collection and nothing else included."""

from msgspec.structs import replace

from fingerprint.walk import MISSING, Difference, differences, explained, overlaid, spread, value_at, without
from probes.kit.facts import NOT_READ, Gap, Map, Section, Seen, config
from tests.diff.made_up import Device, Links, Made


class Rack(Section):
    """One collection: its paths omit the name of the field."""

    devices: Seen[Map[Device]] = config("what is there", "made up")


def rack(**limits: int) -> Rack:
    return Rack(devices=Map({slot: Device(limit=limit) for slot, limit in limits.items()}))


def test_a_difference_names_its_place_and_what_it_shares_with_other_devices() -> None:
    (found,) = differences(rack(a=1, b=2), rack(a=1, b=3))
    assert (found.names, found.pattern, found.item) == (("b", "limit"), (None, "limit"), "b")
    assert (found.before, found.after) == (2, 3)


def test_the_key_of_a_leaf_is_part_of_what_it_is_and_not_of_where() -> None:
    (found,) = differences(Made(variables=Map({"X": "1"})), Made(variables=Map({"X": "2"})))
    assert (found.pattern, found.item) == (("variables", "X"), "X")


def test_an_item_that_came_is_one_difference() -> None:
    assert list(differences(rack(a=1), rack(a=1, b=2))) == [
        Difference(("b",), (None,), Rack.__facts__["devices"], MISSING, Device(limit=2), "b")
    ]


def test_a_collection_that_became_a_gap_is_one_difference() -> None:
    (found,) = differences(rack(a=1), Rack(devices=Gap("denied")))
    assert (found.names, found.after) == ((), Gap("denied"))


def test_what_lies_below_fills_gaps_and_adds_no_keys() -> None:
    above = Made(mode=Gap("denied"), bytes=1, links=Links(width=NOT_READ), variables=Map({"X": Gap("failed")}))
    below = Made(mode="a", bytes=2, links=Links(width=4), variables=Map({"X": "1", "Y": "2"}))
    assert overlaid(above, below) == Made(mode="a", bytes=1, links=Links(width=4), variables=Map({"X": "1"}))


def test_a_gap_is_told_why_by_another_of_its_code_and_by_nothing_else() -> None:
    short = Made(mode=Gap("denied"), bytes=1, ratio=Gap("failed"), variables=Map({"X": Gap("failed")}))
    why = Made(mode=Gap("denied", "why"), bytes=2, ratio=Gap("denied", "no"))
    told = explained(short, replace(why, variables=Map({"X": Gap("failed", "so"), "Y": "2"})))
    assert told == short
    gaps = (told.mode, told.ratio, value_at(told, ("variables", "X")))
    assert [gap.detail for gap in gaps if isinstance(gap, Gap)] == ["why", "", "so"]


def test_what_is_taken_out_was_never_read() -> None:
    full = Made(mode="a", links=Links(width=4), variables=Map({"X": "1", "Y": "2"}))
    assert without(full, [("mode",), ("links", "width"), ("variables", "X")]) == Made(
        links=Links(), variables=Map({"Y": "2"})
    )
    assert without(rack(a=1, b=2), [("a",), ("b", "limit")]) == Rack(devices=Map({"b": Device()}))


def test_a_value_is_found_by_its_names() -> None:
    assert value_at(rack(a=1), ("a", "limit")) == 1
    assert value_at(rack(a=1), ("b", "limit")) is MISSING
    assert value_at(Rack(devices=Gap("denied")), ("a", "limit")) is NOT_READ
    assert value_at(Made(links=Links(width=4)), ("links", "width")) == 4


def test_the_spread_of_a_fact_counts_the_devices_that_have_it() -> None:
    three = Rack(devices=Map({"a": Device(limit=1), "b": Device(limit=2), "c": Device(limit=Gap("denied"))}))
    assert spread(three, (None, "limit")) == 2
    assert spread(three, (None,)) == 3
