"""python -m benchmarks.gpu_part PAIRS

What a snapshot of 8 GPUs costs beside the rest: the process that calls NVML, what is made of its answers, and the
section, in a fork as the reader is one. NVML is the fake of our tests, which answers at once; the yardstick is an
interpreter that imports pynvml and ends. Prints one JSON list of pairs, each CPU and wall time in seconds.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from probes.gpu import gpu
from probes.kit.host import Host
from probes.kit.probe import HOST
from tests.nvml.build import library
from tests.nvml.fake import Fake
from tests.nvml.profiles import host_of

GPUS = 8


class Cost(NamedTuple):
    """Seconds: of all processors, on the clock."""

    cpu: float
    wall: float


def cost_of(act: Callable[[], None]) -> Cost:
    """Of a fork that does it and ends, with all processes that it waited for."""
    began = time.perf_counter()
    pid = os.fork()
    if not pid:
        try:
            gc.disable()  # as the reader does
            act()
            os._exit(0)
        finally:
            os._exit(1)
    _, status, used = os.wait4(pid, 0)
    if status:
        raise RuntimeError("what was measured failed")
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - began)


def read(host: Host) -> None:
    """The section as the reader sends it. Raises where a GPU is missing from it."""
    section = gpu.read(host, HOST)
    assert msgspec.json.encode(section).count(b'"uuid":"GPU-') == GPUS


def yardstick() -> None:
    subprocess.run([sys.executable, "-I", "-c", "import pynvml"], check=True)


def quiet(folder: Path) -> Fake:
    scenario = host_of("H100 SXM", GPUS)
    scenario["system"]["log"] = False
    return Fake(folder / "nvml", library(folder), scenario)


def main() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:  # the lock lies in memory, as in /run/lock
        fake = quiet(Path(folder))
        pairs = [(cost_of(lambda: read(fake.host())), cost_of(yardstick)) for _ in range(int(sys.argv[1]) + 1)]
    print(json.dumps(pairs[1:]))


if __name__ == "__main__":
    main()
