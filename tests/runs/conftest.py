"""Runs as processes: each test sees what a shell, a terminal or a supervisor would."""

import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fingerprint.runs.record import AnyRecord

Running = subprocess.Popen[str]
Done = subprocess.CompletedProcess[str]

CHECKOUT = Path(__file__).parents[2]
decode = msgspec.json.Decoder(AnyRecord).decode


class Starter:
    """Starts runs whose records go to a file of the test's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records_file = folder / "records"
        self._running: list[Running] = []

    def argv(self, *command: str, options: Mapping[str, str] | None = None) -> list[str]:
        flags = [word for pair in (options or {}).items() for word in pair]
        return [sys.executable, "-m", "tests.runs.started", str(self.records_file), *flags, "--", *command]

    def __call__(self, *command: str, options: Mapping[str, str] | None = None, **more: Any) -> Done:
        argv = self.argv(*command, options=options)
        return subprocess.run(argv, cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=False, **more)

    def popen(self, *command: str, options: Mapping[str, str] | None = None, **more: Any) -> Running:
        """Its standard output is a pipe; it is killed when the test ends."""
        argv = self.argv(*command, options=options)
        self._running.append(subprocess.Popen(argv, cwd=CHECKOUT, text=True, **{"stdout": subprocess.PIPE, **more}))
        return self._running[-1]

    def script(self, *command: str) -> str:
        """A file that execs the run: what one types at a prompt stays short."""
        path = self.folder / "go"
        path.write_text(f"#!/bin/sh\nexec {shlex.join(self.argv(*command))}\n")
        path.chmod(0o755)
        return str(path)

    def close(self) -> None:
        for run in self._running:
            run.kill()
            with run:  # closes the pipe and waits
                pass

    def records(self, kind: type | None = None) -> list[Any]:
        lines = self.records_file.read_bytes().splitlines() if self.records_file.exists() else []
        found = [decode(line) for line in lines]
        return [record for record in found if kind is None or isinstance(record, kind)]


class Terminal:
    """A command on a terminal of its own, as in a terminal emulator."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(CHECKOUT)
            os.execvpe(argv[0], list(argv), dict(env))
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def expect(self, text: str, seconds: float = 20.0) -> str:
        """Everything up to and with `text`, which is taken."""
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {text!r} in {self.seen!r}"
            try:
                self.seen += os.read(self.master, 65536).decode(errors="replace")
            except OSError as error:
                raise AssertionError(f"no {text!r} before the end in {self.seen!r}") from error
        before, _, self.seen = self.seen.partition(text)
        return before + text

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.master)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    starter = Starter(tmp_path)
    yield starter
    starter.close()


@pytest.fixture
def terminal() -> Iterator[Callable[[Sequence[str]], Terminal]]:
    opened: list[Terminal] = []

    def on_terminal(argv: Sequence[str]) -> Terminal:
        opened.append(Terminal(argv, {**os.environ, "PS1": "ready$ ", "TERM": "dumb"}))
        return opened[-1]

    yield on_terminal
    for one in opened:
        one.close()
