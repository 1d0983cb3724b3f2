"""A state that changes while something serves: an event with its bracket, another segment, and `diff` says when."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fingerprint.service.client import Client
from tests.service.test_daemon import Daemon, name_of
from tests.standin import StandIn
from tests.waiting import until

FACT = "memory/vm/swappiness"
pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file over one of /proc")]


class Staged(Daemon):
    """In a mount namespace, with a file of its own in the place of vm.swappiness."""

    def command(self) -> list[str]:
        self.swappiness.write_text("60\n")
        mount = (
            f"mount --bind {self.swappiness} /proc/sys/vm/swappiness && exec {sys.executable} -m fingerprint.service"
        )
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount]

    @property
    def swappiness(self) -> Path:
        return self.folder / "swappiness"

    def look(self) -> None:
        Client(str(self.folder / "api.sock")).post("/v1/snapshot")


@pytest.fixture
def staged(tmp_path: Path) -> Iterator[Staged]:
    found = Staged(tmp_path)
    try:
        yield found
    finally:
        found.stop()


def told_by(daemon: Daemon, *arguments: str) -> str:
    command = [sys.executable, "-m", "fingerprint", *arguments]
    return subprocess.run(command, env=daemon.environ, capture_output=True, text=True, timeout=60).stdout


def test_a_state_that_changed_is_an_event_cuts_what_serves_and_diff_says_when(staged: Staged, tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "engine", "vllm")
    name = name_of(stand_in)
    with stand_in.serving():
        until(lambda: staged.runs(stand_in), 60)
        staged.look()
        staged.swappiness.write_text("10\n")
        staged.look()
        staged.look()
        until(lambda: len(staged.runs(stand_in)) == 2, 60)
        with staged.store as store:
            [event] = store.events(what=FACT)
        assert (event.was, event.is_, event.since < event.until) == (60, 10, True)
    until(lambda: all(run.closed for run in staged.runs(stand_in)), 60)
    answer = json.loads(told_by(staged, "diff", f"{name}#1", f"{name}#2", "--format", "json"))
    suspect = next(one for one in answer["suspects"] if one["facts"] == [FACT])
    assert suspect["bracket_by"] == "service"
    assert name in told_by(staged, "timeline", "--since", "1h")
