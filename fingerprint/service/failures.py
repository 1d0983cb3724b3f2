"""Jobs that raised: told for an hour, as what failed once may be over and may not."""

import time
from collections.abc import Iterator
from typing import NamedTuple

TOLD_SECONDS = 3600.0


class Failed(NamedTuple):
    """at: when it did last, on the monotonic clock."""

    times: int
    what: str
    at: float


class Failures:
    """Written by the threads of the schedule, read by any."""

    def __init__(self) -> None:
        self._by_job: dict[str, Failed] = {}

    def add(self, job: str, error: BaseException) -> None:
        times = self._by_job[job].times if job in self._by_job else 0
        self._by_job[job] = Failed(times + 1, f"{type(error).__name__}: {error}", time.monotonic())

    @property
    def told(self) -> Iterator[str]:
        for job, failed in tuple(self._by_job.items()):
            if time.monotonic() - failed.at < TOLD_SECONDS:
                yield f"the job {job} failed ({failed.what}), failures since the start: {failed.times}"
