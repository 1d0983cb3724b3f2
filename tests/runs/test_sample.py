"""Distributions and growth, in memory that does not grow with the run."""

import sys
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.runs.record import Distribution, Growth
from fingerprint.runs.sample import EXACT, QUANTILES, RELATIVE_ERROR, Sampler, Spread
from fingerprint.runs.timetable import Timetable, process_readings, saves, ticks
from fingerprint.snapshot import Key
from probes.kit.facts import Gap, Map, Section, Seen, config, counter, telemetry

numbers = st.integers(min_value=-(2**40), max_value=2**53)  # what a float holds exactly


class Disk(Section):
    depth: Seen[int] = telemetry("requests that wait", "made up")
    reads: Seen[int] = counter("how much was read", "made up")


class Made(Section):
    level: Seen[int] = telemetry("moves all the time", "made up")
    word: Seen[str] = telemetry("is no number", "made up")
    total: Seen[int] = counter("only grows", "made up")
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
