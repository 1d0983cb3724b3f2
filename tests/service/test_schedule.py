"""When jobs are due, and that overruns are skipped and counted."""

import threading
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint.service.clocks import Clocks, Jump, jumps
from fingerprint.service.schedule import Job, Schedule, next_due
from tests.service.driven import due
from tests.waiting import until

DAY = 86_400
START = 1_760_000_017.0


def nothing() -> None: ...


JOBS = (
    Job("boot", 0, "rounds", nothing),
    Job("minutely", 60, "rounds", nothing),
    Job("hourly", 3600, "rounds", nothing),
)


def days_of(last: dict[str, float], seconds: int) -> Counter[str]:
    ran: Counter[str] = Counter()
    for at in range(seconds):
        for job in due(JOBS, last, START + at):
            ran[job.name] += 1
    return ran


def test_a_day_has_1440_minutely_rounds_after_the_first_and_24_hourly_ones_and_boots_once() -> None:
    assert days_of({}, DAY) == {"boot": 1, "minutely": 1441, "hourly": 25}


@given(st.floats(0.5, 10_000), st.floats(0, 4e9), st.floats(0, 1e6))
def test_what_was_missed_meanwhile_is_due_once(seconds: float, last: float, later: float) -> None:
    at = next_due(seconds, last, last + later)
    assert at is not None
    assert at > last - 0.001
    assert at <= last + later + seconds + 0.002


def test_a_minutely_job_runs_on_the_minute() -> None:
    moments = [next_due(60, START, START)]
    moments += [next_due(60, moments[-1], moments[-1] or 0) for _ in range(3)]
    assert [at is not None and at % 60 for at in moments] == [0, 0, 0, 0]


def test_a_job_that_overruns_is_skipped_and_counted_and_holds_up_no_other_thread() -> None:
    begun, free = threading.Event(), threading.Event()
    ticks: list[int] = []

    def hangs() -> None:
        begun.set()
        free.wait(30)

    schedule = Schedule((Job("slow", 0.1, "a", hangs), Job("quick", 0.1, "b", lambda: ticks.append(1))), _untold)
    schedule.start()
    assert begun.wait(10)
    until(lambda: schedule.overruns["slow"] > 3 and len(ticks) > 3)
    free.set()
    schedule.stop()


def test_a_job_that_raises_is_told_and_runs_again() -> None:
    told: list[tuple[str, str]] = []

    def raises() -> None:
        raise RuntimeError("no store")

    schedule = Schedule((Job("minutely", 0.1, "a", raises),), lambda job, error: told.append((job, str(error))))
    schedule.start()
    until(lambda: len(told) > 1)
    schedule.stop()
    assert set(told) == {("minutely", "no store")}


def test_after_the_clock_was_set_jobs_go_on_at_once_but_nothing_is_forgotten_by_it() -> None:
    ran: Counter[str] = Counter()
    hourly, daily = (lambda: ran.update(["hourly"])), (lambda: ran.update(["daily"]))
    schedule = Schedule((Job("hourly", 3600, "a", hourly), Job("daily", DAY, "b", daily)), _untold)
    schedule.start()
    until(lambda: ran == {"hourly": 1, "daily": 1})
    schedule.clock_was_set()
    until(lambda: ran["hourly"] == 2)
    schedule.stop()
    assert ran["daily"] == 1


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (Clocks(101.0, 11.0, 21.0), ()),
        (Clocks(101.0 - DAY, 11.0, 21.0), (Jump("clock jump", -DAY),)),
        (Clocks(701.0, 11.0, 621.0), (Jump("suspend", 600.0),)),
        (Clocks(100.9, 11.0, 21.0), ()),
    ],
)
def test_a_clock_that_was_set_and_a_host_that_slept_are_told_apart(now: Clocks, found: tuple[Jump, ...]) -> None:
    assert jumps(Clocks(100.0, 10.0, 20.0), now) == found


def _untold(job: str, error: BaseException) -> None:
    raise AssertionError(f"{job}: {error}")


def test_rounds_keep_their_distance() -> None:
    last: dict[str, float] = {}
    moments = []
    for at in range(600):
        for job in due(JOBS, last, START + at):
            moments += [at] if job.name == "minutely" else []
    assert {later - earlier for earlier, later in pairwise(moments[1:])} == {60}
