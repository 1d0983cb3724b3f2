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
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting over /sys needs root"),
    pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="this kernel has no FUSE"),
]


class HungHost:
    """A mount namespace of its own, in which `HANGS` is a FUSE mount whose daemon is mute."""

    def __init__(self) -> None:
        script = f"mount --make-rprivate / && exec {sys.executable} {Path(__file__).with_name('mute_fuse.py')} {HANGS}"
        self.daemon = subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
        assert self.daemon.stdout
        assert self.daemon.stdout.readline() == "mounted\n"
        self.enter = ("nsenter", "-m", "-t", str(self.daemon.pid), "-w" + os.getcwd())

    def end(self) -> None:
        """Ends the daemon, which fails what waits for it and so frees those in state D."""
        self.daemon.kill()
        self.daemon.wait()
        assert self.daemon.stdout
        self.daemon.stdout.close()


@pytest.fixture
def hung_host() -> Iterator[HungHost]:
    host = HungHost()
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


def test_a_run_goes_on_and_is_recorded(fingerprint: Cli, hung_host: HungHost) -> None:
    done = fingerprint("run", "--name", "a", "--", "sh", "-c", "echo out; exit 3", before=hung_host.enter, status=3)
    assert done.stdout == "out\n"
    text = fingerprint("show", "a").stdout
    assert "memory" in text
    assert "hung" in text or "timed out" in text
