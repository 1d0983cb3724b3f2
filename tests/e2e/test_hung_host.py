"""A place of the host that hangs for ever, in state D: the snapshot ends in its budget and names it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Cli

HANGS = "/sys/kernel/mm/transparent_hugepage"  # the memory probe reads there
GRANTS = "/sys/fs/cgroup"  # what a process is granted is read there, before it starts too
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting over /sys needs root"),
    pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="this kernel has no FUSE"),
]


class HungHost:
    """A mount namespace of its own, in which `place` is a FUSE mount whose daemon is mute, once `hang` is called."""

    def __init__(self, place: str, *, at_once: bool = True) -> None:
        mute = f"exec {sys.executable} {Path(__file__).with_name('mute_fuse.py')} {place}"
        script = f"mount --make-rprivate / && echo apart && read go && {mute}"
        self.daemon = subprocess.Popen(
            ["unshare", "-m", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._hears("apart")
        if at_once:
            self.hang()
        self.enter = ("nsenter", "-m", "-t", str(self.daemon.pid), "-w" + os.getcwd())

    def hang(self) -> None:
        assert self.daemon.stdin
        self.daemon.stdin.write("go\n")
        self.daemon.stdin.flush()
        self._hears("mounted")

    def end(self) -> None:
        """Ends the daemon, which fails what waits for it and so frees those in state D."""
        self.daemon.kill()
        with self.daemon:  # closes the pipes and waits
            pass

    def _hears(self, word: str) -> None:
        assert self.daemon.stdout
        assert self.daemon.stdout.readline() == f"{word}\n"


@pytest.fixture
def hung_host(request: pytest.FixtureRequest) -> Iterator[HungHost]:
    host = HungHost(getattr(request, "param", HANGS))
    yield host
    host.end()


@pytest.fixture
def sound_host() -> Iterator[HungHost]:
    host = HungHost(HANGS, at_once=False)
    yield host
    host.end()


def test_the_snapshot_ends_names_what_hung_and_has_the_rest(fingerprint: Cli, hung_host: HungHost) -> None:
    began = time.monotonic()
    answer = json.loads(fingerprint("snapshot", "--format", "json", before=hung_host.enter).stdout)
    assert time.monotonic() - began < 20  # it would be for ever
    outcomes = {name: section["outcome"] for name, section in answer["sections"].items()}
    assert outcomes.pop("memory") == "timed_out"
    assert set(outcomes.values()) == {"ok"}
    assert "state D" in answer["sections"]["memory"]["detail"]


def test_a_pipeline_behind_it_ends_too(fingerprint: Cli, hung_host: HungHost) -> None:
    shell = ("sh", "-c", '"$@" | cat; echo ended', "sh")
    assert fingerprint("snapshot", before=(*hung_host.enter, *shell)).stdout.endswith("ended\n")


def troubles(fingerprint: Cli, run: str) -> list[str]:
    found: list[str] = json.loads(fingerprint("show", run, "--format", "json").stdout)["troubles"]
    return found


def test_a_run_goes_on_and_is_recorded(fingerprint: Cli, hung_host: HungHost) -> None:
    done = fingerprint("run", "--name", "a", "--", "sh", "-c", "echo out; exit 3", before=hung_host.enter, status=3)
    assert done.stdout == "out\n"
    [trouble] = troubles(fingerprint, "a")
    assert trouble.startswith("memory hung since")


@pytest.mark.long
@pytest.mark.parametrize("hung_host", [GRANTS], indirect=True)
def test_a_command_starts_where_what_it_is_granted_cannot_be_read(fingerprint: Cli, hung_host: HungHost) -> None:
    fingerprint.env["FINGERPRINT_BUDGET_S"] = "1"
    done = fingerprint("run", "--name", "a", "--", "sh", "-c", "echo out; exit 3", before=hung_host.enter, status=3)
    assert done.stdout == "out\n"
    assert any(trouble.startswith("given/main hung since") for trouble in troubles(fingerprint, "a"))


def test_what_hangs_while_the_command_runs_is_named_once(fingerprint: Cli, sound_host: HungHost) -> None:
    argv = fingerprint.argv("run", "-q", "--name", "a", "--", "sh", "-c", "echo out; read go; exit 3")
    with subprocess.Popen(
        [*sound_host.enter, *argv], env=fingerprint.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout
        assert run.stdout.readline() == "out\n"
        sound_host.hang()
        run.communicate("go\n")
    assert run.returncode == 3
    [trouble] = troubles(fingerprint, "a")
    assert trouble.startswith("memory hung since")
