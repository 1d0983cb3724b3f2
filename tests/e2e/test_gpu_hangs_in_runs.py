"""A run goes on, and ends as its command did, whatever NVML does before it, beside it and after it."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Cli
from tests.e2e.hung_gpus import (
    ONE,
    TWO,
    started,
    stat,
    two_gpus,
)
from tests.nvml.fake import Fake, FakeNvml
from tests.nvml.scenario import HANG
from tests.waiting import until

OUTPUT = "echo out; echo err >&2; read go; exit 3"


@pytest.fixture
def fake(fake_nvml: FakeNvml, fingerprint: Cli) -> Fake:
    return two_gpus(fake_nvml, fingerprint)


class Run:
    """A run of a command that waits for a line."""

    def __init__(self, fingerprint: Cli, process: "subprocess.Popen[bytes]") -> None:
        self._fingerprint = fingerprint
        self.process = process
        assert process.stdout
        assert process.stdout.readline() == b"out\n"

    def end(self) -> dict[str, Any]:
        """Lets it end, as it does without NVML; what was recorded."""
        out, err = self.process.communicate(b"go\n")
        assert (out, err, self.process.returncode) == (b"", b"err\n", 3)
        found: dict[str, Any] = json.loads(self._fingerprint("show", "a", "--format", "json").stdout)
        assert found["closed"]["status"] == 3
        return found


@pytest.fixture
def running(fingerprint: Cli, fake: Fake) -> Iterator[Callable[[], Run]]:
    processes = []

    def start() -> Run:
        argv = ("run", "-q", "--name", "a", "--", "sh", "-c", OUTPUT)
        processes.append(started(fingerprint, *argv))
        return Run(fingerprint, processes[-1])

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def ticks(run: dict[str, Any]) -> int:
    """How often what NVML does not tell was sampled."""
    return max(sample.get("count", 0) for path, sample in run["samples"].items() if path.startswith("pressure/"))


def test_a_run_goes_on_where_nvml_hangs_from_the_start(fake: Fake, running: Callable[[], Run]) -> None:
    fake.put("", "nvmlInit", HANG)
    run = running()
    began = time.monotonic()
    time.sleep(1)
    slept = time.monotonic() - began
    found = run.end()
    assert ticks(found) >= 3
    assert found["metrics"]["wall_time"]["samples"][0] < slept + 0.4  # not the seconds that NVML had before and after
    assert found["troubles"] == []
    assert len(fake.processes()) == 1
    assert fake.called("nvmlInitWithFlags") == 1


def test_a_sampler_that_hangs_holds_up_no_other_area(fingerprint: Cli, fake: Fake, running: Callable[[], Run]) -> None:
    fingerprint.env["FINGERPRINT_SAMPLING_FIRST_MINUTE_HZ"] = "20"
    run = running()
    until(lambda: fake.mark and fake.mark.call == "-" and fake.called("nvmlDeviceGetPowerUsage") > 6)
    fake.put(TWO, "nvmlDeviceGetPowerUsage", HANG)
    until(lambda: fake.mark and fake.mark.call == "nvmlDeviceGetPowerUsage")
    time.sleep(1.2)
    found = run.end()
    assert ticks(found) > 10 * found["metrics"]["wall_time"]["samples"][0]
    assert any(path.startswith(f"gpu/{ONE}/power/") for path in found["samples"])
    assert len(fake.processes()) == 1
    assert fake.called("nvmlInitWithFlags") == 2  # before, and the sampler: none after it


def test_a_run_ends_where_nvml_hangs_at_its_end(fake: Fake, running: Callable[[], Run]) -> None:
    run = running()
    until(lambda: fake.mark and fake.mark.call == "-")
    fake.put(ONE, "nvmlDeviceGetSerial", HANG)  # no sample asks it
    found = run.end()
    assert found["snapshots"]["after"]
    [pid] = fake.processes()
    assert fake.mark
    assert (fake.mark.pid, fake.mark.call) == (pid, "nvmlDeviceGetSerial")


def test_a_run_leaves_no_zombie(fingerprint: Cli, fake: Fake, running: Callable[[], Run]) -> None:
    """Neither of a sampler that ended before its time."""
    before = children(os.getpid())
    run = running()
    until(lambda: fake.mark and fake.mark.call == "-" and fake.called("nvmlDeviceGetPowerUsage") > 4)
    [pid] = fake.processes()
    reader = int(stat(pid)[1])
    os.kill(pid, signal.SIGKILL)
    until(lambda: not children(reader))
    run.end()
    assert children(os.getpid()) == before


def children(pid: int) -> list[int]:
    """Zombies are children too."""
    return [int(found.name) for found in Path("/proc").glob("[0-9]*") if parent(found) == pid]


def parent(process: Path) -> int | None:
    try:
        return int(stat(int(process.name))[1])
    except OSError:
        return None
