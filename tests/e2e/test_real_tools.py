"""Real benchmark tools, started by `run`: what they measured is found by the command's own arguments."""

import json
import shutil
import sys
from typing import Any

import pytest

from tests.e2e.conftest import Cli

MEASURE = """
import google_benchmark as benchmark

@benchmark.register
def summing(state):
    while state:
        sum(range(1000))

benchmark.main()
"""
TESTS = """
def test_summing(benchmark):
    benchmark(sum, range(1000))
"""


def measured(fingerprint: Cli, *command: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Metrics and workload of one run, without what each run measures by itself."""
    fingerprint("run", "-q", "--name", "a", "--", *command)
    document = json.loads(fingerprint("show", "a", "--format", "json").stdout)
    assert document["troubles"] == []
    own = ("wall_time", "cpu_time", "peak_memory", "exit_status")
    return {name: it for name, it in document["metrics"].items() if name not in own}, document["workload"]


def only(metrics: dict[str, Any]) -> dict[str, Any]:
    (metric,) = metrics.values()
    found: dict[str, Any] = metric
    return found


def test_pyperf(fingerprint: Cli) -> None:
    quick = ("-p", "2", "-n", "2", "-w", "1", "-l", "10", "--min-time", "0.001")
    command = (sys.executable, "-m", "pyperf", "timeit", *quick, "-o", "out.json", "sum(range(1000))")
    metrics, workload = measured(fingerprint, *command)
    assert only(metrics)["unit"] == "s"
    assert len(only(metrics)["samples"]) == 4
    assert any(key.startswith("pyperf/") for key in workload)


@pytest.mark.long
def test_pytest_benchmark(fingerprint: Cli) -> None:
    (fingerprint.home / "test_it.py").write_text(TESTS)
    short = ("--benchmark-max-time", "0.05", "--benchmark-min-rounds", "5")
    metrics, _ = measured(fingerprint, sys.executable, "-m", "pytest", "-q", *short, "--benchmark-json", "out.json")
    assert only(metrics)["unit"] == "s"
    assert only(metrics)["better"] == "lower"
    assert only(metrics)["samples"]


def test_google_benchmark(fingerprint: Cli) -> None:
    (fingerprint.home / "measure.py").write_text(MEASURE)
    short = ("--benchmark_min_time=0.01s", "--benchmark_repetitions=3", "--benchmark_out=out.json")
    metrics, workload = measured(fingerprint, sys.executable, "measure.py", *short)
    assert any(metric["samples"] and "summing" in name for name, metric in metrics.items())
    assert workload


@pytest.mark.skipif(shutil.which("hyperfine") is None, reason="hyperfine is not installed")
def test_hyperfine(fingerprint: Cli) -> None:
    command = ("hyperfine", "-N", "--warmup", "1", "--runs", "5", "--export-json", "out.json", "true")
    metrics, workload = measured(fingerprint, *command)
    assert len(metrics["true"]["samples"]) == 5
    assert metrics["true"]["unit"] == "s"
    assert workload
