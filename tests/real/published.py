"""Distributions as their projects publish them, installed into environments of their own.

FINGERPRINT_WHEELS=DIR names a folder of wheels that are taken first; pip downloads what it does not hold.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.probes.environments import NO_VARIABLES, Environment

WHEELS = "FINGERPRINT_WHEELS"
_PATIENCE = 600  # seconds, of which 330 MB of vLLM take the most


@contextmanager
def installed(root: Path, *wanted: str, dependencies: bool = False) -> Iterator[Environment]:
    """An environment that is removed afterwards: pytest keeps the folders of three sessions."""
    environment = Environment(root)
    try:
        install(environment, *wanted, dependencies=dependencies)
        yield environment
    finally:
        shutil.rmtree(root)


def install(environment: Environment, *wanted: str, dependencies: bool = False) -> None:
    """`wanted`: NAME==VERSION. The test is skipped, with pip's words, where one cannot be had here."""
    refused = ""
    for source in _sources():
        done = _pip(environment, *source, *([] if dependencies else ["--no-deps"]), *wanted)
        if done.returncode == 0:
            return
        refused = done.stderr.strip().rpartition("\n")[2]
    pytest.skip(f"pip cannot install {' '.join(wanted)} here: {refused}")


def _sources() -> Iterator[tuple[str, ...]]:
    if WHEELS in os.environ:
        yield "--no-index", "--find-links", os.environ[WHEELS]
    yield ()


def _pip(environment: Environment, *words: str) -> "subprocess.CompletedProcess[str]":
    """Nothing is compiled: that is for who imports it."""
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input", "--no-compile", "--only-binary", ":all:")
    return subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(environment.python), "install", *quiet, *words],
        env=NO_VARIABLES, capture_output=True, text=True, timeout=_PATIENCE, check=False,
    )  # fmt: skip
