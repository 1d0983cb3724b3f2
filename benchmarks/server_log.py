"""An SGLang log of many requests: read by fingerprint, and its lines of decoding counted by grep. Prints the seconds of
CPU time that both took, the log's megabytes and how many more of memory reading it took, as JSON.

    python -m benchmarks.server_log [MEGABYTES]
"""

import json
import resource
import subprocess
import sys
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from fingerprint.metrics.logs import sglang
from fingerprint.metrics.source import load

MEGABYTES = 256
_BLOCK = 1 << 20


def request(number: int) -> str:
    """What a request of 8 at once leaves: its prompt, its answer, and of all eight a line of decoding or none."""
    time = f"2026-03-02 {number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
    prompt = (
        f"[{time} TP0] Prefill batch, #new-seq: 1, #new-token: {100 + number % 900}, #cached-token: {number % 64}, "
        f"token usage: 0.21, #running-req: 7, #queue-req: 0, cuda graph: False, input throughput (token/s): 5123.45\n"
    )
    decoding = (
        f"[{time} TP0] Decode batch, #running-req: 8, #token: {20_000 + number % 999}, token usage: 0.21, "
        f"accept len: {2 + number % 40 / 100:.2f}, accept rate: 0.51, cuda graph: True, "
        f"gen throughput (token/s): {400 + number % 50}.25, #queue-req: 0\n"
    )
    answer = f'[{time}] INFO:     10.0.0.7:{40_000 + number % 9999} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    return answer + prompt + decoding * (number % 5 > 0)


def write(path: Path, megabytes: int) -> None:
    requests = "".join(map(request, range(_BLOCK // 300))).encode()
    start = b"[2026-03-02 00:00:00] server_args=ServerArgs(model_path='org/model', tp_size=8)\n"
    with path.open("wb") as file:
        file.write(start)
        for block in islice(cycle((requests,)), megabytes * _BLOCK // len(requests) + 1):
            file.write(block)


def seconds(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES
    with TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        write(log, megabytes)
        subprocess.run(["grep", "-c", "Decode batch", str(log)], stdout=subprocess.PIPE, check=True)
        grep, before, memory = seconds(resource.RUSAGE_CHILDREN), seconds(resource.RUSAGE_SELF), peak_mb()
        found = sglang.read(load(str(log)))
        ours = seconds(resource.RUSAGE_SELF) - before
        assert found.metrics
        size = log.stat().st_size / 1e6
    print(json.dumps({"ours": ours, "grep": grep, "megabytes": size, "memory": peak_mb() - memory}))


if __name__ == "__main__":
    main()
