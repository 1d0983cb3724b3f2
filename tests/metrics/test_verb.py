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
