"""Two runs of one command on an unchanged host: no suspect, and exit 0."""

import json
import subprocess
import sys
import time

import pytest

from tests.e2e.conftest import Cli

BUSY = "while True: sum(range(100_000))"


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("true",), id="short"),
        pytest.param(("nice", "env", "X=1", "sleep", "0.03"), id="a chain of programs", marks=pytest.mark.long),
        pytest.param(("sh", "-c", "sleep 0.3 & sleep 0.2; wait"), id="with children"),
    ],
)
@pytest.mark.parametrize("pairs", [2, pytest.param(10, marks=pytest.mark.long)])
def test_pairs_in_a_row_on_a_busy_machine_show_no_suspect(
    fingerprint: Cli, command: tuple[str, ...], pairs: int
) -> None:
    neighbours = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(2)]
    try:
        for _ in range(pairs + 1):
            fingerprint("run", "--name", "same", "--", *command)
        for attempt in range(1, pairs + 1):
            diff = fingerprint.diff(f"same#{attempt}", f"same#{attempt + 1}", status=0)
            assert diff["suspects"] == []
            assert (diff["a"]["name"], diff["b"]["name"]) == (f"same#{attempt}", f"same#{attempt + 1}")
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()


@pytest.mark.long
def test_snapshots_twenty_seconds_apart_differ_in_no_lasting_fact(fingerprint: Cli) -> None:
    first = json.loads(fingerprint("snapshot", "--format", "json").stdout)
    time.sleep(20)
    second = json.loads(fingerprint("snapshot", "--format", "json").stdout)
    diff = fingerprint.diff(first["id"], second["id"], status=0)
    assert diff["changes"] == []
