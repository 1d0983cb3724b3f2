"""Which attempts of a series a time means."""

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.runs.record import Closed
from fingerprint.store import FoundRun, RunRow, Store, StoreError, Stores
from fingerprint.store.schema import ALWAYS
from fingerprint.store.windows import Span, nearest, span, within
from tests.store.samples import OPENER, segment, short_run, store_at

SECOND = 1_000_000_000
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def to(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    to("Europe/Berlin")
    yield to
    monkeypatch.undo()
    time.tzset()


def at(text: str) -> int:
    """Local time -> ns since 1970."""
    return int(datetime.fromisoformat(text).timestamp()) * SECOND


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("now", "2026-01-15T10:00", ""),
        ("-1h", "2026-01-15T09:00", ""),
        ("-90m", "2026-01-15T08:30", ""),
        ("-2d", "2026-01-13T10:00", ""),
        ("09:59", "2026-01-15T09:59", ""),
        ("10:01", "2026-01-14T10:01", ""),
        ("9:05:30", "2026-01-15T09:05:30", ""),
        ("2026-01-14T22:00", "2026-01-14T22:00", ""),
        ("2026-01-14T22:00:05Z", "2026-01-14T23:00:05", ""),
        ("2026-01-14T22:00-05:00", "2026-01-15T04:00", ""),
        ("yesterday", "2026-01-14T00:00", "2026-01-15T00:00"),
        ("2026-01-01", "2026-01-01T00:00", "2026-01-02T00:00"),
        ("02:00..03:00", "2026-01-15T02:00", "2026-01-15T03:00"),
        ("23:00..02:00", "2026-01-14T23:00", "2026-01-15T02:00"),
        ("09:30..10:30", "2026-01-15T09:30", "2026-01-15T10:30"),
        ("11:00..12:00", "2026-01-14T11:00", "2026-01-14T12:00"),
        ("-1h..now", "2026-01-15T09:00", "2026-01-15T10:00"),
        ("2026-01-14T22:00..02:00", "2026-01-14T22:00", "2026-01-15T02:00"),
        ("2026-01-10..2026-01-12", "2026-01-10T00:00", "2026-01-13T00:00"),
        ("yesterday..03:00", "2026-01-14T00:00", "2026-01-15T03:00"),
        ("2026-01-14T22:00..", "2026-01-14T22:00", "2026-01-15T10:00"),
        ("..03:00", "1970-01-01T01:00", "2026-01-15T03:00"),
    ],
)
def test_a_time_is_read_as_of_now(text: str, since: str, until: str) -> None:
    assert span(text, at("2026-01-15T10:00")) == Span(at(since), at(until or since))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no time"),
        ("noon", "no time"),
        ("-1y", "no time"),
        ("1h", "no time"),
        ("02:00...03:00", "no time"),
        ("20260115", "no time"),
        ("..", "neither beginning nor end"),
        ("now..-1h", "ends before it begins"),
        ("2026-01-15..2026-01-10", "ends before it begins"),
        ("25:00", "hour must be in"),
        ("2026-02-30", "day"),
        ("9999-12-31", "beyond all times"),
    ],
)
def test_what_is_no_time_is_refused_with_why(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        span(text, time.time_ns())


def test_a_day_is_as_long_as_its_clocks_made_it(zone: Callable[[str], None]) -> None:
    noon = at("2026-03-30T12:00")  # in Berlin the clock went from 2 to 3 the day before
    assert span("yesterday", noon) == Span(at("2026-03-29T00:00"), at("2026-03-30T00:00"))
    assert span("yesterday", noon).until - span("yesterday", noon).since == 23 * HOUR
    assert span("2026-10-25", noon).until - span("2026-10-25", noon).since == 25 * HOUR
    zone("Asia/Kolkata")
    assert span("2026-01-15T00:00Z", noon).since == 1_768_435_200 * SECOND


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    ("text", "now", "since", "until"),
    [  # in Berlin 02:30 was there twice on 2026-10-25, and not on 2026-03-29
        ("02:30", "2026-10-25T02:40+02:00", "2026-10-25T02:30+02:00", ""),
        ("02:30", "2026-10-25T02:10+01:00", "2026-10-25T02:30+02:00", ""),
        ("02:30", "2026-10-25T12:00", "2026-10-25T02:30+01:00", ""),
        ("02:30", "2026-10-26T01:00", "2026-10-25T02:30+01:00", ""),
        ("02:00..03:00", "2026-10-25T12:00", "2026-10-25T02:00+01:00", "2026-10-25T03:00"),
        ("01:00..03:00", "2026-10-25T12:00", "2026-10-25T01:00", "2026-10-25T03:00"),
        ("02:40..02:10", "2026-10-25T02:50+02:00", "2026-10-25T02:40+02:00", "2026-10-25T02:10+01:00"),
        ("02:30", "2026-03-29T12:00", "2026-03-28T02:30", ""),
        ("02:30", "2026-03-30T01:00", "2026-03-28T02:30", ""),
        ("01:00..02:30", "2026-03-29T12:00", "2026-03-29T01:00", "2026-03-29T03:30"),
        ("01:30..03:00", "2026-03-29T12:00", "2026-03-29T01:30", "2026-03-29T03:00"),
    ],
)
def test_a_clock_time_that_is_there_twice_is_the_last_one_and_one_that_is_not_is_of_another_day(
    text: str, now: str, since: str, until: str
) -> None:
    assert span(text, at(now)) == Span(at(since), at(until or since))


January = st.integers(1_767_657_600, 1_769_644_800).map(lambda it: it * SECOND)  # no zone changes its clocks then
Clock = st.tuples(st.integers(0, 23), st.integers(0, 59)).map(lambda it: f"{it[0]:02}:{it[1]:02}")


@given(January, Clock, Clock)
def test_two_clock_times_are_the_last_span_that_began_and_at_most_a_day(now: int, first: str, last: str) -> None:
    begin, end = span(f"{first}..{last}", now)
    assert now - 24 * HOUR <= begin <= now
    assert begin < end <= begin + 24 * HOUR
    shown = [datetime.fromtimestamp(each // SECOND, tz=timezone.utc).astimezone() for each in (begin, end)]
    assert [f"{each:%H:%M}" for each in shown] == [first, last]


def row(attempt: int, opened_at: int, end: int | None, last_at: int = 0) -> RunRow:
    closed = None if end is None else Closed(end, "server ran on")
    seen = max(opened_at, last_at, end or 0)
    return RunRow(f"{attempt}", "s", attempt, "", "h", opened_at, seen, OPENER, closed, False, True, "service")


def chosen(rows: list[RunRow], asked: Span, goes_on: bool = False) -> list[int]:
    return [each.attempt for each in within(rows, asked, lambda _: goes_on)]


def test_of_segments_that_meet_a_moment_has_one_and_a_span_those_that_share_time_with_it() -> None:
    rows = [row(1, 0, 10), row(2, 10, 20), row(3, 20, 30)]
    assert chosen(rows, Span(10, 10)) == [2]
    assert chosen(rows, Span(9, 9)) == [1]
    assert chosen(rows, Span(10, 20)) == [2]
    assert chosen(rows, Span(9, 21)) == [1, 2, 3]
    assert chosen(rows, Span(31, 31)) == []


def test_one_without_end_goes_on_if_it_is_the_newest_and_its_opener_lives_else_it_ended_with_its_last_record() -> None:
    rows = [row(1, 0, None, 10), row(2, 20, None, 30)]
    assert chosen(rows, Span(15, 15), goes_on=True) == []
    assert chosen(rows, Span(40, 40), goes_on=True) == [2]
    assert chosen(rows, Span(40, 40), goes_on=False) == []
    assert chosen(rows, Span(5, 25), goes_on=False) == [1, 2]


def test_after_the_clock_was_set_back_a_day_the_last_attempt_is_the_one_that_goes_on() -> None:
    day = 86_400
    rows = [row(3, day + 10, None, day + 20), row(1, 2 * day, 2 * day + 10), row(2, 2 * day + 10, day + 10)]
    assert chosen(rows, Span(day + 60, day + 60), goes_on=True) == [3]
    assert chosen(rows, Span(2 * day + 5, 2 * day + 5), goes_on=True) == [3]
    assert chosen(rows, Span(2 * day + 5, 2 * day + 5)) == [1]
    assert chosen(rows, Span(2 * day, 3 * day)) == [1, 2]


Lives = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), min_size=1, max_size=8)


@given(Lives, st.integers(0, 60), st.integers(0, 20), st.booleans())
def test_of_any_attempts_those_are_found_that_ran_then_and_else_the_nearest(
    made: list[tuple[int, int]], since: int, length: int, goes_on: bool
) -> None:
    rows = [row(number, begin, begin + lasts) for number, (begin, lasts) in enumerate(sorted(made), 1)]
    if goes_on:
        rows[-1] = row(len(rows), rows[-1].opened_at, None)
    ends = {each.attempt: each.closed.at if each.closed else ALWAYS for each in rows}
    asked = Span(since, since + length)
    found = within(rows, asked, lambda _: goes_on)
    if length:
        moments = [asked.since, *(each.opened_at for each in rows if asked.since <= each.opened_at < asked.until)]
        alive = {
            each.attempt
            for each in rows
            for moment in moments
            if each.opened_at == moment or each.opened_at <= moment < ends[each.attempt]
        }
        assert {each.attempt for each in found} == alive
    else:
        alive = {each.attempt for each in rows if each.opened_at <= since <= ends[each.attempt]}
        assert {each.attempt for each in found} == ({max(alive)} if alive else set())
    if not found:
        near, life = nearest([rows], asked, lambda _: goes_on)
        away = max(life.since - asked.until, asked.since - life.until)
        assert life == (near.opened_at, ends[near.attempt])
        assert all(max(it.opened_at - asked.until, asked.since - ends[it.attempt]) >= away for it in rows)


# Through the stores.


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_at(tmp_path)


def attempts(text: str, *stores: Store) -> list[str]:
    found = Stores(stores).resolve(text)
    assert isinstance(found, FoundRun)
    return [str(each) for each in found.attempts]


def hours(store: Store, name: str = "sglang-30000") -> None:
    """Three days of segments of an hour each, the last of which this process goes on with."""
    now = time.time_ns()
    for ago in range(72, 0, -1):
        segment(store, now - ago * HOUR, now - (ago - 1) * HOUR if ago > 1 else None, name)


def test_a_server_of_three_days_is_asked_for_by_time(store: Store) -> None:
    hours(store)
    assert attempts("sglang-30000@now", store) == ["sglang-30000#72"]
    assert attempts("sglang-30000@-90m", store) == ["sglang-30000#71"]
    assert attempts("sglang-30000@-150m..-90m", store) == ["sglang-30000#70", "sglang-30000#71"]
    assert len(attempts("sglang-30000@yesterday", store)) in (24, 25, 26)
    assert len(attempts("sglang-30000@-2d..", store)) == 48
    assert len(attempts("sglang-30000", store)) == 72


def test_a_time_without_attempts_names_the_nearest(store: Store) -> None:
    hours(store)
    with pytest.raises(StoreError, match=r"'sglang-30000@-9d' \(.*Z\) is a time at which no attempt ran, the nearest"):
        attempts("sglang-30000@-9d", store)
    now = time.time_ns()
    segment(store, now - 2 * HOUR, None, "vllm-8000")
    with pytest.raises(StoreError, match=r"nearest is vllm-8000#1, from .*Z until now: write its name or another time"):
        attempts("vllm-8000@-3h", store)


def test_a_time_of_a_name_that_is_not_there_or_no_time_of_one_that_is(store: Store) -> None:
    hours(store, "vllm-8000")
    with pytest.raises(StoreError, match="there is no run 'vllm-8001', but vllm-8000"):
        attempts("vllm-8001@now", store)
    with pytest.raises(StoreError, match="no run 'vllm-8000@noon', for it is no time: behind vllm-8000@ write now,"):
        attempts("vllm-8000@noon", store)
    with pytest.raises(StoreError, match="no run 'vllm-8000@now..-1h', for it ends before it begins"):
        attempts("vllm-8000@now..-1h", store)
    with pytest.raises(StoreError, match="no run 'somebody@noon': `fingerprint runs` lists"):
        attempts("somebody@noon", store)


def test_a_time_comes_before_a_file_and_a_file_may_have_a_name_that_is_no_time(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exported = store.export([short_run(store, "run-B")])
    for name in ("sglang-30000@now", "sglang-30000@h200"):
        Path(name).write_bytes(exported)
    hours(store)
    assert attempts("sglang-30000@now", store) == ["sglang-30000#72"]
    assert attempts("./sglang-30000@now", store) == ["run-B#1"]
    assert attempts("sglang-30000@h200", store) == ["run-B#1"]


def test_server_is_the_only_one_that_the_service_recorded_at_that_time(store: Store) -> None:
    with pytest.raises(StoreError, match="no run 'server'"):
        attempts("server@now", store)
    short_run(store, "by-hand")
    hours(store)
    assert attempts("server@now", store) == ["sglang-30000#72"]
    assert attempts("server#3", store) == ["sglang-30000#3"]
    assert len(attempts("server", store)) == 72
    now = time.time_ns()
    segment(store, now - 3 * HOUR, now - 2 * HOUR, "vllm-8000")
    assert attempts("server@now", store) == ["sglang-30000#72"]
    for text in ("server", "server@-150m"):
        with pytest.raises(StoreError, match=f"'{text}' may be sglang-30000 or vllm-8000: write the one that is meant"):
            attempts(text, store)
    short_run(store, "server")
    assert attempts("server", store) == ["server#1"]


def test_of_two_stores_the_one_that_has_attempts_then_is_meant(store: Store, tmp_path: Path) -> None:
    now = time.time_ns()
    with Store.open(tmp_path / "other.db") as other:
        segment(store, now - 9 * HOUR, now - 8 * HOUR)
        segment(other, now - 2 * HOUR, None)
        assert attempts("sglang-30000@now", store, other) == ["sglang-30000#1"]
        with pytest.raises(StoreError, match="is in both stores"):
            attempts("sglang-30000@-9h..", store, other)
