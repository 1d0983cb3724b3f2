"""Who was at work beside a command is among its samples, and named by `diff` where the command waited for it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Cli

BURN = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
WORK = "import time\nwhile time.process_time() < 1.2: pass"
NAME = "busy-neighbour"


def samples(fingerprint: Cli, run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fingerprint("show", run, "--format", "json").stdout)["samples"]
    return found


@contextmanager
def neighbours(*argv: str | Path, number: int = 1) -> Iterator[None]:
    started = [subprocess.Popen([*argv, "-c", BURN]) for _ in range(number)]
    try:
        yield
    finally:
        for neighbour in started:
            neighbour.kill()
            neighbour.wait()


def test_a_busy_neighbour_is_seen_beside_the_run_with_its_share_of_the_cpus(fingerprint: Cli) -> None:
    with neighbours(sys.executable):
        fingerprint("run", "--name", "a", "--", "sleep", "1.6")
    seen = samples(fingerprint, "a")
    assert any(path.startswith("neighbours/main/python") and path.endswith("/cpu") for path in seen)
    assert not any(path.startswith("neighbours/main/sleep/") for path in seen)


@pytest.mark.long
def test_it_is_named_beside_the_run_that_it_slows_and_not_beside_one_that_sleeps(
    fingerprint: Cli, tmp_path: Path
) -> None:
    program = tmp_path / NAME
    program.symlink_to(Path(sys.executable).resolve())  # a process goes by the name that it was started by
    pinned = ("taskset", "-c", str(min(os.sched_getaffinity(0))))
    work, sleep = (*pinned, sys.executable, "-c", WORK), (*pinned, "sleep", "2.5")
    fingerprint("run", "--name", "free", "--", *work)
    fingerprint("run", "--name", "asleep", "--", *sleep)
    with neighbours(*pinned, program, number=3):
        fingerprint("run", "--name", "shared", "--", *work)
        fingerprint("run", "--name", "asleep", "--", *sleep)

    text = fingerprint("diff", "free", "shared", status=None)
    assert NAME in text.stdout, text.stderr
    slowed = fingerprint.diff("free", "shared")
    line = next(line for line in slowed["held_up"] if line["fact"] == "usage/main/run_delay")
    assert line["b"] > 0.3
    assert NAME in [neighbour["program"] for neighbour in line["by"]]
    assert NAME in "".join(slowed["next"])

    assert f"neighbours/main/{NAME}/cpu" in samples(fingerprint, "asleep#2")
    assert NAME not in json.dumps(fingerprint.diff("asleep#1", "asleep#2"))
