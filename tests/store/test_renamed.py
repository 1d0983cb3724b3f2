"""A fact's earlier names, applied when an older file is loaded."""

import msgspec
import pytest

from fingerprint.sections import schema_of
from fingerprint.snapshot import Reading, reading_of
from probes.kit.facts import NOT_READ, Gap, Map, Section, Seen, config, counter


def limit(earlier: tuple[str, ...] = ()) -> int:
    fact: int = config("a lower limit lowers clocks", "sample", "mW", renamed_from=earlier)
    return fact


class OldFan(Section):
    rpm: Seen[int] = counter("a dead fan heats", "sample")
    setting: Seen[str] = config("the curve", "sample")


class OldBoard(Section):
    cap: Seen[int] = limit()
    gone: Seen[int] = config("no longer read", "sample")
    fan: OldFan = OldFan()


class OldCard(Section):
    power_cap: Seen[int] = limit()
    fans: Seen[Map[OldFan]] = config("which fans there are", "sample")
    board: OldBoard = OldBoard()


class Fan(Section):
    turns: Seen[int] = counter("a dead fan heats", "sample", renamed_from=("rpm",))
    curve: Seen[str] = config("the curve", "sample", renamed_from=("mode", "setting"))


class Board(Section):
    limit: Seen[int] = limit(("cap",))
    fan: Fan = Fan()


class Card(Section):
    power_limit: Seen[int] = limit(("power_cap",))
    fans: Seen[Map[Fan]] = config("which fans there are", "sample")
    board: Board = Board()
    new: Seen[int] = config("not read by older releases", "sample")


def old_reading() -> Reading:
    fan = OldFan(rpm=900, setting="quiet")
    board = OldBoard(cap=7, gone=1, fan=OldFan(rpm=Gap("denied", "root only"), setting="loud"))
    return reading_of(OldCard(power_cap=600_000, fans=Map({"0": fan}), board=board))


def test_values_are_found_under_earlier_names_at_every_depth() -> None:
    card = old_reading().section(Card)
    board = Board(limit=7, fan=Fan(turns=Gap("denied"), curve="loud"))
    assert card == Card(power_limit=600_000, fans=Map({"0": Fan(turns=900, curve="quiet")}), board=board)
    assert card.new is NOT_READ


def test_a_gap_in_the_place_of_a_collection_is_kept() -> None:
    card = reading_of(OldCard(fans=Gap("unsupported"))).section(Card)
    assert card == Card(fans=Gap("unsupported"))


def test_a_section_of_todays_schema_is_decoded_as_it_is() -> None:
    reading = reading_of(Card(power_limit=1, new=2))
    assert reading.lasting is not None
    assert reading.lasting.schema == schema_of(Card) != schema_of(OldCard)
    assert reading.section(Card) == Card(power_limit=1, new=2)


def test_an_older_value_that_no_longer_fits_is_refused_with_its_path() -> None:
    class Changed(Section):
        power_limit: Seen[str] = config("now a word", "sample", renamed_from=("power_cap",))

    with pytest.raises(msgspec.ValidationError, match="power_limit"):
        old_reading().section(Changed)
