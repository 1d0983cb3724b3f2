"""GPUs are asked through the Python of the command's own environment; whatever that does costs a gap, and no more time
than it is given."""

import ast
import time
from pathlib import Path

import pytest

from fingerprint.canary import on_gpus
from fingerprint.canary.measure import Serving, measured
from tests.canary.conftest import Gpus

WORKS = ("copy", "upload", "matmul", "launch", "p2p")


def test_each_gpu_does_each_work_by_the_environments_torch(gpus: Gpus) -> None:
    found = gpus()
    assert list(found) == [f"gpu/0000:{bus}:00.0/{work}" for bus in ("17", "18") for work in WORKS]
    copy, matmul = found["gpu/0000:17:00.0/copy"], found["gpu/0000:17:00.0/matmul"]
    assert (copy.unit, copy.better, copy.source) == ("GB/s", "higher", "canary 1, torch 0.0-standin")
    assert 1 < copy.samples[0] < 2700, "256 MiB in 0.1 ms and what sleeping takes besides"
    assert matmul.unit == "TFLOP/s"
    assert found["gpu/0000:18:00.0/launch"].better == "lower"
    assert all(len(metric.samples) >= 1 for metric in found.values())


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("crash", "python: killed by signal 11"),
        ("flood", "python: more than 4194304 bytes of output"),
        ("garbage", "nothing that can be read came of it"),
        ("none", "torch 0.0-standin sees no GPU"),
        ("broken", "torch: libcudart.so.12: cannot open shared object file; cupy: No module named 'cupy'"),
    ],
)
def test_what_goes_wrong_is_a_gap_with_its_reason(gpus: Gpus, wrong: str, why: str) -> None:
    (gap,) = gpus(wrong).values()
    assert gap.name == "canary/before/gpu"
    assert gap.gap.endswith(why)
    assert not gap.samples


def test_a_library_that_hangs_is_given_up_in_time(gpus: Gpus) -> None:
    began = time.monotonic()
    (gap,) = gpus("hang", 0.5).values()
    assert gap.gap.endswith("python: no end within 0.5 s")
    assert time.monotonic() - began < 2


@pytest.mark.long
def test_what_was_told_before_a_gpu_hung_stands(gpus: Gpus) -> None:
    found = gpus("hangs later", 2.0)
    assert [name for name, metric in found.items() if metric.samples] == [f"gpu/0000:17:00.0/{work}" for work in WORKS]
    assert found["gpu"].gap.endswith("no end within 2 s")


@pytest.mark.parametrize(
    ("wrong", "work", "why"),
    [
        ("full", "copy", "less than 1024 MiB of its memory are free"),
        ("unpinned", "upload", "RuntimeError: CUDA error: out of memory"),
        ("apart", "p2p", "it cannot reach the next GPU's memory"),
        ("alone", "p2p", "there is no other GPU"),
    ],
)
def test_what_one_gpu_cannot_do_is_a_gap_of_that_work(gpus: Gpus, wrong: str, work: str, why: str) -> None:
    found = gpus(wrong)
    assert found[f"gpu/0000:17:00.0/{work}"].gap == why
    assert "gpu" not in found


def test_parts_of_one_gpu_are_told_apart_by_number(gpus: Gpus) -> None:
    assert list(gpus("parts")) == [f"gpu/{part}/{work}" for part in ("0", "1") for work in WORKS]


def test_the_script_is_of_a_python_that_old_environments_have() -> None:
    ast.parse(Path(on_gpus.__file__).read_text(), feature_version=(3, 8))


def test_where_no_gpu_is_no_library_is_loaded(gpus: Gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fingerprint.canary.measure.DEVICES", ("/nonexistent/gpu",))
    (gap,) = gpus("hang").values()
    assert gap.gap == "no GPU is there: none of /nonexistent/gpu"


def test_a_signal_that_ends_us_ends_the_canary(monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()
    found = measured("after", Serving(("true",), {}, "/"), lambda: True)
    assert time.monotonic() - began < 1
    assert all(metric.gap for metric in found)
    assert found[0].gap.endswith("it was told to end")
