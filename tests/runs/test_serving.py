"""Servers are found by a process, by a port, or all of them; what is in the way is said in one sentence."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from fingerprint.runs.serving import NotFound, Serving, all_servers, by_pid, by_port, listening
from probes.kit.facts import Gap, Seen
from probes.kit.host import Host
from tests.probes.tree import Forbidding, tree
from tests.waiting import until

LAUNCHER = """
import socket, subprocess, sys
port = int(sys.argv[sys.argv.index("--port") + 1])
scheduler = "import ctypes,sys; ctypes.CDLL(None).prctl(15, b'sglang::schedul'); print(1, flush=True); sys.stdin.read()"
ready = subprocess.Popen(
    ["sglang::scheduler_TP0", "-c", scheduler], executable=sys.executable, stdin=subprocess.PIPE, stdout=subprocess.PIPE
)
ready.stdout.readline()
listener = socket.create_server(("127.0.0.1", port))
print(port, flush=True)
sys.stdin.read()
"""

# Of /proc/net/tcp; the port is 30000.
HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ROW = "   {n}: 0100007F:7530 00000000:0000 {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1\n"


class Launched(NamedTuple):
    pid: int
    port: int


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.fixture
def launched(tmp_path: Path) -> Iterator[Launched]:
    """What is started, called and titled as SGLang's launcher and scheduler are, and listens."""
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang/launch_server.py").write_text(LAUNCHER)
    port = free_port()
    argv = [sys.executable, "-m", "sglang.launch_server", "--port", str(port)]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, cwd=tmp_path, stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        assert int(child.stdout.readline()) == port
        yield Launched(child.pid, port)
        child.kill()


def test_a_server_is_the_same_by_its_pid_by_its_port_and_among_all(launched: Launched) -> None:
    expected = Serving(launched.pid, f"sglang-{launched.port}", "sglang", launched.port)
    assert by_pid(Host(), launched.pid) == by_port(Host(), launched.port) == expected
    assert expected in all_servers(Host())


def test_any_process_serves_and_is_called_main_where_no_engine_is_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert by_port(Host(), port) == Serving(os.getpid(), "main", port=port)
    assert by_pid(Host(), os.getpid()) == Serving(os.getpid(), "main")


def test_a_port_that_nobody_listens_on_and_a_process_that_ended_are_said_with_what_to_do() -> None:
    port = free_port()
    with pytest.raises(NotFound, match=f"nothing listens on port {port} here: give the port that"):
        by_port(Host(), port)
    ended = subprocess.Popen(["true"])
    until(lambda: Path(f"/proc/{ended.pid}/stat").read_text().split()[2] == "Z")
    with pytest.raises(NotFound, match=f"there is no process {ended.pid}: "):
        by_pid(Host(), ended.pid)
    ended.wait()


def test_a_port_of_a_process_whose_descriptors_are_denied_is_said_to_be_another_users() -> None:
    class Stranger(Host):
        """A user to whom no process's descriptors are shown."""

        def _ask(self, call, key, live):  # type: ignore[no-untyped-def]
            return Gap("denied") if key.endswith("/fd") else super()._ask(call, key, live)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(NotFound, match=f"port {port} is listened on by a process of another user: run as"):
            by_port(Stranger(), port)


def test_where_no_engine_runs_that_is_said(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/proc/1/stat": stat_of(1, "systemd", 0)})
    with pytest.raises(NotFound, match="no server of a known engine runs on this host: give --pid or --port"):
        all_servers(host)


def test_a_server_in_a_network_of_its_own_is_found_by_the_port_of_its_arguments(tmp_path: Path) -> None:
    """Which listens where our tables do not show it, as behind a container's published port."""
    argv = "python3 -m sglang.launch_server --port 30009 ".replace(" ", "\0")
    host = tree(tmp_path, {"/proc/7/stat": stat_of(7, "python3", 1), "/proc/7/cmdline": argv, "/proc/7/environ": ""})
    assert by_port(host, 30009) == Serving(7, "sglang-30009", "sglang", 30009)


def test_of_several_that_have_the_port_in_networks_of_their_own_none_is_guessed(tmp_path: Path) -> None:
    """As containers have that were all started by one command."""
    files = {"/proc/7/environ": "", "/proc/8/environ": ""}
    for pid in (7, 8):
        files[f"/proc/{pid}/stat"] = stat_of(pid, "python3", 1)
        files[f"/proc/{pid}/cmdline"] = "vllm serve m --port 8000 ".replace(" ", "\0")
    with pytest.raises(NotFound, match="2 servers were told to listen on port 8000: say which, by --pid 7 or --pid 8"):
        by_port(tree(tmp_path, files), 8000)


@pytest.mark.parametrize("name", ["docker-proxy", "rootlessport-ch", "systemd"])
def test_what_only_passes_connections_on_is_no_server(name: str, listener: socket.socket, tmp_path: Path) -> None:
    port = listener.getsockname()[1]
    code = f"import ctypes, sys; ctypes.CDLL(None).prctl(15, {name.encode()!r}); print(1, flush=True); sys.stdin.read()"
    with holding(listener, code) as pid, pytest.raises(NotFound, match=f"{name} listens on port {port} for a server"):
        by_port(Only(pid), port)


def test_of_processes_that_share_a_socket_it_is_the_one_that_started_the_others(tmp_path: Path) -> None:
    """Of a web server's; its workers may have lower numbers. systemd keeps what it hands on to a service."""
    below = {1: ("systemd", 0), 5: ("nginx", 9), 9: ("nginx", 1)}
    files = {f"/proc/{pid}/stat": stat_of(pid, name, parent) for pid, (name, parent) in below.items()}
    host = tree(tmp_path, {**files, "/proc/net/tcp": HEADER + ROW.format(n=0, state="0A", inode=11)})
    for pid in below:
        folder = tmp_path / f"proc/{pid}/fd"
        folder.mkdir()
        (folder / "3").symlink_to("socket:[11]")
    assert by_port(host, 30000).pid == 9


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


@contextmanager
def holding(listener: socket.socket, code: str) -> Iterator[int]:
    """A child that has the socket as well."""
    pipe = subprocess.PIPE
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, pass_fds=(listener.fileno(),)) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child.pid
        child.kill()


class Only(Host):
    """This host, as if these processes alone ran on it."""

    def __init__(self, *pids: int) -> None:
        super().__init__()
        self._pids = pids

    def names(self, path: str) -> Seen[tuple[str, ...]]:
        return tuple(map(str, self._pids)) if path == "/proc" else super().names(path)


def stat_of(pid: int, name: str, parent: int) -> str:
    return f"{pid} ({name}) S {parent} " + " ".join(["0"] * 48)


def test_arguments_are_read_of_those_alone_that_may_be_an_engines(tmp_path: Path) -> None:
    files = {"/proc/5/stat": stat_of(5, "bash", 1), "/proc/5/cmdline": "vllm\0serve\0"}
    with pytest.raises(NotFound):
        all_servers(tree(tmp_path, files))


def test_a_connection_is_no_listener(tmp_path: Path) -> None:
    table = HEADER + ROW.format(n=0, state="0A", inode=11) + ROW.format(n=1, state="01", inode=12) + "torn\n"
    six = HEADER + "   0: 00000000000000000000000000000000:7530 0:0 0A 0:0 00:0 0 0 0 13 1\n"
    host = tree(tmp_path, {"/proc/net/tcp": table, "/proc/net/tcp6": six})
    assert listening(host, 30000) == {"11", "13"}
    assert listening(Forbidding("/proc/net"), 30000) == frozenset()
