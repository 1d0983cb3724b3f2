"""Workers that Ray started for a server: real processes, called and connected as Ray 2.60's are."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from fingerprint.runs.attached import targets_of
from fingerprint.runs.ray import with_workers
from fingerprint.runs.serving import Serving
from probes.kit.facts import Gap
from probes.kit.host import Host
from tests.e2e.conftest import Cli
from tests.e2e.test_servers import shown
from tests.e2e.test_servers import targets_of as recorded

# Each says what it is, as JSON in a line, and ends with its standard input.
WORKER = "import socket, sys; at = socket.create_server(('127.0.0.1', 0)); print(at.getsockname()[1], flush=True); "
WORKER += "kept = []; [kept.append(at.accept()) for _ in iter(int, 1)]"
RAYLET = """
import ctypes, json, subprocess, sys
ctypes.CDLL(None).prctl(15, b"raylet")
titles = json.loads(sys.argv[1])
pipe = {"executable": sys.executable, "stdout": subprocess.PIPE}
workers = [subprocess.Popen([title, "-c", sys.argv[2]], **pipe) for title in titles]
print(json.dumps([[worker.pid, int(worker.stdout.readline())] for worker in workers]), flush=True)
sys.stdin.read()
for worker in workers:
    worker.kill()
"""
VLLM = """
import socket, sys
for line in sys.stdin:
    kept = [socket.create_connection(("127.0.0.1", int(port))) for port in line.split()]
    print("called", flush=True)
"""
BY_RAY = ("--distributed-executor-backend", "ray")
TITLE = "ray::RayWorkerWrapper"


class Worker(NamedTuple):
    pid: int
    port: int


@contextmanager
def talking(*argv: str, cwd: Path | None = None) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(argv, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            assert child.stdin
            child.stdin.close()


@contextmanager
def raylet(*titles: str) -> Iterator[list[Worker]]:
    with talking(sys.executable, "-c", RAYLET, json.dumps(titles), WORKER) as child:
        assert child.stdout
        yield [Worker(*told) for told in json.loads(child.stdout.readline())]


@contextmanager
def vllm(folder: Path, port: int, *calls: Worker, flags: tuple[str, ...] = BY_RAY) -> Iterator[Serving]:
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin/vllm").write_text(VLLM)
    with talking(sys.executable, "bin/vllm", "serve", "/m", "--port", str(port), *flags, cwd=folder) as child:
        assert child.stdin
        assert child.stdout
        child.stdin.write(" ".join(str(worker.port) for worker in calls) + "\n")
        child.stdin.flush()
        assert child.stdout.readline() == "called\n"
        yield Serving(child.pid, f"vllm-{port}", "vllm", port)


def test_each_server_has_the_workers_that_it_calls_and_no_others(tmp_path: Path) -> None:
    with ExitStack() as stack:
        workers = stack.enter_context(raylet(TITLE, TITLE, TITLE, "ray::IDLE"))
        one = stack.enter_context(vllm(tmp_path, 8001, workers[0], workers[2]))
        other = stack.enter_context(vllm(tmp_path, 8002, workers[1]))
        found = with_workers(Host(), (one, other))
    assert [server.workers for server in found.servers] == [(workers[0].pid, workers[2].pid), (workers[1].pid,)]
    assert found.untold == ""
    names = [target.name for target in targets_of(found.servers)]
    assert names == ["vllm-8001", "vllm-8002", "vllm-8001.worker", "vllm-8001.worker.2", "vllm-8002.worker"]


def test_workers_that_nothing_ties_to_the_server_are_said_not_to_be_read(tmp_path: Path) -> None:
    with raylet(TITLE) as workers, vllm(tmp_path, 8001, flags=()) as server:
        found = with_workers(Host(), (server,))
    assert found.servers == (server,)
    assert f"workers that Ray started (pid {workers[0].pid}) were not read" in found.untold
    assert "to vllm-8001; attach as root, or give --pid of each beside that of the server" in found.untold


class Stranger(Host):
    """A user to whom no process's descriptors are shown."""

    def opened(self, pid: int, pattern: str):  # type: ignore[no-untyped-def]
        return Gap("denied")


def test_to_whom_no_connection_is_shown_that_is_said(tmp_path: Path) -> None:
    with raylet(TITLE) as workers, vllm(tmp_path, 8001, *workers) as server:
        assert "no connection that may be seen" in with_workers(Stranger(), (server,)).untold


def test_a_server_that_has_ray_start_its_workers_elsewhere_or_later_is_said_to_lack_them(tmp_path: Path) -> None:
    with vllm(tmp_path, 8001) as server:
        assert (
            "vllm-8001 has Ray start its workers, and none of them was found" in with_workers(Host(), (server,)).untold
        )


@pytest.mark.parametrize("flags", [(), ("--distributed-executor-backend", "mp")])
def test_of_a_server_without_ray_nothing_is_said(flags: tuple[str, ...], tmp_path: Path) -> None:
    with vllm(tmp_path, 8001, flags=flags) as server:
        assert with_workers(Host(), (server,)) == ((server,), "")


def test_of_a_raylet_that_the_server_started_itself_nothing_is_said() -> None:
    """Its workers are below the server, where they are read anyway."""
    with raylet(TITLE) as workers:
        parent = int(Path(f"/proc/{workers[0].pid}/stat").read_text().rpartition(")")[2].split()[1])
        starter = Serving(parent, "vllm-8001", "vllm", 8001)
        assert with_workers(Host(), (starter,)) == ((starter,), "")


def test_they_are_recorded_with_the_server_and_what_was_not_is_told(fingerprint: Cli, tmp_path: Path) -> None:
    with raylet(TITLE, TITLE) as workers, vllm(tmp_path, 8001, *workers) as server:
        fingerprint("attach", "--pid", str(server.pid), "--name", "a", "--for", "0.8s")
    with raylet(TITLE) as [worker], vllm(tmp_path, 8001) as server:
        fingerprint("attach", "--pid", str(server.pid), "--name", "b", "--for", "0.5s")
    assert recorded(shown(fingerprint, "a")) == {"main", "vllm-8001.worker", "vllm-8001.worker.2"}
    assert recorded(shown(fingerprint, "b")) == {"main"}
    assert f"(pid {worker.pid}) were not read" in " ".join(fingerprint("show", "b").stdout.split())
