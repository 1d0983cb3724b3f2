"""What a process was started with, when it has written a title over it as setproctitle does."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from probes.kit.environs import OVERWRITTEN
from probes.kit.facts import Map
from probes.kit.host import Host

# At each line fills what the kernel keeps as its arguments and environment with NULs, and writes its title there.
TITLED = """\
import ctypes, os, sys
for _ in sys.stdin:
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
        yield Worker(child)
        child.stdin.close()  # type: ignore[union-attr]


def test_what_was_read_before_the_title_stands() -> None:
    host = Host()
    with worker(ENV) as one:
        assert host.environ(one.pid) == Map(ENV)
        one.told("entitle")
        assert host.arguments(one.pid) == ("VLLM::Worker_TP3",)
        assert host.environ(one.pid) == Map(ENV)


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
