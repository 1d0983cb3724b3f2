"""The command line as its user runs it: real processes, a store of its own for each test."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.gpu_host import gpu_host
from tests.turned import standing

__all__ = ["gpu_host"]


class Cli:
    """`fingerprint` with its store and configuration under one folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
        self.env = {
            **kept,
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "FINGERPRINT_STORE": str(home / "store.db"),
            "FINGERPRINT_SOCKET": "",  # whatever runs on this host
        }

    def argv(self, *args: str) -> list[str]:
        return [sys.executable, "-m", "fingerprint", *args]

    def __call__(
        self,
        *args: str,
        before: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        status: int | None = 0,
        **more: Any,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a verb, `before` in front of it (taskset, nice ...); checks the exit status unless it is None."""
        done = subprocess.run(
            [*before, *self.argv(*args)], env={**self.env, **(env or {})}, cwd=cwd or self.home,
            capture_output=True, text=True, timeout=120, check=False, **more,
        )  # fmt: skip
        if status is not None:
            assert done.returncode == status, f"{args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def diff(self, a: str, b: str, status: int | None = None) -> dict[str, Any]:
        """The contract of `diff a b`."""
        answer: dict[str, Any] = json.loads(self("diff", a, b, "--format", "json", status=status).stdout)
        return answer


@pytest.fixture
def fingerprint(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cli]:
    """While a test runs no other turns a setting of the kernel; one marked `root` may, and sees to it itself."""
    with nullcontext() if request.node.get_closest_marker("root") else standing():
        yield Cli(tmp_path)
