"""When the service does what. APScheduler runs the jobs; when a job is due is decided here, by a pure function."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED, JobExecutionEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

OFTEN_SECONDS = 3600
STOP_SECONDS = 2.5
LATE_SECONDS = 30
"""A job that could not begin for so long is skipped; the next moment is near."""
logging.getLogger("apscheduler").setLevel(logging.CRITICAL)  # what it has to say is counted, and told by `health`


class Job(NamedTuple):
    """seconds: from one start to the next; 0: at the start of the service alone. thread: jobs that share one never run
    at the same time."""

    name: str
    seconds: float
    thread: str
    act: Callable[[], object]


def next_due(seconds: float, last: float | None, now: float) -> float | None:
    """When a job is due next, in seconds since 1970: at once if it never ran, then at the round multiples of its
    distance (a minutely job on the minute), to the millisecond. What has passed meanwhile is skipped. None: never
    again."""
    if last is None:
        return now
    if not seconds:
        return None
    every, before = round(seconds * 1000), round(max(last, now - seconds) * 1000)
    return (before // every + 1) * every / 1000


class _Every(BaseTrigger):  # type: ignore[misc]  # APScheduler 3 has no types
    """`next_due`, as APScheduler asks for it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        last = previous_fire_time.timestamp() if previous_fire_time else None
        at = next_due(self.seconds, last, now.timestamp())
        return None if at is None else datetime.fromtimestamp(at, timezone.utc)


class Schedule:
    """Jobs, each on the thread that it names, until `stop`. A job that overruns is skipped and counted."""

    def __init__(self, jobs: Sequence[Job], failed: Callable[[str, BaseException], object]) -> None:
        """failed: told of each job that raised."""
        self.overruns: Counter[str] = Counter()
        self._failed = failed
        self._lock = threading.Lock()
        threads = {job.thread: ThreadPoolExecutor(1) for job in jobs}
        self._scheduler = BackgroundScheduler(executors=threads, timezone=timezone.utc)
        self._scheduler.add_listener(self._heard, EVENT_JOB_MAX_INSTANCES | EVENT_JOB_MISSED | EVENT_JOB_ERROR)
        for job in jobs:
            self._scheduler.add_job(
                job.act, _Every(job.seconds), id=job.name, executor=job.thread,
                max_instances=1, coalesce=True, misfire_grace_time=LATE_SECONDS,
            )  # fmt: skip

    def start(self) -> None:
        self._scheduler.start()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Waits for the jobs that run now, but for one that hangs."""
        if self._scheduler.running:
            ending = threading.Thread(target=self._scheduler.shutdown, name="ending", daemon=True)
            ending.start()
            ending.join(seconds)

    def pause(self, name: str, *, paused: bool) -> None:
        """A job that has nothing to do is not run. By the thread that stops the schedule, which waits for jobs with
        APScheduler's locks in its hand."""
        job = self._scheduler.get_job(name)
        if job is not None and paused is (job.next_run_time is not None):
            job.pause() if paused else job.resume()

    def clock_was_set(self) -> None:
        """Moments are of the wall clock: after it was set each job that recurs within the hour, and is not paused, is
        due at once. What comes daily waits for its time: it forgets by age, and the clock may be the wrong one."""
        now = datetime.now(timezone.utc) + timedelta(milliseconds=1)
        for job in self._scheduler.get_jobs():
            if job.next_run_time is not None and job.trigger.seconds <= OFTEN_SECONDS:
                job.modify(next_run_time=now)
        self._scheduler.wakeup()

    def _heard(self, event: JobExecutionEvent) -> None:
        if event.code == EVENT_JOB_ERROR:
            self._failed(event.job_id, event.exception)
            return
        with self._lock:
            self.overruns[event.job_id] += 1
