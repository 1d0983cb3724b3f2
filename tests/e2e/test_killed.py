"""kill -9 of fingerprint at random moments, four at a time into one store."""

import json
import random
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.conftest import Cli

WRITERS = 4
COMMAND = 'echo "start $$" >> {log}; sleep 0.05; echo "end $$" >> {log}'


class Writers:
    """Rounds of four runs, each killed at a moment of its own unless it ends before."""

    def __init__(self, fingerprint: Cli, seed: int) -> None:
        self.fingerprint = fingerprint
        self.log = fingerprint.home / "log"
        self.log.touch()
        self.random = random.Random(seed)
        self.killed = 0
        self.acknowledged: list[str] = []
        self.latest = self._unhurt()

    def _unhurt(self) -> float:
        """Seconds that four runs take beside each other here and now when nobody kills them."""
        started = time.monotonic()
        names = [f"unhurt.{writer}" for writer in range(WRITERS)]
        assert [process.wait(timeout=60) for process in map(self._start, names)] == [0] * WRITERS
        self.acknowledged += names
        return time.monotonic() - started

    def round(self, number: int) -> None:
        names = [f"round-{number}.{writer}" for writer in range(WRITERS)]
        running = {name: self._start(name) for name in names}
        begun = time.monotonic()
        for moment, name in sorted((self.random.uniform(0, 1.5 * self.latest), name) for name in names):
            self._kill_at(begun + moment, running[name])
        for name, process in running.items():
            status = process.wait(timeout=60)
            self.killed += status == -9
            if status == 0:
                self.acknowledged.append(name)

    def _start(self, name: str) -> "subprocess.Popen[bytes]":
        argv = self.fingerprint.argv("run", "-q", "--name", name, "--", "sh", "-c", COMMAND.format(log=self.log))
        return subprocess.Popen(argv, env=self.fingerprint.env, cwd=self.fingerprint.home)

    def _kill_at(self, moment: float, process: "subprocess.Popen[bytes]") -> None:
        while time.monotonic() < moment and process.poll() is None:
            time.sleep(0.002)
        process.kill()

    def commands_that_did_not_end(self) -> set[str]:
        """Pids of commands that were started and have not ended ten seconds later."""
        for _ in range(1000):
            said = self.log.read_text().split("\n")
            left = {line.split()[1] for line in said if line.startswith("start")} - {
                line.split()[1] for line in said if line.startswith("end")
            }
            if not left:
                break
            time.sleep(0.01)
        return left


@pytest.fixture
def writers(fingerprint: Cli) -> Writers:
    return Writers(fingerprint, seed=20261129)


def outcome(writers: Writers, kills: int) -> None:
    number = 0
    while writers.killed < kills:
        writers.round(number)
        number += 1
    assert writers.commands_that_did_not_end() == set()
    listed = writers.fingerprint("runs", "--limit", "100000", "--format", "json").stdout
    kept = {run["name"]: run for run in json.loads(listed)}
    assert "end" in writers.log.read_text()
    for name in writers.acknowledged:
        assert kept[name]["closed"]["status"] == 0
    assert {run["state"] for run in kept.values()} <= {"closed", "interrupted"}
    assert integrity(writers.fingerprint.home / "store.db") == "ok"


def integrity(store: Path) -> str:
    with closing(sqlite3.connect(store)) as connection:
        answer: str = connection.execute("PRAGMA integrity_check").fetchone()[0]
    return answer


@pytest.mark.long
def test_thirty_kills_lose_no_finished_run_and_hurt_no_command(writers: Writers) -> None:
    outcome(writers, kills=30)


@pytest.mark.long
def test_a_thousand_kills_lose_no_finished_run_and_hurt_no_command(writers: Writers) -> None:
    outcome(writers, kills=1000)
