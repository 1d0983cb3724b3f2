"""A file that is changed beneath a server that runs on: it is told, and that the server does not have it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fingerprint.explain.in_force import RAN_BEFORE, RAN_ON
from probes.kit.written import STARTING
from tests.e2e.conftest import Cli
from tests.probes.children import running
from tests.probes.environments import NO_VARIABLES, Environment

THREADED = "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); time.sleep(60)"
NOT_BEFORE = "Start the server again: until then"


class Server:
    """A script of a virtual environment that sleeps, with an argument that names a model and a file that NCCL reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.venv = Environment(folder / "venv")
        self.venv.install("torch", "2.9.0", {"torch/nn.py": "a = 1\n"}, INSTALLER="pip\n")
        (folder / "serve.py").write_text(THREADED)
        (folder / "nccl.conf").write_text("NCCL_ALGO=Ring\n")
        (folder / "model").mkdir()
        (folder / "model" / "config.json").write_text('{"layers": 1}')

    @contextmanager
    def serving(self) -> Iterator[int]:
        argv = (str(self.venv.python), str(self.folder / "serve.py"), "--model", str(self.folder / "model"))
        variables = {**NO_VARIABLES, "NCCL_CONF_FILE": str(self.folder / "nccl.conf")}
        with running(argv, env=variables, cwd=self.folder) as pid:
            yield pid


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


def patch_a_package(server: Server) -> None:
    (server.venv.site / "torch" / "nn.py").write_text("a = 1\nprint(a)\n")


def add_a_hook(server: Server) -> None:
    (server.venv.site / "tracer.pth").write_text("import sys\n")


def edit_the_script(server: Server) -> None:
    (server.folder / "serve.py").write_text(THREADED + "\n")


def edit_what_nccl_reads(server: Server) -> None:
    (server.folder / "nccl.conf").write_text("NCCL_ALGO=Tree\n")


def edit_the_model(server: Server) -> None:
    (server.folder / "model" / "config.json").write_text('{"layers": 2}')


def attach(fingerprint: Cli, name: str, pid: int) -> None:
    fingerprint("attach", "--pid", str(pid), "--name", name, "--for", "0.8s")


LONG = pytest.mark.long


@pytest.mark.parametrize(
    "change",
    [
        patch_a_package,
        *(pytest.param(one, marks=LONG) for one in (edit_what_nccl_reads, add_a_hook, edit_the_script, edit_the_model)),
    ],
)
def test_a_server_that_runs_on_does_not_have_what_was_changed_and_one_that_was_started_again_does(
    change: Callable[[Server], None], fingerprint: Cli, server: Server
) -> None:
    with server.serving() as pid:
        attach(fingerprint, "a", pid)
        change(server)
        attach(fingerprint, "b", pid)
    with server.serving() as pid:
        attach(fingerprint, "c", pid)
    running_on, again = fingerprint.diff("a", "b", status=1), fingerprint.diff("a", "c", status=1)
    assert {suspect["facts"][0] for suspect in again["suspects"]} == {
        suspect["facts"][0] for suspect in running_on["suspects"]
    }
    assert running_on["suspects"]
    assert all(RAN_ON in says(suspect) and suspect["likelihood"] == "unlikely" for suspect in running_on["suspects"])
    assert running_on["next"][0].startswith(NOT_BEFORE)
    assert [RAN_ON for suspect in again["suspects"] if RAN_ON in says(suspect)] == []
    assert not again["next"][0].startswith(NOT_BEFORE)
    told = " ".join(fingerprint("diff", "a", "b", status=1).stdout.split())
    assert f"against {RAN_ON}" in told


def says(suspect: dict[str, Any]) -> list[str]:
    return [evidence["says"] for evidence in suspect["against"]]


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "file"),
    [
        (patch_a_package, "venv/lib/*/site-packages/torch/nn.py"),
        pytest.param(add_a_hook, "venv/lib/*/site-packages/tracer.pth", marks=LONG),
        pytest.param(edit_what_nccl_reads, "nccl.conf", marks=LONG),
        pytest.param(edit_the_script, "serve.py", marks=LONG),
    ],
)
def test_what_was_written_after_a_server_had_started_anew_it_does_not_have_either(
    change: Callable[[Server], None], file: str, fingerprint: Cli, server: Server
) -> None:
    with server.serving() as pid:
        attach(fingerprint, "a", pid)
    change(server)
    with server.serving() as pid:
        attach(fingerprint, "b", pid)
        [path] = server.folder.glob(file)
        later = path.stat().st_mtime_ns + 2 * STARTING
        os.utime(path, ns=(later, later))
        attach(fingerprint, "c", pid)
    [in_force], [written_since] = (fingerprint.diff("a", name, status=1)["suspects"] for name in "bc")
    assert in_force["facts"] == written_since["facts"]
    assert says(in_force) == []
    assert (says(written_since), written_since["likelihood"]) == ([RAN_BEFORE.format("c")], "unlikely")


def test_what_the_kernel_changes_in_a_process_that_runs_on_is_in_force_and_comes_first(
    fingerprint: Cli, server: Server
) -> None:
    with server.serving() as pid:
        attach(fingerprint, "a", pid)
        patch_a_package(server)
        os.setpriority(os.PRIO_PROCESS, pid, 5)
        attach(fingerprint, "b", pid)
    first, second = fingerprint.diff("a", "b", status=1)["suspects"]
    assert (first["facts"], RAN_ON in says(first)) == (["process/main/nice"], False)
    assert (second["facts"], says(second)) == (["libraries/main/packages/torch/modified/digest"], [RAN_ON])


@pytest.mark.long
def test_what_was_written_beneath_a_server_is_not_ruled_out_when_the_next_one_has_it(
    fingerprint: Cli, server: Server
) -> None:
    patch_a_package(server)
    files = (server.venv.site / "torch" / "nn.py", server.folder / "nccl.conf", server.folder / "serve.py")
    before = {file: file.stat().st_mtime_ns for file in files}
    with server.serving() as pid:
        for file, time in before.items():
            os.utime(file, ns=(time, time + 2 * STARTING))
        attach(fingerprint, "a", pid)
    for file, time in before.items():
        os.utime(file, ns=(time, time))
    with server.serving() as pid:
        attach(fingerprint, "b", pid)
    told = fingerprint.diff("a", "b", status=0)
    open_ = {line["fact"] for line in told["not_known"] if line["says"] == RAN_BEFORE.format("a")}
    assert open_ >= {
        "libraries/main/packages/torch/**", "nccl/main/files/NCCL_CONF_FILE/sha256", "nccl/main/variables/NCCL_ALGO",
        "process/main/program/sha256",
    }  # fmt: skip
    assert told["headline"].endswith("written after a process had started.")
    themes = {group["title"]: group["themes"] for group in told["ruled_out"]["groups"]}
    assert not {"program", "versions"} & {*themes["process"], *themes["libraries"]}
