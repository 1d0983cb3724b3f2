"""Which readings count, by what a reader finds at each moment."""

from collections.abc import Iterator, Sequence

import pytest

from fingerprint.runs.census import Areas, Census, Telling
from fingerprint.runs.readers import Finished
from fingerprint.runs.timetable import Timetable
from fingerprint.sections import decoder_of
from fingerprint.snapshot import Job, Key, Reading, reading_of
from probes.kit.probe import Target
from tests.diff.made_up import Task

MAIN, CHILD = Target("main", 1), Target("main.sh.1", 2)
MOMENTS = (0.0, 0.05, 0.2, 1.0, 5.0)


class Found:
    """A reader that finds one process with one `nice` after the other."""

    busy = False

    def __init__(self, target: Target, nices: Sequence[int]) -> None:
        self._target = target
        self.hung: dict[Key, str] = {}
        self._nices: Iterator[int] = iter(nices)

    def fileno(self) -> int:
        raise AssertionError("it is never busy")

    def timeout(self) -> float | None:
        return None

    def begin(self, jobs: Sequence[Job], budget: float) -> list[Finished]:
        return [(job.key, reading_of(Task(nice=next(self._nices)))) for job in jobs if job.target == self._target]

    def step(self) -> list[Finished]:
        return []

    def tree(self, pid: int, budget: float) -> tuple[Target, ...]:
        return (MAIN, CHILD)


def nice_of(reading: Reading) -> int:
    assert reading.lasting
    return int(decoder_of(Task)(reading.lasting.body).nice)


WRAPPER = 19  # the nice value of a made-up program that becomes another


def kept(target: Target, *nices: int) -> list[int]:
    """What was written of a process that was found at as many moments, and of no more."""
    written: list[int] = []

    def write(_: Key, reading: Reading) -> None:
        written.append(nice_of(reading))

    census = Census(
        MAIN, Areas(["process"]), Found(target, nices), Timetable(iter((*MOMENTS, 30.0)), 0.0), lambda: True, write,
        Telling(lambda _, reading: nice_of(reading) == WRAPPER),
    )  # fmt: skip
    for moment in MOMENTS[: len(nices) + (target != MAIN)]:  # at the first only the command is looked for
        census.step(moment)
    return written


@pytest.mark.parametrize(
    ("nices", "counts"),
    [
        ((1,), []),  # `env X=1 true`: nobody knows whether it was env or true
        ((1, 1), [1]),
        ((1, 2), []),
        ((1, 2, 2), [2]),  # a start script that became the program
        ((1, 1, 2), [1, 2]),
        ((1, 2, 3), []),
        ((1, 2, 3, 3), [3]),
        ((1, 2, 3, 4), [4]),  # after a second it is what it is
        ((1, 1, 1, 1, 5), [1, 5]),
        ((WRAPPER, WRAPPER), []),  # starved of CPU time, it has not become the program yet
        ((WRAPPER, WRAPPER, 2, 2), [2]),
        ((WRAPPER, WRAPPER, WRAPPER, WRAPPER), [WRAPPER]),  # after a second it is what stays: timeout, sudo
    ],
)
def test_an_early_reading_counts_when_the_next_finds_the_same(nices: tuple[int, ...], counts: list[int]) -> None:
    assert kept(MAIN, *nices) == counts


@pytest.mark.parametrize(
    ("nices", "counts"),
    [
        ((1, 2), []),
        ((1, 1), [1]),
        ((1, 2, 3), [2]),  # at one second it is still there
        ((1, 1, 3), [1]),
        ((1, 2, 3, 4), [2, 3]),
    ],
)
def test_an_early_reading_of_a_descendant_counts_when_the_next_finds_the_same(
    nices: tuple[int, ...], counts: list[int]
) -> None:
    assert kept(CHILD, *nices) == counts
