"""`--canary` on real runs: around the command, never beside it, and beside a server only where that was asked for."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from fingerprint.runs.attached import BESIDE
from tests.e2e.conftest import Cli
from tests.e2e.test_one_change import cpu_cgroup, needs_root
from tests.turned import standing
from tests.waiting import until

WORKS = ["cpu", "memory_copy", "system_call", "wake_up", "gpu"]
NAMES = [f"canary/{moment}/{work}" for moment in ("before", "after") for work in WORKS]


@pytest.fixture
def fingerprint(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def metrics(fingerprint: Cli, run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fingerprint("show", run, "--format", "json").stdout)["metrics"]
    return found


def canary(fingerprint: Cli, run: str) -> list[str]:
    return [name for name in metrics(fingerprint, run) if name.startswith("canary/")]


@pytest.mark.long
def test_a_run_has_both_ends_and_its_own_numbers_do_not_hold_them(fingerprint: Cli) -> None:
    fingerprint("run", "--canary", "--name", "a", "--", "sleep", "0.2")
    found = metrics(fingerprint, "a")
    assert [name for name in found if name.startswith("canary/")] == NAMES
    assert found["wall_time"]["samples"][0] < 1
    assert found["cpu_time"]["samples"][0] < 0.1
    assert found["canary/before/gpu"]["gap"].startswith("no GPU is there") or os.path.exists("/dev/nvidiactl")


@pytest.mark.long
def test_the_setting_is_as_good_as_the_flag_for_a_command(fingerprint: Cli) -> None:
    fingerprint("run", "--name", "a", "--", "true", env={"FINGERPRINT_CANARY": "1"})
    assert canary(fingerprint, "a") == NAMES


def test_a_signal_while_it_works_ends_it_and_starts_nothing(fingerprint: Cli, tmp_path: Path) -> None:
    started = tmp_path / "started"
    argv = fingerprint.argv("run", "--canary", "--name", "a", "--", "touch", str(started))
    run = subprocess.Popen(argv, env=fingerprint.env, stderr=subprocess.DEVNULL, start_new_session=True)
    until(lambda: _works(run.pid))
    run.send_signal(signal.SIGTERM)
    began = time.monotonic()
    assert run.wait(10) in (-signal.SIGTERM, 128 + signal.SIGTERM)
    assert time.monotonic() - began < 8
    assert not started.exists()
    assert metrics(fingerprint, "a")["canary/before/wake_up"]["gap"].endswith("it was told to end")


def _works(pid: int) -> bool:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    lines = [Path(f"/proc/{child}/cmdline") for child in children.read_text().split()]
    return any(b"-I\0-S\0-\0" in line.read_bytes() for line in lines if line.exists())


@pytest.mark.long
def test_beside_a_server_only_the_flag_counts_and_no_gpu_is_asked(fingerprint: Cli) -> None:
    server = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        asked = ("attach", "--pid", str(server.pid), "--for", "1s")
        fingerprint(*asked, "--name", "without", env={"FINGERPRINT_CANARY": "1"})
        assert canary(fingerprint, "without") == []
        fingerprint(*asked, "--name", "beside", "--canary")
    finally:
        server.kill()
        server.wait()
    assert canary(fingerprint, "beside") == [name for name in NAMES if not name.endswith("gpu")]
    [note] = json.loads(fingerprint("show", "beside", "--format", "json").stdout)["notes"]
    assert note == BESIDE
    assert metrics(fingerprint, "beside")["canary/before/cpu"]["source"].endswith(", beside a server")


WORK = "import hashlib\nd = b''\nfor _ in range(60000): d = hashlib.blake2b(d + bytes(4096)).digest()"


WEIGHTS = {"cpu.shares": "262144", "cpu.weight": "10000"}


def preferred(group: Path) -> None:
    """So that other tests, which run beside it, get what it leaves; cgroups v1 and v2 call the weight so."""
    [(name, most)] = [it for it in WEIGHTS.items() if (group / it[0]).exists()]
    (group / name).write_text(most)


def throttled(group: Path) -> int:
    """In how many periods the quota was used up."""
    return int(dict(map(str.split, (group / "cpu.stat").read_text().splitlines()))["nr_throttled"])


@pytest.mark.long
@pytest.mark.root
@needs_root
def test_a_quota_slows_the_canary_as_it_slows_the_command(fingerprint: Cli) -> None:
    """Whatever else runs: the quota's own counter tells that it was at work, and what it leaves is a bound."""
    with standing(), cpu_cgroup() as (group, quota):
        preferred(group)
        inside = ("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh")
        for name, word in (("free", None), ("tight", "12000")):
            if word:
                assert throttled(group) == 0
                (group / quota).write_text(word)
            fingerprint("run", "--canary", "--name", name, "--", sys.executable, "-c", WORK, before=inside)
        assert throttled(group) > 20
        diff = fingerprint.diff("free", "tight", status=1)
    free, tight = (metrics(fingerprint, name)["canary/before/cpu"]["samples"] for name in ("free", "tight"))
    assert median(tight) > 2 * median(free)
    assert re.search("CPU work [0-9.]+x .* slower.*: the host was slower[.]", diff["comparable"]["says"])
    first = diff["suspects"][0]
    assert first["facts"] == ["process/main/cgroup/cpu_max"]
    assert "canary/cpu" in [evidence["fact"] for evidence in first["evidence"]]
    assert not any(metric["name"].startswith("canary/") for metric in diff["metrics"])


@contextmanager
def hogs(cpu: int, count: int) -> Iterator[None]:
    argv = [sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"]
    running = [subprocess.Popen(argv) for _ in range(count)]
    try:
        yield
    finally:
        for hog in running:
            hog.kill()
            hog.wait()


@pytest.mark.long
def test_others_on_its_cpu_slow_the_canary_as_they_slow_the_command(fingerprint: Cli) -> None:
    cpu = min(os.sched_getaffinity(0))
    pinned = ("taskset", "-c", str(cpu))
    with standing():
        fingerprint("run", "--canary", "--name", "a", "--", sys.executable, "-c", WORK, before=pinned)
        with hogs(cpu, 8):
            fingerprint("run", "--canary", "--name", "b", "--", sys.executable, "-c", WORK, before=pinned)
    says = fingerprint.diff("a", "b", status=None)["comparable"]["says"]
    assert ": the host was slower" in says


@pytest.mark.long
def test_more_work_for_the_same_command_line_leaves_the_canary_as_it_was(fingerprint: Cli, tmp_path: Path) -> None:
    """However busy this host is: then nothing is told apart, and the host is not called slower."""
    script = tmp_path / "work.py"
    for name, rounds in (("a", 20_000), ("b", 200_000)):
        script.write_text(WORK.replace("60000", str(rounds)))
        fingerprint("run", "--canary", "--name", name, "--", sys.executable, str(script))
    says = fingerprint.diff("a", "b", status=None)["comparable"]["says"]
    assert "Canary: " in says
    assert "CPU work" in says.partition("Canary: ")[2]
