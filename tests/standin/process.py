"""One process of a stand-in server: what an engine's launcher, or what it starts, is to the kernel and to `ps`.

python process.py ENGINE ARGUMENTS...     a launcher, with the engine's own arguments
python process.py be TITLE BELOW          what is below one; BELOW: JSON, title -> what is below that

Standard library alone, and it starts in a twentieth of a second. What of a process is to differ is told by the file
`differs.json` of the working folder, by title, so that neither arguments nor variables of the launcher tell of it:
`env` and `unset` variables, `affinity` CPUs, `bound` to the memory of node 0, `titled_after` seconds for which it has
no title yet; and of the launcher, called `launcher`, `loads` seconds until it serves, with the CPUs of `affinity` from
then on. Launchers end when a file `stop` lies there, and what is below them ends with them.
"""

import ctypes
import json
import os
import socket
import subprocess
import sys
import time

Below = dict[str, "Below"]


def below_sglang(size: int) -> Below:
    """0.4.6: managers/scheduler.py, managers/detokenizer_manager.py."""
    return {**{f"sglang::scheduler_TP{rank}": {} for rank in range(size)}, "sglang::detokenizer": {}}


def below_vllm(size: int) -> Below:
    """0.33.0: v1/engine/utils.py, v1/executor/multiproc_executor.py."""
    return {"VLLM::EngineCore": {f"VLLM::Worker_TP{rank}": {} for rank in range(size)}}


def below_llama_cpp(_size: int) -> Below:
    """tools/server: one process."""
    return {}


ENGINES = {"sglang": below_sglang, "vllm": below_vllm, "llama.cpp": below_llama_cpp}
KEPT: list = []  # type: ignore[type-arg]
"""What a process moves its variables to must stay."""
SIZES = ("--tp", "--tensor-parallel-size")


def differs(title: str) -> dict:  # type: ignore[type-arg]
    try:
        with open("differs.json") as file:
            return json.load(file).get(title, {})
    except FileNotFoundError:
        return {}


def start(below: Below) -> "list[subprocess.Popen[bytes]]":
    """All of them, each ready. Each ends when we do: its standard input ends then."""
    started = [_started(title, more) for title, more in below.items()]
    for child in started:
        assert child.stdout is not None
        child.stdout.readline()
    return started


def _started(title: str, below: Below) -> "subprocess.Popen[bytes]":
    its = differs(title)
    env = {name: value for name, value in os.environ.items() if name not in its.get("unset", ())}
    argv = [sys.executable, "-I", "-S", __file__, "be", title, json.dumps(below)]
    return subprocess.Popen(
        argv, env={**env, **its.get("env", {})}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


def be(title: str, below: Below) -> None:
    its = differs(title)
    if "affinity" in its:
        os.sched_setaffinity(0, its["affinity"])
    if "bound" in its:
        bind()
    children = start(below)
    if "titled_after" not in its:
        entitle(title)
    print(flush=True)
    if "titled_after" in its:
        time.sleep(its["titled_after"])
        entitle(title)
    sys.stdin.read()
    del children


def bind() -> None:
    """As `numactl --membind=0`: set_mempolicy(2) with MPOL_BIND, which no function of the C library calls."""
    number = {"x86_64": 238, "aarch64": 237}[os.uname().machine]
    refused = ctypes.CDLL(None).syscall(number, 2, ctypes.byref(ctypes.c_ulong(1)), 64)
    assert not refused


def entitle(title: str) -> None:
    """As setproctitle 1.3.8: the variables are copied, and the title stands over arguments and environment where the
    kernel keeps them; its first 15 bytes are the name (prctl(2), PR_SET_NAME)."""
    with open("/proc/self/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[48])  # arg_start and env_end, fields 48 and 51 of proc_pid_stat(5)
    text = title.encode()
    assert len(text) < end - begin
    move_variables()
    ctypes.memmove(begin, text.ljust(end - begin, b"\0"), end - begin)
    ctypes.CDLL(None).prctl(15, text[:15], 0, 0, 0)


def move_variables() -> None:
    KEPT.extend(ctypes.create_string_buffer(b"=".join(pair)) for pair in os.environb.items())
    table = (ctypes.c_void_p * (len(KEPT) + 1))(*map(ctypes.addressof, KEPT))
    KEPT.append(table)
    ctypes.c_void_p.in_dll(ctypes.CDLL(None), "environ").value = ctypes.addressof(table)


def serve(engine: str, words: "list[str]") -> None:
    size = next((int(words[words.index(flag) + 1]) for flag in SIZES if flag in words), 1)
    children = start(ENGINES[engine](size))
    port, its = int(words[words.index("--port") + 1]), differs("launcher")
    time.sleep(its.get("loads", 0))
    if "affinity" in its:
        os.sched_setaffinity(0, its["affinity"])
    with socket.create_server(("127.0.0.1", port)):
        while not os.path.exists("stop"):  # a stand-in is to start at once
            time.sleep(0.02)
    del children


def main(argv: "list[str]") -> None:
    if argv[0] == "be":
        be(argv[1], json.loads(argv[2]))
    else:
        serve(argv[0], argv[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
