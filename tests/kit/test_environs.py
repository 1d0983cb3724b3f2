"""What a process was started with, when it has written a title over it as setproctitle does."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from probes.kit.environs import OVERWRITTEN, Environs
from probes.kit.facts import Gap, Map
from probes.kit.host import Host
from probes.kit.moved import moved
from probes.kit.redact import Redactor
from tests.probes.children import await_exec

# At each line fills what the kernel keeps as its arguments and environment with NULs, and writes its title there; at
# `move` copies its variables before, and changes one.
TITLED = """\
import ctypes, os, sys
for word in sys.stdin:
    if word == "move\\n":
        copies = [ctypes.create_string_buffer(b"=".join(pair)) for pair in os.environb.items()]
        table = (ctypes.c_void_p * (len(copies) + 1))(*map(ctypes.addressof, copies))
        ctypes.c_void_p.in_dll(ctypes.CDLL(None), "environ").value = ctypes.addressof(table)
        os.environ["NCCL_PROTO"] = "LL"
    fields = open("/proc/self/stat").read().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[48])  # arg_start and env_end (proc_pid_stat(5))
    ctypes.memmove(begin, b"VLLM::Worker_TP3".ljust(end - begin, b"\\0"), end - begin)
    print(flush=True)
"""
ENV = {"NCCL_ALGO": "Ring"}


class Worker:
    def __init__(self, child: "subprocess.Popen[str]") -> None:
        self._child = child
        self.pid = child.pid

    def told(self, *words: str) -> None:
        assert self._child.stdin
        assert self._child.stdout
        for word in words:
            print(word, file=self._child.stdin, flush=True)
        self._child.stdout.readline()


@contextmanager
def worker(env: dict[str, str], *before: str) -> Iterator[Worker]:
    """before: a program that becomes the worker at the first line."""
    argv = (*before, os.path.realpath(sys.executable), "-c", TITLED)
    with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        await_exec(child.pid)
        yield Worker(child)
        child.stdin.close()  # type: ignore[union-attr]


def test_what_was_read_before_the_title_stands() -> None:
    host = Host()
    with worker(ENV) as one:
        assert host.environ(one.pid) == Map(ENV)
        one.told("entitle")
        assert host.arguments(one.pid) == ("VLLM::Worker_TP3",)
        assert host.environ(one.pid) == Map(ENV)


def test_what_it_has_elsewhere_is_read_there() -> None:
    with worker({**ENV, "BANK_PIN": "1234", "NCCL_GRAPH_FILE": "x" * 5000, "LC_CTYPE": "C.UTF-8"}) as one:
        one.told("move")
        host = Host()
        seen = host.environ(one.pid)
        assert isinstance(seen, Map)
        assert seen.items == {
            **ENV,
            "NCCL_GRAPH_FILE": "x" * 5000,
            "NCCL_PROTO": "LL",
            "BANK_PIN": host.redactor.redacted("1234"),
            "LC_CTYPE": host.redactor.variable("LC_CTYPE", "C.UTF-8"),
        }


def test_who_may_not_read_its_memory_is_denied() -> None:
    def attempt(path: str, read: Callable[[str], Any]) -> Any:
        return Gap("denied") if path == "/proc/1" else "\0" * 9

    assert Environs(Redactor(b"k").environ).of(1, attempt) == Gap("denied")


def test_what_is_no_process_of_our_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "exe").symlink_to("/bin/server")
    for memory in (b"", b"\x7fELF\x02\x01" + b"\xff" * 200, b"\x7fELF\x02\x01" + bytes(200)):
        (tmp_path / "mem").write_bytes(memory)
        (tmp_path / "maps").write_text("00000000-00001000 r--p 00000000 08:01 7    /bin/server\n")
        with pytest.raises(ValueError, match="its memory makes no sense|nothing tells where"):
            moved(str(tmp_path))


def test_of_what_was_not_read_before_it_is_not_told_that_there_are_no_variables() -> None:
    with worker(ENV) as one:
        one.told("entitle")
        assert Host().environ(one.pid) == OVERWRITTEN
        assert "SPT_NOENV" in OVERWRITTEN.detail


def test_without_any_variable_there_are_none() -> None:
    with worker({}) as one:
        one.told("entitle")
        assert Host().environ(one.pid) == Map({})


def test_another_program_of_the_same_pid_has_another_environment() -> None:
    host = Host()
    script = 'read line; exec env NCCL_ALGO=Tree "$@"'
    with worker(ENV, "/bin/sh", "-c", script, "sh") as one:
        assert host.environ(one.pid) == Map(ENV)
        one.told("exec", "entitle")
        assert host.environ(one.pid) == OVERWRITTEN
