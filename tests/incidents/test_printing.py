"""What runs that are played back said: what a row's source quotes, among what programs print whatever happens."""

from random import Random

import pytest

from benchmarks.incidents.pairs import runs_of
from benchmarks.incidents.printing import HARMLESS, printed
from benchmarks.incidents.rows import HELD_OUT, Incident, blind, held_out, incidents
from fingerprint.explain.said import spoken
from fingerprint.said.catalogue import CATALOGUE

ROWS = (*incidents(), *(row for number in HELD_OUT for row in held_out(number)))
SAYING = [row for row in ROWS if row.said]


def test_each_message_of_a_row_is_known_and_no_innocent_row_has_any() -> None:
    assert {message for row in ROWS for message in row.said} <= CATALOGUE.keys()
    assert set(HARMLESS) <= CATALOGUE.keys()
    assert not any(row.said for row in (*blind(), *(row for row in ROWS if row.null)))


@pytest.mark.parametrize("row", SAYING[:3], ids=lambda row: row.id)
def test_the_worse_run_alone_says_what_its_source_quotes_and_nothing_harmless(row: Incident) -> None:
    worse = "b" if row.metric.before < row.metric.after else "a"
    told = spoken(*runs_of(row, (), Random(3)))
    assert {one.message for one in told if one.side == worse} == set(row.said)
    assert {one.message for one in told if one.side != worse} <= set(HARMLESS)


def test_without_the_trigger_nothing_of_the_row_is_said_and_the_chance_of_all_else_is_left_as_it_was() -> None:
    random = Random(5)
    state = random.getstate()
    texts = printed(SAYING[0], random, seen=False)
    assert not set(SAYING[0].said) & {message for text in texts for message in text.messages}
    assert random.getstate() == state


def test_harmless_messages_are_said_in_both_and_in_the_better_run_alone() -> None:
    pairs = [printed(row, Random(row.id), seen=True) for row in incidents() if not row.said]
    assert any(a.messages.keys() & b.messages.keys() for a, b in pairs)
    assert any(a.messages.keys() ^ b.messages.keys() for a, b in pairs)
