"""Logs of many requests as serving engines write them: read by fingerprint, and their lines of readings counted by
grep. Prints the seconds of CPU time that both took, the log's megabytes and how many more of memory reading it took,
as JSON.

    python -m benchmarks.server_log [LOG [MEGABYTES]]
"""

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from fingerprint.metrics.logs import named
from fingerprint.metrics.source import load

MEGABYTES = 256
_BLOCK = 1 << 20
_TURN = 300  # bytes, about


class Log(NamedTuple):
    """turn: lines of the number-th turn. counted: what a line of readings holds."""

    reader: str
    counted: str
    start: str
    turn: Callable[[int], str]


def _time(number: int) -> str:
    return f"2026-03-02 {number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"


def _sglang_decoding(number: int) -> str:
    return (
        f"[{_time(number)} TP0] Decode batch, #running-req: 8, #token: {20_000 + number % 999}, token usage: 0.21, "
        f"accept len: {2 + number % 40 / 100:.2f}, accept rate: 0.51, cuda graph: True, "
        f"gen throughput (token/s): {400 + number % 50}.25, #queue-req: 0\n"
    )


def _sglang(number: int) -> str:
    """What a request of 8 at once leaves: its prompt, its answer, and of all eight a line of decoding or none."""
    prompt = (
        f"[{_time(number)} TP0] Prefill batch, #new-seq: 1, #new-token: {100 + number % 900}, "
        f"#cached-token: {number % 64}, token usage: 0.21, #running-req: 7, #queue-req: 0, cuda graph: False, "
        f"input throughput (token/s): 5123.45\n"
    )
    answer = f'[{_time(number)}] INFO:     10.0.0.7:{40_000 + number % 9999} - "POST /v1/completions HTTP/1.1" 200 OK\n'
    return answer + prompt + _sglang_decoding(number) * (number % 5 > 0)


def _vllm(number: int) -> str:
    return (
        f"(APIServer pid=7) INFO 03-02 {_time(number)[11:]} [loggers.py:273] Engine 000: Avg prompt throughput: "
        f"{number % 3}.0 tokens/s, Avg generation throughput: {400 + number % 50}.2 tokens/s, Running: 8 reqs, "
        f"Waiting: 0 reqs, GPU KV cache usage: {number % 90}.7%, Prefix cache hit rate: 59.2%\n"
    )


def _vllm_drafts(number: int) -> str:
    return _vllm(number) + (
        f"(APIServer pid=7) INFO 03-02 {_time(number)[11:]} [metrics.py:120] SpecDecoding metrics: Mean acceptance "
        f"length: {2 + number % 40 / 100:.2f}, Accepted throughput: 33.44 tokens/s, Drafted throughput: 66.18 "
        f"tokens/s, Accepted: {300 + number % 70} tokens, Drafted: 661 tokens, Per-position acceptance rate: 0.800, "
        f"0.600, Avg Draft acceptance rate: 55.7%\n"
    )


def _vllm_requests(number: int) -> str:
    """A line of the engine between the answers of 20 requests."""
    answers = (
        f'(APIServer pid=7) INFO:     10.0.0.7:{40_000 + port} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
        for port in range(20)
    )
    return _vllm(number) + "".join(answers)


def _llama_cpp_timings(number: int) -> str:
    """A request to a server of one slot, which drafts: the lines that are read, and little else."""
    slot, made = f"id  0 | task {number} | ", 300 + number % 50
    timed = 12.5 * made
    return (
        f"slot launch_slot_: {slot}processing task\n"
        f"slot print_timing: {slot}\n"
        f"prompt eval time =     204.20 ms /   512 tokens (    0.40 ms per token,  2507.35 tokens per second)\n"
        f"       eval time = {timed:10.2f} ms / {made:5} tokens (   12.50 ms per token,    80.00 tokens per second)\n"
        f"      total time = {timed + 204.2:10.2f} ms / {made + 512:5} tokens\n"
        f"draft acceptance rate = 0.57143 (  {number % 150} accepted /   300 generated)\n"
        f"slot      release: {slot}stop processing: n_tokens = {made + 512}, truncated = 0\n"
        f"srv  log_server_r: request: POST /v1/chat/completions 127.0.0.1 200\n"
    )


def _llama_cpp(number: int) -> str:
    """The same with what such a server tells of a prompt unless it is asked not to."""
    slot = f"id  0 | task {number} | "
    return (
        f"slot get_availabl: id  0 | task -1 | selected slot by LRU, t_last = {1_000_000 + number}\n"
        f"slot update_slots: {slot}new prompt, n_ctx_slot = 8192, n_keep = 0, task.n_tokens = 512\n"
        f"slot update_slots: {slot}n_tokens = 0, memory_seq_rm [0, end)\n"
        f"slot update_slots: {slot}prompt processing progress, n_tokens = 512, batch.n_tokens = 512, progress = 1.0\n"
        f"slot update_slots: {slot}prompt done, n_tokens = 512, batch.n_tokens = 512\n"
        f"{_llama_cpp_timings(number)}"
        f"srv  update_slots: all slots are idle\n"
    )


def _tensorrt_llm(number: int) -> str:
    return (
        f"[03/02/2026-{_time(number)[11:]}] [TRT-LLM] [I] iter = {number}, global_rank = 0, rank = 0, "
        f"currank_total_requests = 0/0, host_step_time = {12 + number % 90 / 100:.2f}ms, prev_device_step_time = "
        f"11.5ms, timestamp = {_time(number)}, num_scheduled_requests: 8, states = {{'num_ctx_requests': 0, "
        f"'num_ctx_tokens': 0, 'num_generation_tokens': 8}}\n"
    )


def _composed(turn: Callable[[int], str]) -> Callable[[int], str]:
    """Two servers by turns, each with its name before its lines, as docker compose writes them."""
    return lambda number: "".join(f"worker-{1 + number % 2}  | {line}\n" for line in turn(number).splitlines())


_SGLANG_START = "[2026-03-02 00:00:00] server_args=ServerArgs(model_path='org/model', tp_size=8)\n"
_VLLM_START = "(APIServer pid=7) INFO 03-02 00:00:00 [utils.py:233] non-default args: {'model': 'org/model'}\n"
_LLAMA_START = "srv    load_model: loading model '/m.gguf'\n"
LOGS = {
    "sglang": Log("sglang-log", "Decode batch", _SGLANG_START, _sglang),
    "sglang-decode": Log("sglang-log", "Decode batch", _SGLANG_START, _sglang_decoding),
    "vllm": Log("vllm-log", "Avg prompt throughput: ", _VLLM_START, _vllm),
    "vllm-drafts": Log("vllm-log", "Avg prompt throughput: ", _VLLM_START, _vllm_drafts),
    "vllm-requests": Log("vllm-log", "Avg prompt throughput: ", _VLLM_START, _vllm_requests),
    "llama-cpp": Log("llama-cpp-log", "eval time =", _LLAMA_START, _llama_cpp),
    "llama-cpp-timings": Log("llama-cpp-log", "eval time =", _LLAMA_START, _llama_cpp_timings),
    "sglang-compose": Log("sglang-log", "Decode batch", f"worker-1  | {_SGLANG_START}", _composed(_sglang)),
    "vllm-compose": Log("vllm-log", "Avg prompt throughput: ", f"worker-1  | {_VLLM_START}", _composed(_vllm)),
    "llama-cpp-compose": Log("llama-cpp-log", "eval time =", f"worker-1  | {_LLAMA_START}", _composed(_llama_cpp)),
    "tensorrt-llm": Log("tensorrt-llm-log", "currank_total_requests", "model='org/model'\n", _tensorrt_llm),
}
"""By name. In most of them lines that are read stand closer than in life, where others are between them."""


def write(path: Path, log: Log, megabytes: int) -> None:
    turns = "".join(map(log.turn, range(_BLOCK // _TURN))).encode()
    with path.open("wb") as file:
        file.write(log.start.encode())
        for block in islice(cycle((turns,)), megabytes * _BLOCK // len(turns) + 1):
            file.write(block)


def seconds(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    name, megabytes = (*sys.argv[1:], *("sglang", str(MEGABYTES))[len(sys.argv) - 1 :])
    log = LOGS[name]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        write(path, log, int(megabytes))
        subprocess.run(["grep", "-c", log.counted, str(path)], stdout=subprocess.PIPE, check=True)
        grep, before, memory = seconds(resource.RUSAGE_CHILDREN), seconds(resource.RUSAGE_SELF), peak_mb()
        found = named(log.reader).read(load(str(path)))
        ours = seconds(resource.RUSAGE_SELF) - before
        assert found.metrics
        size = path.stat().st_size / 1e6
    print(json.dumps({"ours": ours, "grep": grep, "megabytes": size, "memory": peak_mb() - memory}))


if __name__ == "__main__":
    main()
