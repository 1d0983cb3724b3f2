"""Reads at each tick what moves all the time, and keeps its distributions."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fingerprint.runs.readers import Reader, rest_of, soonest
from fingerprint.runs.sample import Sampler
from fingerprint.runs.timetable import Timetable
from fingerprint.snapshot import Job, Key, Reading
from probes.kit.facts import Section

TICK_SECONDS = 1.0  # what a tick may take before it is given up, beside what has a way of its own to be sampled


class Due(NamedTuple):
    """What is read together, when, and within how many seconds."""

    jobs: Sequence[Job]
    moments: Timetable
    seconds: float = TICK_SECONDS


class Sampling:
    """The ticks of one run. A moment that finds the last tick unfinished is missed."""

    def __init__(self, often: Due, seldom: Due, sections: Mapping[str, type[Section]], reader: Reader) -> None:
        """seldom: read in the same breath as the tick that follows its moment. sections: the type of each area's."""
        self.sampler = Sampler()
        self._often = often
        self._seldom = seldom
        self._sections = sections
        self._reader = reader

    def fileno(self) -> int | None:
        return self._reader.fileno() if self._reader.busy else None

    def timeout(self, now: float) -> float | None:
        return soonest(self._often.moments.next - now, self._reader.timeout())

    def step(self, now: float) -> None:
        if self._reader.busy:
            self._take(self._reader.step())
        if passed := self._often.moments.take(now):
            self.sampler.missed += passed - 1
            seldom = self._seldom.jobs if self._seldom.moments.take(now) else ()
            self._tick([*self._often.jobs, *seldom])

    def finish(self) -> None:
        """After the command's end: what is not about its tree once more, so that growth spans the whole run."""
        self._take(list(rest_of(self._reader)))
        self._tick([*(job for job in self._often.jobs if not job.target.pid), *self._seldom.jobs])
        self._take(list(rest_of(self._reader)))

    def _tick(self, jobs: Sequence[Job]) -> None:
        if self._reader.busy:
            self.sampler.missed += 1
        elif jobs:
            self.sampler.ticks += 1
            self._take(self._reader.begin(jobs, self._often.seconds))

    def _take(self, finished: Sequence[tuple[Key, Reading]]) -> None:
        for key, reading in finished:
            section = reading.section(self._sections[key.area])
            if section is not None:
                self.sampler.add(key, section, time.monotonic_ns())


class Saving:
    """Writes the samples so far at each moment: a run that is killed keeps them."""

    def __init__(self, moments: Timetable, save: Callable[[], None]) -> None:
        self._moments = moments
        self._save = save

    def fileno(self) -> int | None:
        return None

    def timeout(self, now: float) -> float | None:
        return self._moments.next - now

    def step(self, now: float) -> None:
        if self._moments.take(now):
            self._save()
