"""Ranks that have written a title over their environment, as setproctitle does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Cli

SERVER = """\
import ctypes, os, sys

def entitle(title):
    fields = open("/proc/self/stat").read().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[48])  # arg_start and env_end (proc_pid_stat(5))
    ctypes.memmove(begin, title.ljust(end - begin, b"\\0"), end - begin)
    ctypes.CDLL(None).prctl(15, title[:15], 0, 0, 0)

def rank(number):
    copies = [ctypes.create_string_buffer(b"=".join(pair)) for pair in os.environb.items()]
    table = (ctypes.c_void_p * (len(copies) + 1))(*map(ctypes.addressof, copies))
    ctypes.c_void_p.in_dll(ctypes.CDLL(None), "environ").value = ctypes.addressof(table)
    entitle(b"VLLM::Worker_TP%d" % number)
    if number == 3:
        del os.environ["NCCL_ALGO"]
    os.write(tell, b"1")
    sys.stdin.read()
    os._exit(0)

told, tell = os.pipe()
for number in range(4):
    os.fork() or rank(number)
    os.read(told, 1)
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="who is not root may not read another's memory (yama)")
def test_a_variable_that_one_of_them_lacks_is_told_and_no_other(fingerprint: Cli, tmp_path: Path) -> None:
    (tmp_path / "vllm").write_text(SERVER)
    argv = (sys.executable, tmp_path / "vllm", "serve", "/m", "--port", "8055")
    env = {"NCCL_ALGO": "Ring", "VLLM_USE_V1": "1"}
    with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout
        server.stdout.readline()
        fingerprint("attach", "--pid", str(server.pid), "--for", "1s", "--name", "titled")
        assert server.stdin
        server.stdin.close()
    findings = json.loads(fingerprint("show", "titled", "--format", "json").stdout)["findings"]
    told = [(found["rule"], found["about"], found["says"]) for found in findings]
    assert told == [("variable-lost-on-the-way", "NCCL_ALGO", "main has NCCL_ALGO=Ring, and tp3 is without it.")]
