"""Which attempts of a series a time means: `sglang-30000@-1h`, `sglang-30000@02:00..03:00`.

    now   -1h   02:00   2026-01-15T02:00         a moment; 02:00 is the last one that there was
    yesterday   2026-01-15                       a whole day
    02:00..03:00   yesterday..   ..-1h           from one to the other; without an end until now

A clock time that ends a span is the first one after its beginning, so that 23:00..02:00 goes past midnight. All are of
this process's time zone, but for a date and time with Z or an offset. When clocks are set back, a clock time is there
twice that day; when they are set forward, not at all: as an end it is as much later as they were set forward.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from fingerprint.store.runs import RunRow
from fingerprint.store.schema import ALWAYS
from probes.kit.lazy import lazy_regex

SECOND = 1_000_000_000
TIMES = "now, yesterday, -1h, 02:00, 2026-01-15, 2026-01-15T02:00, or two of them with .. between"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_AGO = lazy_regex(r"-([0-9]{1,6})([smhdw])")
_CLOCK = lazy_regex(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")
_DATE = lazy_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_AND_TIME = lazy_regex(_DATE.pattern + r"T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2})?")


class Span(NamedTuple):
    """Ns since 1970. A moment where both are equal; else `until` is not part of it."""

    since: int
    until: int


def span(text: str, now: int) -> Span:
    """What stands behind the @. now: ns since 1970. Raises ValueError for what is no time."""
    try:
        return _span(text, now)
    except (OverflowError, OSError) as error:  # of years that no time_t holds
        raise ValueError("it is beyond all times") from error


def within(rows: Sequence[RunRow], asked: Span, goes_on: Callable[[RunRow], bool]) -> tuple[RunRow, ...]:
    """Those of a series that ran in the time asked for; of a moment the last one that did. Where the clock was set back
    that may be one of two which ran then: the later attempt.

    goes_on: asked of the last attempt, if it has no end. Another one without end ended with its last record.
    """
    lives = _lives(rows, goes_on)
    if asked.since == asked.until:
        then = (row for row, life in lives if life.since <= asked.since <= life.until)
        return tuple(sorted(then, key=lambda row: row.attempt))[-1:]
    return tuple(
        row
        for row, life in lives
        if life.since < asked.until and (life.until > asked.since or life.since >= asked.since)
    )


def nearest(series: Iterable[Sequence[RunRow]], asked: Span, goes_on: Callable[[RunRow], bool]) -> tuple[RunRow, Span]:
    """Of those none of which ran in the time asked for: the one that did just before or after it, and when."""
    lives = (each for rows in series for each in _lives(rows, goes_on))
    return min(lives, key=lambda each: max(each[1].since - asked.until, asked.since - each[1].until))


def _lives(rows: Sequence[RunRow], goes_on: Callable[[RunRow], bool]) -> list[tuple[RunRow, Span]]:
    """Each row with the time from its beginning to its end."""
    last = max(rows, key=lambda row: row.attempt)  # not that which began last, by a clock that was set back since
    return [
        (row, Span(row.opened_at, _end_of(row, row is last and row.closed is None and goes_on(row)))) for row in rows
    ]


def _end_of(row: RunRow, goes_on: bool) -> int:
    """Its last record where that is its end, or the clock was set back before it."""
    if row.closed is not None and row.closed.at >= row.opened_at:
        return row.closed.at
    return ALWAYS if goes_on else row.last_at


def _span(text: str, now: int) -> Span:
    first, dots, last = text.partition("..")
    if not dots:
        return _when(text, now)
    if not first and not last:
        raise ValueError("it has neither beginning nor end")
    begin = _when(first, now) if first else Span(0, 0)
    end = _end(last, begin, now) if last else Span(now, now)
    if end.until <= begin.since:
        raise ValueError("it ends before it begins")
    return Span(begin.since, end.until)


def _when(text: str, now: int) -> Span:
    if text == "now":
        return Span(now, now)
    if text == "yesterday":
        return _day(_local(now).date() - timedelta(days=1))
    if ago := _AGO.fullmatch(text):
        return _moment(now - int(ago[1]) * _UNITS[ago[2]] * SECOND)
    if _CLOCK.fullmatch(text):
        return _moment(max(at for at in _around(text, now) if at <= now and _shows(at, text)))
    if _DATE.fullmatch(text):
        return _day(date.fromisoformat(text))
    if _DATE_AND_TIME.fullmatch(text):
        return _moment(_ns(datetime.fromisoformat(text.replace("Z", "+00:00"))))
    raise ValueError("it is no time")


def _end(text: str, begin: Span, now: int) -> Span:
    if begin.until and _CLOCK.fullmatch(text):
        return _moment(min(at for at in _around(text, begin.until) if at >= begin.until and at > begin.since))
    return _when(text, now)


def _around(clock: str, at: int) -> list[int]:
    """That time of two days before, of that day and of the day after."""
    hour, minute, second = _parts(clock)
    today = _local(at).replace(hour=hour, minute=minute, second=second, microsecond=0, fold=0)
    first = [_ns(today + timedelta(days=days)) for days in (-2, -1, 0, 1)]
    again = (_ns((today + timedelta(days=days)).replace(fold=1)) for days in (-2, -1, 0, 1))
    return [*first, *(each for each in again if _shows(each, clock))]


def _shows(at: int, clock: str) -> bool:
    local = _local(at)
    return [local.hour, local.minute, local.second] == _parts(clock)


def _parts(clock: str) -> list[int]:
    return [int(part) for part in (*clock.split(":"), "0")[:3]]


def _day(day: date) -> Span:
    midnight = datetime.combine(day, datetime.min.time())
    return Span(_ns(midnight), _ns(midnight + timedelta(days=1)))


def _moment(at: int) -> Span:
    return Span(max(at, 0), max(at, 0))


def _local(at: int) -> datetime:
    """Without a zone, so that each day has its own offset (summer time)."""
    return datetime.fromtimestamp(at // SECOND)  # noqa: DTZ006


def _ns(at: datetime) -> int:
    return int(at.timestamp()) * SECOND
