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
    """Of one measurement to its yardstick, over all pairs. ours, yardstick: the medians, in `unit`."""

    median: float
    low: float
    high: float
    ours: float
    yardstick: float
    unit: str


class UnfitError(Exception):
    """A program that cannot be measured here: it is missing, or it fails."""


def wall(program: Program) -> float:
    """Seconds from start to exit. Raises UnfitError for an unexpected exit status."""
    began = time.perf_counter()
    try:
        done = subprocess.run(
            program.argv,
            env={**os.environ, **program.env},
            cwd=program.cwd,
            capture_output=True,
            check=False,
            timeout=120,
        )
    except FileNotFoundError as error:
        raise UnfitError(f"{program.argv[0]} is not installed") from error
    took = time.perf_counter() - began
    if done.returncode not in program.statuses:
        words = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise UnfitError(f"{' '.join(program.argv)} exited {done.returncode}: {words[0]}")
    return took


def ratio(ours: Program, yardstick: Program, pairs: int) -> Ratio:
    """Wall time of `ours` against the yardstick's, each pair run one after the other; one pair before to warm up."""
    wall(yardstick), wall(ours)
    taken = [(wall(ours), wall(yardstick)) for _ in range(pairs)]
    return ratio_of([(a * 1000, b * 1000) for a, b in taken], "ms")


def ratio_of(pairs: Sequence[tuple[float, float]], unit: str) -> Ratio:
    ratios = [a / b for a, b in pairs]
    medians = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Ratio(statistics.median(ratios), min(ratios), max(ratios), *medians, unit)
