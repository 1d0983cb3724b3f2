"""Distributions and growth, in memory that does not grow with the run."""

import sys
from collections.abc import Mapping, Sequence
from itertools import islice, pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.runs.record import AnyRecord, Distribution, Growth, Held, Sample, Sampled, Uncounted
from fingerprint.runs.sample import EXACT, QUANTILES, RELATIVE_ERROR, VALUES, Counted, Sampler, Spread
from fingerprint.runs.timetable import Timetable, process_readings, saves, ticks
from fingerprint.snapshot import Key
from probes.kit.facts import Gap, Map, Section, Seen, config, counter, telemetry
from tests.diff.made_up import Card, rack

FULL = 1 << 32
numbers = st.integers(min_value=-(2**40), max_value=2**53)  # what a float holds exactly


class Disk(Section):
    depth: Seen[int] = telemetry("requests that wait", "made up")
    reads: Seen[int] = counter("how much was read", "made up")


class Made(Section):
    level: Seen[int] = telemetry("moves all the time", "made up")
    word: Seen[str] = telemetry("is no number", "made up")
    total: Seen[int] = counter("only grows", "made up")
    sent: Seen[int] = counter("begins again when it is full", "made up", wraps_at=FULL)
    limit: Seen[int] = config("stands", "made up")
    disks: Seen[Map[Disk]] = telemetry("each disk", "made up")


KEY = Key("made")


def spread_of(samples: list[int]) -> Distribution:
    spread = Spread()
    for sample in samples:
        spread.add(sample)
    return spread.distribution()


def test_telemetry_becomes_distributions_and_counters_growth() -> None:
    sampler = Sampler()
    for at, (level, total) in enumerate([(3, 100), (1, 150), (2, 170)]):
        disks = Map({"a/b": Disk(depth=level * 10, reads=total)})
        sampler.add(KEY, Made(level=level, word="x", total=total, limit=7, disks=disks), at * 500_000_000)
    facts = sampler.record(1).facts
    assert facts == {
        "made/level": Distribution(3, 2.0, (1.0, 1.1, 1.5, 2.0, 2.5, 2.9, 3.0)),
        "made/total": Growth(100, 170, 70, 1.0),
        "made/disks/a%2Fb/depth": Distribution(3, 20.0, (10.0, 11.0, 15.0, 20.0, 25.0, 29.0, 30.0)),
        "made/disks/a%2Fb/reads": Growth(100, 170, 70, 1.0),
    }


def test_a_gap_is_no_sample() -> None:
    sampler = Sampler()
    sampler.add(KEY, Made(level=Gap("denied"), total=5), 0)
    sampler.add(KEY, Made(level=4, total=Gap("absent")), 10)
    assert sampler.record(1).facts == {
        "made/level": Distribution(1, 4.0, (4.0,) * 7),
        "made/total": Growth(5, 5, 0, 0.0),
    }


def test_a_counter_that_falls_adds_nothing_and_is_counted() -> None:
    sampler = Sampler()
    for at, total in enumerate([10, 30, 4, 9]):
        sampler.add(KEY, Made(total=total), at)
    growth = sampler.record(1).facts["made/total"]
    assert growth == Growth(10, 9, 25, 3e-9, resets=1)


@pytest.mark.parametrize(
    ("values", "grown", "resets"),
    [
        ((FULL - 10, 5, 7), 17, 0),
        ((FULL - 1, 0), 1, 0),
        ((3, FULL - 1, 3), FULL, 0),
        ((FULL + 10, 5, 7), 2, 1),  # wider than was thought: it fell
    ],
)
def test_a_counter_that_is_full_begins_again_and_was_not_reset(values: Sequence[int], grown: int, resets: int) -> None:
    counted = Counted(wraps_at=FULL)
    for at, value in enumerate(values):
        counted.add(value, at)
    assert (counted.growth().grown, counted.growth().resets) == (grown, resets)


def test_a_sampler_knows_which_counters_wrap() -> None:
    sampler = Sampler()
    for at, sent in enumerate((FULL - 10, 5)):
        sampler.add(KEY, Made(total=sent, sent=sent), at)
    facts = sampler.record(1).facts
    assert facts["made/sent"] == Growth(FULL - 10, 5, 15, 1e-9)
    assert facts["made/total"] == Growth(FULL - 10, 5, 0, 1e-9, resets=1)


def sampled(*cards: Card) -> Mapping[str, Sample]:
    sampler = Sampler()
    for at, card in enumerate(cards):
        sampler.add(Key("rack"), rack(x=card), at)
    return sampler.record(1).facts


def test_samples_of_an_idle_device_are_left_out_and_counted() -> None:
    busy, idle = Card(busy=90, clock=1980), Card(busy=0, clock=210)
    facts = sampled(idle, busy, busy, idle, idle)
    assert facts["rack/x/clock"] == Distribution(2, 1980.0, (1980.0,) * 7, left_out=3)
    assert facts["rack/x/busy"] == Distribution(5, 36.0, (0.0, 0.0, 0.0, 0.0, 90.0, 90.0, 90.0))


def test_of_a_state_it_is_counted_how_often_it_held_each_value() -> None:
    facts = sampled(*[Card(busy=1, width=16)] * 3, Card(busy=1, width=8), Card(busy=0, width=1))
    assert facts["rack/x/width"] == Held(((16, 3), (8, 1)), left_out=1)


def test_a_state_of_any_value_is_kept_as_it_is_in_json() -> None:
    facts = sampled(*[Card(busy=1, reasons=("power", "thermal"))] * 2, Card(busy=1, reasons=()))
    assert facts["rack/x/reasons"] == Held(((["power", "thermal"], 2), ([], 1)))


def test_what_was_never_seen_in_its_condition_is_said_to_be_sampled() -> None:
    facts = sampled(*[Card(busy=0, clock=210, width=1)] * 4)
    assert (facts["rack/x/clock"], facts["rack/x/width"]) == (Uncounted(4), Uncounted(4))


def test_a_gap_is_not_left_out_either() -> None:
    assert "rack/x/clock" not in sampled(Card(busy=0, clock=Gap("lost")))


def test_counters_grow_whatever_the_condition() -> None:
    assert sampled(Card(busy=0, errors=1), Card(busy=0, errors=4))["rack/x/errors"] == Growth(1, 4, 3, 1e-9)


def test_values_of_a_state_beyond_sixteen_are_counted_together() -> None:
    held = sampled(*(Card(busy=1, width=width) for width in range(40)))["rack/x/width"]
    assert isinstance(held, Held)
    assert (len(held.values), held.others, held.count) == (VALUES, 40 - VALUES, 40)


def test_what_an_older_release_recorded_still_loads() -> None:
    old = b'{"record":"samples","at":1,"ticks":2,"missed":0,"facts":{"a/b":{"type":"distribution","count":2,"mean":1.0,'
    old += b'"quantiles":[1.0,1.0,1.0,1.0,1.0,1.0,1.0]}}}'
    record = msgspec.json.decode(old, type=AnyRecord)
    assert isinstance(record, Sampled)
    assert record.facts["a/b"] == Distribution(2, 1.0, (1.0,) * 7, left_out=0)


def test_what_is_recorded_loads_as_it_was() -> None:
    facts = sampled(Card(busy=1, clock=5, width=3, reasons=("a",), errors=1), Card(busy=0, clock=5, width=3))
    record = Sampled(1, 2, 0, facts)
    assert msgspec.json.decode(msgspec.json.encode(record), type=AnyRecord) == record


@given(st.lists(numbers, min_size=1, max_size=EXACT))
def test_few_samples_have_exact_quantiles(samples: list[int]) -> None:
    ordered = sorted(samples)
    for q, found in zip(QUANTILES, spread_of(samples).quantiles, strict=True):
        rank = q * (len(ordered) - 1)
        low, high = ordered[int(rank)], ordered[min(int(rank) + 1, len(ordered) - 1)]
        assert found == pytest.approx(low + (high - low) * (rank - int(rank)))


@given(st.lists(numbers, min_size=1, max_size=50), st.integers(min_value=11, max_value=40))
def test_many_samples_have_quantiles_within_one_percent(some: list[int], times: int) -> None:
    samples = (some * EXACT)[: EXACT * 2 + times]
    ordered = sorted(samples)
    found = spread_of(samples)
    for q, value in zip(QUANTILES, found.quantiles, strict=True):
        assert value == pytest.approx(ordered[int(q * (len(ordered) - 1))], rel=RELATIVE_ERROR * 1.0001)
    assert (found.quantiles[0], found.quantiles[-1]) == (ordered[0], ordered[-1])
    assert found.mean == pytest.approx(sum(samples) / len(samples), rel=1e-6, abs=1e-6)


def test_memory_is_bounded_for_a_run_of_weeks() -> None:
    spread = Spread()
    for number in range(200_000):
        spread.add(number * 1_000_003 % (1 << 44))
    assert len(spread._buckets) < 2000, "2 % buckets from 1 to 2**44"
    assert not spread._samples
    assert sys.getsizeof(spread._buckets) < 200_000


def test_ticks_are_quick_for_a_minute_and_slow_from_there_on() -> None:
    moments = list(islice(ticks(5, 1), 303))
    assert moments[:3] == [0.0, 0.2, 0.4]
    assert moments[299:303] == pytest.approx([59.8, 60, 61, 62])


def test_a_late_moment_is_skipped_and_not_made_up_for() -> None:
    table = Timetable(ticks(5, 1), began=100.0)
    assert table.take(99.9) == 0
    assert table.take(100.0) == 1
    assert table.take(100.1) == 0
    assert table.take(101.05) == 5
    assert table.next == pytest.approx(101.2)


def test_processes_are_read_at_first_sight_and_each_minute() -> None:
    assert list(islice(process_readings(), 8)) == [0, 0.05, 0.2, 1, 5, 30, 60, 120]


def test_saved_samples_of_a_week_stay_few() -> None:
    moments = list(islice(saves(), 300))
    assert moments[:3] == [60, 120, 180]
    week = [moment for moment in moments if moment <= 7 * 86400]
    assert len(week) < 250
    assert max(b - a for a, b in pairwise(week)) == 3600
