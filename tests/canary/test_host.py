"""The work of CPU and memory: two seconds, of which each sample is a mean over 100 ms."""

import os
import time

import pytest

from fingerprint.canary import on_host
from fingerprint.canary.measure import Serving, measured
from fingerprint.canary.names import at, is_canary, moments
from fingerprint.metrics import Metric

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


def test_a_name_tells_when_and_what() -> None:
    assert moments(at("after", "gpu/0000:17:00.0/copy")) == ("after", "gpu/0000:17:00.0/copy")
    assert is_canary("canary/before/cpu")
    assert not is_canary("canary_ms")


def test_a_host_on_which_nothing_can_be_started_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    found = measured("before", Serving(("true",), {}, "/"))
    assert found[0].gap == "/nonexistent/python is not installed"
