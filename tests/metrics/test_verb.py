"""`fingerprint metric` adds to a stored run what a harness of any language measured."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    return {
        **{name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ},
        "HOME": str(tmp_path),
        "FINGERPRINT_STORE": str(tmp_path / "store.db"),
    }


def fingerprint(environ: Mapping[str, str], *args: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "fingerprint", *args]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)


def metrics(environ: Mapping[str, str], run: str) -> Any:
    return json.loads(fingerprint(environ, "show", run, "--format", "json").stdout)["metrics"]


def test_a_metric_is_added_and_given_again_replaced(environ: Mapping[str, str]) -> None:
    assert fingerprint(environ, "run", "-q", "--name", "a", "--", "true").returncode == 0
    assert fingerprint(environ, "metric", "a", "verify_ms", "1", "2").returncode == 0
    done = fingerprint(environ, "metric", "a", "verify_ms", "29.4", "29.6", "30.1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    told = metrics(environ, "a")["verify_ms"]
    assert (told["samples"], told["unit"], told["better"]) == ([29.4, 29.6, 30.1], "ms", "lower")
    assert "exit_status" in metrics(environ, "a")


def test_what_is_no_measurement_is_refused_and_the_run_stays_as_it_was(environ: Mapping[str, str]) -> None:
    fingerprint(environ, "run", "-q", "--name", "a", "--", "true")
    for args in (("verify_ms", "nan"), ("wall_time", "3"), ("verify_ms", "--", "-1")):
        done = fingerprint(environ, "metric", "a", *args)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
    assert set(metrics(environ, "a")) == {"wall_time", "cpu_time", "peak_memory", "exit_status"}


def test_what_a_client_wrote_during_a_run_is_added_to_it(environ: Mapping[str, str], tmp_path: Path) -> None:
    result, log = tmp_path / "result.json", tmp_path / "server.log"
    fingerprint(environ, "run", "-q", "--name", "a", "--", "true")
    fingerprint(environ, "metric", "a", "output_throughput", "50")
    told = {"completed": 3, "duration": 2.0, "output_throughput": 94.1, "mean_e2e_latency_ms": 8, "max_concurrency": 4}
    result.write_text(json.dumps(told))
    done = fingerprint(environ, "metric", "a", "--from", f"auto:{result}")
    assert (done.returncode, done.stderr) == (0, "")
    added = metrics(environ, "a")
    assert added["output_throughput"]["samples"] == [50.0]
    assert added["output_throughput#2"]["samples"] == [94.1]
    shown = json.loads(fingerprint(environ, "show", "a", "--format", "json").stdout)
    assert shown["workload"]["sglang-bench-serving/max_concurrency"] == 4
    os.utime(result, (0, 0))
    log.write_text('server_args=ServerArgs(model_path="m")\n')
    for file, why in ((result, "was written long before the run"), (log, "is a log, and how far it was when a began")):
        done = fingerprint(environ, "metric", "a", "--from", f"auto:{file}")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert why in done.stderr
