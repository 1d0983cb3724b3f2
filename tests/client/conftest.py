"""The client in programs of its user's: real processes, the real command, a store of its own for each test."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client"


class Program:
    """A folder to run Python in, by an interpreter that finds the client, and the store that its runs go to."""

    def __init__(self, home: Path, python: Path = Path(sys.executable)) -> None:
        self.home = home
        self.python = python
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
        self.env = {
            **kept,
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "FINGERPRINT_STORE": str(home / "store.db"),
            "FINGERPRINT": shlex.join([sys.executable, "-m", "fingerprint"]),
            "PYTHONPATH": str(CLIENT),
        }

    def __call__(
        self, *words: str, env: Mapping[str, str] | None = None, status: int = 0
    ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [self.python, *words], env={**self.env, **(env or {})}, cwd=self.home,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def pytest(self, *words: str, status: int = 0, env: Mapping[str, str] | None = None) -> str:
        """What a session prints."""
        plugin = ["-p", "fingerprint_client", "-p", "no:cacheprovider", "-W", "error", "-q"]
        return self("-m", "pytest", *plugin, *words, status=status, env=env).stdout

    def fingerprint(self, *words: str) -> Any:
        env = {name: value for name, value in self.env.items() if name != "PYTHONPATH"}
        argv = [*shlex.split(self.env["FINGERPRINT"]), *words, "--format", "json"]
        return json.loads(subprocess.run(argv, env=env, cwd=self.home, capture_output=True, check=True).stdout)

    def shown(self, run: str = "@") -> dict[str, Any]:
        """The run's document."""
        document: dict[str, Any] = self.fingerprint("show", run)
        return document

    def metrics(self, run: str = "@") -> dict[str, dict[str, Any]]:
        """Those that the program gave."""
        return {name: one for name, one in self.shown(run)["metrics"].items() if one["source"] == "given"}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)
