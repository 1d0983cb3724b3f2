"""The canary's work of CPU and memory. Another Python is given this file on its standard input: it imports nothing of
ours, and tells each result on a line of its own, as JSON.

Each work is done in batches of a fixed size for its share of two seconds. A sample is the mean of as many of them as
take the period of a control group's quota: the time that a quota takes falls on each sample alike.
"""

import atexit
import ctypes
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable

SAMPLE = 0.1  # seconds; the kernel's own period of a quota
SECONDS = {"cpu": 0.7, "memory_copy": 0.5, "system_call": 0.3, "wake_up": 0.4}
LEAST, MOST = 64 << 20, 256 << 20  # bytes of each of the two buffers
CACHES = "/sys/devices/system/cpu/cpu0/cache"


def samples(batch: Callable[[], int], seconds: float) -> list[float]:
    """Seconds a unit of work, for each sample. batch: does some and tells how many units that was."""
    batch()  # what is done the first time only: pages, caches, the clock's first steps
    found: list[float] = []
    began = at = time.perf_counter()
    units, now = 0, at
    while now - began < seconds or not found:
        units += batch()
        now = time.perf_counter()
        if now - at >= SAMPLE:
            found.append((now - at) / units)
            at, units = now, 0
    return found


def cpu() -> Callable[[], int]:
    block = bytes(range(256)) * 16

    def batch() -> int:
        number, digest = 1, b""
        for _ in range(2000):
            number = (number * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
            digest = hashlib.blake2b(digest + block).digest()
        return 2000

    return batch


def memory_copy(size: int) -> Callable[[], int]:
    copy = ctypes.CDLL(None).memcpy
    copy.argtypes, copy.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t), ctypes.c_void_p
    one, other = (ctypes.create_string_buffer(size) for _ in range(2))
    ctypes.memset(one, 1, size)  # a page that nobody wrote to is one page of zeros

    def batch() -> int:
        copy(other, one, size)
        return size

    return batch


def system_call() -> Callable[[], int]:
    def batch() -> int:
        call = os.getppid
        for _ in range(20000):
            call()
        return 20000

    return batch


def wake_up() -> Callable[[], int]:
    """A byte there and back between two processes: each waits for the other, so that is two wake-ups."""
    there, theirs = os.pipe()
    ours, back = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(theirs)  # else it would never see the end of it
        while os.read(there, 1):
            os.write(back, b"b")
        os._exit(0)

    @atexit.register
    def end() -> None:
        os.close(theirs)
        os.waitpid(pid, 0)

    def batch() -> int:
        for _ in range(500):
            os.write(theirs, b"a")
            os.read(ours, 1)
        return 1000

    return batch


def largest_cache() -> int:
    """Bytes of the last level that the first CPU has, 0 where it is not told."""
    sizes = [0]
    try:
        for index in os.listdir(CACHES):
            if index.startswith("index"):
                with open(f"{CACHES}/{index}/size") as file:
                    sizes.append(int(file.read().strip().rstrip("K")) << 10)
    except (OSError, ValueError):
        pass
    return max(sizes)


def first_to_go() -> None:
    """Where the buffers are more than the control group or the host has left, nobody else is killed for them."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass  # no /proc


def tell(work: str, make: Callable[[], Callable[[], int]]) -> None:
    try:
        told = {"work": work, "samples": samples(make(), SECONDS[work])}
    except Exception as error:  # noqa: BLE001  # a gap, whatever it is
        told = {"work": work, "gap": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    size = min(MOST, max(LEAST, 2 * largest_cache()))
    first_to_go()
    tell("cpu", cpu)
    tell("system_call", system_call)
    tell("wake_up", wake_up)
    tell("memory_copy", lambda: memory_copy(size))  # the last one, as it alone may be killed
