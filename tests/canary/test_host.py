"""The work of CPU and memory: two seconds, of which each sample is a mean over 100 ms."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fingerprint.canary import on_host
from fingerprint.canary.measure import Serving, measured
from fingerprint.canary.names import at, is_canary, moments
from fingerprint.metrics import Metric
from tests.e2e.test_one_change import needs_root

UNITS = {"cpu": "us", "memory_copy": "GB/s", "system_call": "ns", "wake_up": "us"}


def host() -> dict[str, Metric]:
    return {moments(it.name)[1]: it for it in measured("before", None)}


@pytest.mark.long
def test_it_takes_two_seconds_and_a_little() -> None:
    began, before = time.monotonic(), os.times()
    found = host()
    assert 1.9 < time.monotonic() - began < 4
    assert os.times().children_user - before.children_user < 3
    assert {work: metric.unit for work, metric in found.items()} == UNITS
    assert all(len(metric.samples) >= 1 for metric in found.values())
    assert "beside a server" in found["cpu"].source
    assert 0.1 < found["cpu"].samples[0] < 1000
    assert 0.1 < found["memory_copy"].samples[0] < 1000
    assert 10 < found["system_call"].samples[0] < 100_000


def test_a_sample_is_the_seconds_that_a_unit_took() -> None:
    one, *more = on_host.samples(lambda: time.sleep(0.02) or 10, 0.25)
    assert 0.002 <= one < 0.01
    assert len(more) <= 2


def test_each_work_does_what_it_counts() -> None:
    assert on_host.memory_copy(1 << 16)() == 1 << 16
    assert on_host.system_call()() == 20_000
    assert on_host.cpu()() == 2000
    assert on_host.largest_cache() % 1024 == 0


FILLS = "held = bytearray(200 << 20)\nfor at in range(0, 200 << 20, 4096): held[at] = 1\nprint(flush=True); input()"


@pytest.mark.long
@pytest.mark.root
@needs_root
def test_where_memory_is_short_the_canary_is_killed_and_no_neighbour_and_the_other_work_is_told() -> None:
    with memory_cgroup(300 << 20) as enter:
        inside = ["sh", "-c", f'echo $$ > {enter}; exec "$@"', "sh", sys.executable]
        pipe = subprocess.PIPE
        with subprocess.Popen([*inside, "-c", FILLS], stdin=pipe, stdout=pipe) as neighbour:
            assert neighbour.stdout is not None
            neighbour.stdout.readline()
            work = subprocess.run([*inside, on_host.__file__], stdout=pipe, text=True, check=False)
            assert neighbour.poll() is None
            neighbour.communicate(b"\n")
    assert work.returncode == -9
    assert [json.loads(line)["work"] for line in work.stdout.splitlines()] == ["cpu", "system_call", "wake_up"]


@contextmanager
def memory_cgroup(limit: int) -> Iterator[Path]:
    """The file by which one enters a control group that has so many bytes, v1 or v2."""
    kinds = ("memory", "memory.limit_in_bytes"), ("", "memory.max")
    for folder, file in kinds:
        group = Path("/sys/fs/cgroup", folder, f"fingerprint-test-{os.getpid()}")
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / file).exists():
            break
        group.rmdir()
    else:
        pytest.skip("no cgroup with a memory controller can be made here")
    (group / file).write_text(str(limit))
    try:
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def test_it_is_the_first_to_go_where_memory_is_short() -> None:
    goes = "from fingerprint.canary.on_host import first_to_go; first_to_go()"
    says = f"{goes}; print(open('/proc/self/oom_score_adj').read())"
    assert subprocess.run([sys.executable, "-c", says], capture_output=True, check=True).stdout.strip() == b"1000"


def test_a_name_tells_when_and_what() -> None:
    assert moments(at("after", "gpu/0000:17:00.0/copy")) == ("after", "gpu/0000:17:00.0/copy")
    assert is_canary("canary/before/cpu")
    assert not is_canary("canary_ms")


def test_a_host_on_which_nothing_can_be_started_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    found = measured("before", Serving(("true",), {}, "/"))
    assert found[0].gap == "/nonexistent/python is not installed"
