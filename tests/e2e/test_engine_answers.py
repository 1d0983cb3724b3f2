"""A server is asked what it serves with: once it serves, at the end of a run that it outlives, and never else."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e.conftest import Cli
from tests.waiting import until

SERVER = """
import http.server, json, os, sys, time
how, port = sys.argv[1], int(sys.argv[sys.argv.index("--port") + 1])
PROPS = {"build_info": "b7", "model_path": "/m.gguf", "total_slots": 4, "api_key": "hunter2-of-the-server",
         "default_generation_settings": {"n_ctx": 512, "params": {"speculative.types": "none"}}}
tokens, began = [0], time.monotonic()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open("asked", "a") as asked:
            asked.write(f"{self.path} {sorted(self.headers)}\\n")
        if how == "hangs":
            time.sleep(60)
        tokens[0] += 100 * (self.path == "/metrics")
        status = 401 if how == "wants-a-key" else 503 if how == "loads" and time.monotonic() - began < 4 else 200
        metrics = "# TYPE llamacpp:tokens_predicted_total counter\\nllamacpp:tokens_predicted_total %d\\n" % tokens[0]
        body = (metrics if self.path == "/metrics" else json.dumps(PROPS)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
with http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
    with open("port", "w") as told:
        told.write(f"{server.server_address[1]}\\n")
    server.serve_forever()
"""


class Standing(NamedTuple):
    """argv: of a server that calls itself llama-server, asks for 3 slots and serves 4."""

    folder: Path
    argv: Sequence[str]

    def asked(self) -> list[str]:
        """The paths, and the headers that came with each."""
        file = self.folder / "asked"
        return file.read_text().splitlines() if file.exists() else []


def standing(folder: Path, how: str, port: int) -> Standing:
    (folder / "llama-server").symlink_to(os.path.realpath(sys.executable))
    (folder / "server.py").write_text(SERVER)
    program = [str(folder / "llama-server"), str(folder / "server.py")]
    return Standing(folder, [*program, how, "--port", str(port), "--parallel", "3", "--ctx-size", "9000"])


@contextmanager
def serving(cli: Cli, how: str) -> Iterator[tuple[Standing, int]]:
    """And its port."""
    port = free_port()
    server = standing(cli.home, how, port)
    with subprocess.Popen(server.argv, cwd=cli.home, env=cli.env) as process:
        try:
            until(lambda: (cli.home / "port").exists() and (cli.home / "port").read_text().endswith("\n"))
            yield server, port
        finally:
            process.kill()


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


def attached(cli: Cli, how: str, seconds: int) -> tuple[dict[str, Any], list[str]]:
    """The run as `show` tells it, and what the server was asked."""
    with serving(cli, how) as (server, port):
        cli("attach", "--port", str(port), "--name", "a", "--for", f"{seconds}s")
        return shown(cli), server.asked()


def shown(cli: Cli) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(cli("show", "a", "--format", "json").stdout)
    return told


def facts(run: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = run["sections"]["engine/main"]["facts"]
    return found


Recorded = tuple[Cli, dict[str, Any], list[str]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    cli = Cli(tmp_path_factory.mktemp("engine"))
    return cli, *attached(cli, "answers", 2)


def test_it_tells_what_it_serves_with(recorded: Recorded) -> None:
    told = facts(recorded[1])
    assert (told["version"], told["context_length"], told["max_running_requests"]) == ("b7", 512, 4)


def test_it_is_asked_at_the_start_and_at_the_end_and_sent_nothing_but_paths(recorded: Recorded) -> None:
    headers = "['Accept-Encoding', 'Host']"
    assert recorded[2] == [f"/props {headers}", f"/metrics {headers}"] * 2


def test_what_it_was_told_and_does_not_serve_by_is_found(recorded: Recorded) -> None:
    says = {found["about"]: found["says"] for found in recorded[1]["findings"]}
    assert says == {
        "--parallel": "main was started with --parallel 3, and serves with 4.",
        "--ctx-size": "main was started with --ctx-size 9000, and serves with 512 for each of 4 slots.",
    }


def test_what_it_counted_is_the_runs(recorded: Recorded) -> None:
    metrics = recorded[1]["metrics"]
    assert metrics["generation_tokens"]["samples"] == [100]
    assert 20 < metrics["generation_rate"]["samples"][0] < 100


def test_its_secrets_are_stored_nowhere(recorded: Recorded) -> None:
    stored = recorded[0]("export", "a").stdout
    assert "hunter2-of-the-server" not in stored
    assert "speculative.types" in stored


def test_one_that_wants_a_key_is_a_gap_and_is_not_asked_again(fingerprint: Cli) -> None:
    run, asked = attached(fingerprint, "wants-a-key", 2)
    assert facts(run)["model"] == {
        "$": "gap",
        "code": "denied",
        "detail": "it answers 401: it wants a key, and none is sent",
    }
    assert len(asked) == 2


@pytest.mark.long
def test_one_that_hangs_is_asked_once_and_holds_nothing_up(fingerprint: Cli) -> None:
    began = time.monotonic()
    run, asked = attached(fingerprint, "hangs", 3)
    assert time.monotonic() - began < 8
    assert facts(run)["model"]["code"] == "timed_out"
    assert len(asked) == 1


@pytest.mark.long
def test_one_that_loads_is_asked_again_until_it_serves(fingerprint: Cli) -> None:
    run, _ = attached(fingerprint, "loads", 12)
    assert facts(run)["version"] == "b7"
    assert run["metrics"]["generation_tokens"]["samples"][0] > 0


@pytest.mark.long
def test_a_server_that_a_run_starts_is_asked_when_it_serves(fingerprint: Cli) -> None:
    server = standing(fingerprint.home, "answers", free_port())
    fingerprint("run", "--name", "a", "--", "timeout", "8", *server.argv, status=124)
    told = json.loads(fingerprint("show", "a", "--format", "json").stdout)
    [engine] = [it["facts"] for key, it in told["sections"].items() if key.startswith("engine/")]
    assert engine["version"] == "b7"
    assert len(server.asked()) == 2


@pytest.mark.long
def test_a_snapshot_asks_nobody(fingerprint: Cli) -> None:
    with serving(fingerprint, "answers") as (server, _):
        fingerprint("snapshot")
        assert server.asked() == []
