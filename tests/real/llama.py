"""A real llama-server: where it is got from, how it is started under fingerprint, asked, and ended."""

import json
import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e.conftest import Cli
from tests.waiting import until

ANSWER = "answer.json"
SPEED = f"json:{ANSWER}#timings.predicted_per_second"
TOKENS = 200
ASKED = {"prompt": "ab", "n_predict": TOKENS, "ignore_eos": True, "grammar": "root ::= [a-z]+"}  # bytes may be no UTF-8
REQUESTS = 40  # a second or so


class Llama(NamedTuple):
    """program: llama-server. models: name -> file."""

    program: Path
    models: Mapping[str, Path]

    def command(self, port: int, *arguments: str, program: Path | None = None) -> list[str]:
        return [str(program or self.program), "--port", str(port), *arguments]


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
    return port


def record(
    fingerprint: Cli,
    name: str,
    command: Sequence[str],
    port: int,
    *,
    before: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> None:
    """A run of a server that answers some requests and is ended as its user would."""
    run = [*before, *fingerprint.argv("run", "-q", "--name", name, "--metrics", SPEED, "--", *command)]
    with _started(run, fingerprint, env) as process:
        _await_health(port, process)
        (fingerprint.home / ANSWER).write_text(json.dumps(asked(port)))
        os.kill(_server_below(process.pid), signal.SIGINT)
        assert process.wait(60) == 0, (fingerprint.home / "output").read_text()


@contextmanager
def serving(fingerprint: Cli, command: Sequence[str], port: int, **env: str) -> Iterator[int]:
    """The pid of a server that nobody records yet."""
    with _started(command, fingerprint, env) as process:
        _await_health(port, process)
        yield process.pid
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


@contextmanager
def _started(
    command: Sequence[str], fingerprint: Cli, env: Mapping[str, str] | None
) -> Iterator["subprocess.Popen[bytes]"]:
    with (fingerprint.home / "output").open("wb") as output:
        process = subprocess.Popen(
            command, env={**fingerprint.env, **(env or {})}, cwd=fingerprint.home, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()  # which fingerprint passes on
        process.wait(60)


def told(port: int, path: str, body: object = None) -> Any:
    """What the server answers."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Content-Type": "application/json"})
    request.data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def asked(port: int) -> Any:
    """The last answer of some requests."""
    answers = [told(port, "/completion", ASKED) for _ in range(REQUESTS)]
    assert all(len(answer["content"]) == TOKENS for answer in answers)
    return answers[-1]


def _await_health(port: int, process: "subprocess.Popen[bytes]") -> None:
    def healthy() -> bool:
        assert process.poll() is None, "the server ended before it served"
        try:
            return bool(told(port, "/health")["status"] == "ok")
        except OSError:
            return False

    until(healthy, 60)


def _server_below(pid: int) -> int:
    """fingerprint's child that is no process of its own."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    (server,) = [child for child in children if Path(f"/proc/{child}/comm").read_text().strip() == "llama-server"]
    return int(server)
