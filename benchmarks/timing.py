"""Processes timed side by side: one of ours, one yardstick, turn by turn, so that both meet the same machine."""

import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Program(NamedTuple):
    """What is started: an argument vector, variables added to our environment, and where."""

    argv: Sequence[str]
    env: Mapping[str, str] = {}
    cwd: str = "/"
    statuses: tuple[int, ...] = (0,)


class Ratio(NamedTuple):
    """Of one measurement to its yardstick, over all pairs. ours, yardstick: medians, in `unit`; an amount has none."""

    median: float
    low: float
    high: float
    ours: float
    yardstick: float | None
    unit: str


class UnfitError(Exception):
    """What cannot be measured here, because a program is missing."""


class FailedError(Exception):
    """A program that was measured ended with a status that it should not have."""


def wall(program: Program) -> float:
    """Seconds from start to exit. Raises UnfitError and FailedError."""
    began = time.perf_counter()
    _done(program)
    return time.perf_counter() - began


def output(program: Program) -> bytes:
    """Its standard output. Raises as `wall` does."""
    return _done(program).stdout


def environment(program: Program) -> dict[str, str]:
    """Ours, but for one thing: what is measured runs from bytecode, as it does where it is installed."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **program.env}


def _done(program: Program) -> "subprocess.CompletedProcess[bytes]":
    try:
        done = subprocess.run(
            program.argv, env=environment(program), cwd=program.cwd, capture_output=True, check=False, timeout=120
        )
    except FileNotFoundError as error:
        raise UnfitError(f"{program.argv[0]} is not installed") from error
    if done.returncode not in program.statuses:
        words = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise FailedError(f"{' '.join(program.argv)} exited {done.returncode}: {words[0]}")
    return done


def ratio(ours: Program, yardstick: Program, pairs: int) -> Ratio:
    """Wall time of `ours` against the yardstick's, each pair run one after the other; one pair before to warm up."""
    wall(yardstick), wall(ours)
    taken = [(wall(ours), wall(yardstick)) for _ in range(pairs)]
    return ratio_of([(a * 1000, b * 1000) for a, b in taken], "ms")


def ratio_of(pairs: Sequence[tuple[float, float]], unit: str) -> Ratio:
    ours, theirs = zip(*pairs, strict=True)
    ratios = [a / b for a, b in pairs]
    return Ratio(
        statistics.median(ratios), min(ratios), max(ratios), statistics.median(ours), statistics.median(theirs), unit
    )


def amount_of(values: Sequence[float], unit: str) -> Ratio:
    middle = statistics.median(values)
    return Ratio(middle, min(values), max(values), middle, None, unit)
