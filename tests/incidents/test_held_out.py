"""Rows that nothing was tuned to: they are sound, and stay apart from those that are tuned to."""

from random import Random

import pytest

from benchmarks.incidents.drift import about, pool
from benchmarks.incidents.pairs import Changed, runs_of
from benchmarks.incidents.rows import HELD_OUT, Incident, Outside, blind, held_out, incidents, outside
from benchmarks.incidents.scores import answers_held_out
from fingerprint.diff.compare import compare

_ROWS = tuple(row for number in HELD_OUT for row in held_out(number))
_OTHERS: tuple[Incident | Outside, ...] = (*incidents(), *blind(), *outside())
_COUNTERS = "gpu/#0/ecc/"
"""Of a GPU's memory errors: no difference of settings, but a suspect by itself."""


def test_no_row_that_is_held_out_is_among_the_others_nor_from_where_they_are() -> None:
    ids, sources = [row.id for row in _ROWS], {row.source for row in _ROWS}
    assert 20 <= len(ids) == len(set(ids)) == len(sources)
    assert not set(ids) & {row.id for row in _OTHERS}
    assert not sources & {row.source for row in _OTHERS}


def test_a_row_that_is_held_out_lends_its_trigger_to_no_drift() -> None:
    ids = {row.id for row in _ROWS}
    assert not [change.origin for alike in pool("") for change in alike if change.origin in ids]


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row.id)
def test_a_row_that_is_held_out_is_sound(row: Incident) -> None:
    assert row.source.startswith("https://")
    assert row.confirmed_by != "plausible"
    assert row.trigger
    a, b = runs_of(row, [Changed(row.id, row.trigger)], Random(1))
    texts = {folded.text for folded in compare(a.state, b.state).changes}
    assert all(path.startswith(_COUNTERS) or any(about(path, text) for text in texts) for path in row.trigger)


@pytest.mark.long
def test_every_row_that_is_held_out_is_played_with_its_trigger_and_without() -> None:
    kinds = {(answer.row, answer.kind) for answer in answers_held_out(HELD_OUT, 1, "A")}
    assert kinds
    assert {(row, "removed") for row, _ in kinds} | {(row, "trigger") for row, _ in kinds} == kinds


@pytest.mark.long
def test_a_set_is_played_without_the_others() -> None:
    assert {answer.row for answer in answers_held_out([2], 1)} == {row.id for row in held_out(2)}
