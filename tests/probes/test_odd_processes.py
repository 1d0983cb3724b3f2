"""Processes that end while they are read, that are very many, or whose words are very long or no text."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from fingerprint.sections import decoder_of
from probes.container.sections import Container
from probes.kit.facts import Gap, Map, Section, Seen
from probes.kit.host import Host
from probes.kit.probe import Target, discover
from probes.mapped.sections import Mapped
from probes.process import Process, tree
from tests.probes.children import running
from tests.probes.environments import NO_VARIABLES, Environment
from tests.probes.tree import tree as machine

R = TypeVar("R")
STEP = 23  # each so-many-th question


class Ending(Host):
    """Before a certain question the process that it is asked about is no more."""

    def __init__(self, child: "subprocess.Popen[bytes]", last: int) -> None:
        super().__init__()
        self.child, self.left = child, last

    def _ask(self, call: str, key: str, live: Callable[[], Seen[R]]) -> Seen[R]:
        self.left -= 1
        if self.left == 0:
            self.child.kill()
            self.child.wait()
        return super()._ask(call, key, live)


def everything_of(host: Host, pid: int) -> Mapping[str, Section]:
    """What is read of a process, by area, as whoever receives it decodes it."""
    probes = [probe for probe in discover().values() if probe.of != "host"]
    read = {probe.area: msgspec.json.encode(probe.read(host, Target("main", pid))) for probe in probes}
    return {probe.area: decoder_of(probe.section)(read[probe.area]) for probe in probes}


@pytest.mark.long
def test_whenever_a_process_ends_while_it_is_read_it_is_told_without_an_error(tmp_path: Path) -> None:
    venv = Environment(tmp_path / "venv")
    venv.install("vllm", "0.11.0", {"vllm/envs.py": ""})
    (tmp_path / "vllm").write_text("import time; print(flush=True); time.sleep(60)\n")
    last, ended = 1, True
    while ended:
        argv = [str(venv.python), str(tmp_path / "vllm"), "serve", str(tmp_path)]
        with subprocess.Popen(argv, env=NO_VARIABLES, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            host = Ending(child, last)
            everything_of(host, child.pid)
            ended = child.returncode is not None
            child.kill()
        last += STEP
    assert last > 10 * STEP, "it was asked many a question"


def test_of_an_environment_of_megabytes_the_rest_is_still_read() -> None:
    """The kernel hands over 6 MB at most, less where the stack may not be large: execve(2)."""

    def large_stack() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))

    if 0 <= resource.getrlimit(resource.RLIMIT_STACK)[1] < 64 << 20:
        pytest.skip("the stack may not be made large here")
    env = {f"LONG_{number}": "x" * 120_000 for number in range(42)}
    with running(("/bin/sleep", "60"), env=env, preexec_fn=large_stack) as pid:
        told = everything_of(Host(), pid)["process"]
    assert isinstance(told, Process)
    assert told.env == Gap("failed")
    assert "longer than" in getattr(told.env, "detail", "")
    assert told.operands == ("60",)


def test_words_that_are_no_text_stay_visible_and_compare(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xfe"
    os.mkdir(folder)
    env = {b"LANG": b"\xff", b"MY_\xfa": b"\xfb", b"LD_LIBRARY_PATH": folder}
    code = b"import time; time.sleep(60)"
    argv = [os.fsencode(sys.executable), b"-c", code, b"--model", b"/m\xff", b"--na\xfdme=\xfc", b"\xe9"]
    with running(argv, env=env, cwd=folder) as pid:  # type: ignore[arg-type]
        told, again = everything_of(Host(), pid)["process"], everything_of(Host(), pid)["process"]
    assert isinstance(told, Process)
    assert isinstance(told.env, Map)
    assert told.env.items["LANG"] == "\\xff"
    assert told.env.items["LD_LIBRARY_PATH"] == told.cwd == f"{tmp_path}/\\xfe"
    assert isinstance(told.flags, Map)
    assert told.flags.items["--model"] == ("/m\\xff",)
    assert isinstance(again, Process)
    assert (again.flags, again.operands, again.cwd) == (told.flags, told.operands, told.cwd)


def stat(pid: int, parent: int) -> str:
    """proc_pid_stat(5); each was started after those before it."""
    fields: list[Any] = [parent, *[0] * 8, *[0] * 9, pid, *[0] * 18]
    return f"{pid} (worker) S {' '.join(map(str, fields))} 0 0 0 0 0 0 0 0 0 0 0 0\n"


def test_a_tree_of_five_thousand_processes_is_told_whole(tmp_path: Path) -> None:
    parents = {pid: max(1000, pid - 70) for pid in range(1001, 6000)}
    files = {f"/proc/{pid}/stat": stat(pid, parent) for pid, parent in {1000: 1, **parents, 7000: 1}.items()}
    host = machine(tmp_path, files)
    found = tree(host, Target("main", 1000))
    assert [target.pid for target in found] == list(range(1000, 6000))
    assert len({target.name for target in found}) == 5000


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look at all processes")
def test_root_is_denied_nothing_of_a_process() -> None:
    with running(("sh", "-c", "sleep 60; :")) as pid:
        told = everything_of(Host(), pid)
    denied = [area for area, section in told.items() if b'"denied"' in msgspec.json.encode(section)]
    assert denied == []
    assert isinstance(told["mapped"], Mapped)
    assert isinstance(told["container"], Container)
    assert isinstance(told["mapped"].libraries, Map)
