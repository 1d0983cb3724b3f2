"""The canary's work of GPUs. The Python of the served environment is given this file on its standard input, and as its
argument after how many seconds to end: it imports what is installed there (torch, else CuPy) and nothing of ours, and
tells each result on a line of its own, as JSON. Any Python from 3.8 on.

All GPUs share two seconds, one after the other. A GPU with less free memory than twice what is needed is left alone.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import Any, Callable  # noqa: UP035  # Python 3.8

SECONDS = 2.0
PARTS = 8
COPIED, UPLOADED, SIDE, LAUNCHES = 256 << 20, 64 << 20, 4096, 500
NEEDED = 4 * COPIED
Work = Callable[[], int]


class Cannot(Exception):
    """Why there is nothing to measure."""


class Torch:
    """What torch has of what is needed here."""

    name = "torch"

    def __init__(self) -> None:
        import torch  # type: ignore[import-not-found,unused-ignore]

        self._torch = torch
        self.version = str(torch.__version__)

    def count(self) -> int:
        return int(self._torch.cuda.device_count()) if self._torch.cuda.is_available() else 0

    def enter(self, gpu: int) -> None:
        self._torch.cuda.set_device(gpu)

    def wait(self) -> None:
        self._torch.cuda.synchronize()

    def free(self, gpu: int) -> int:
        return int(self._torch.cuda.mem_get_info(gpu)[0])

    def address(self, gpu: int) -> str:
        """Empty where this release does not tell it."""
        it = self._torch.cuda.get_device_properties(gpu)
        if not hasattr(it, "pci_bus_id"):
            return ""
        return f"{getattr(it, 'pci_domain_id', 0):04x}:{it.pci_bus_id:02x}:{it.pci_device_id:02x}.0"

    def reaches(self, gpu: int, other: int) -> bool:
        return bool(self._torch.cuda.can_device_access_peer(gpu, other))

    def block(self, size: int, gpu: int) -> Any:
        return self._torch.ones(size, dtype=self._torch.uint8, device=f"cuda:{gpu}")

    def copy(self, to: Any, of: Any) -> None:
        to.copy_(of)

    def upload(self, size: int, gpu: int) -> Work:
        here = self._torch.ones(size, dtype=self._torch.uint8, pin_memory=True)
        there = self.block(size, gpu)
        return lambda: (there.copy_(here, non_blocking=True), size)[1]

    def matmul(self, side: int, gpu: int) -> Work:
        one, other = (self._torch.ones(side, side, dtype=self._torch.float16, device=f"cuda:{gpu}") for _ in "ab")
        out = self._torch.empty_like(one)
        return lambda: (self._torch.mm(one, other, out=out), 2 * side**3)[1]

    def small(self, gpu: int) -> Callable[[], Any]:
        one = self.block(1, gpu)
        return lambda: one.add_(1)


class CuPy:
    """The same of CuPy."""

    name = "cupy"

    def __init__(self) -> None:
        import cupy  # type: ignore[import-not-found,unused-ignore]

        self._cupy = cupy
        self.version = str(cupy.__version__)

    def count(self) -> int:
        return int(self._cupy.cuda.runtime.getDeviceCount())

    def enter(self, gpu: int) -> None:
        self._cupy.cuda.Device(gpu).use()

    def wait(self) -> None:
        self._cupy.cuda.Device().synchronize()

    def free(self, gpu: int) -> int:
        return int(self._cupy.cuda.Device(gpu).mem_info[0])

    def address(self, gpu: int) -> str:
        return str(self._cupy.cuda.Device(gpu).pci_bus_id).lower()

    def reaches(self, gpu: int, other: int) -> bool:
        """And may from now on: else a copy goes through the host."""
        can = bool(self._cupy.cuda.runtime.deviceCanAccessPeer(gpu, other))
        if can:
            self._cupy.cuda.runtime.deviceEnablePeerAccess(other)
        return can

    def block(self, size: int, gpu: int) -> Any:
        with self._cupy.cuda.Device(gpu):
            return self._cupy.ones(size, dtype=self._cupy.uint8)

    def copy(self, to: Any, of: Any) -> None:
        self._cupy.cuda.runtime.memcpyAsync(to.data.ptr, of.data.ptr, of.nbytes, 4, self._stream())  # 4: by address

    def upload(self, size: int, gpu: int) -> Work:
        here = self._cupy.cuda.alloc_pinned_memory(size)
        there = self.block(size, gpu)
        copy = self._cupy.cuda.runtime.memcpyAsync
        return lambda: (copy(there.data.ptr, here.ptr, size, 4, self._stream()), size)[1]

    def matmul(self, side: int, gpu: int) -> Work:
        one, other = (self._cupy.ones((side, side), dtype=self._cupy.float16) for _ in "ab")
        out = self._cupy.empty_like(one)
        return lambda: (self._cupy.matmul(one, other, out=out), 2 * side**3)[1]

    def small(self, gpu: int) -> Callable[[], Any]:
        one = self.block(1, gpu)
        return lambda: self._cupy.add(one, 1, out=one)

    def _stream(self) -> int:
        return int(self._cupy.cuda.get_current_stream().ptr)


def samples(lib: Any, work: Work, seconds: float) -> list[float]:
    """Seconds a unit until the GPU has done it, of each part of the time that is given."""
    work()
    lib.wait()
    found: list[float] = []
    began = at = time.perf_counter()
    units, now = 0, at
    while now - began < seconds or not found:
        units += work()
        lib.wait()
        now = time.perf_counter()
        if now - at >= seconds / PARTS:
            found.append((now - at) / units)
            at, units = now, 0
    return found


def copy(lib: Any, gpu: int, of: int) -> Work:
    source, target = lib.block(COPIED, of), lib.block(COPIED, gpu)
    return lambda: (lib.copy(target, source), COPIED)[1]


def launch(lib: Any, gpu: int) -> Work:
    small = lib.small(gpu)
    return lambda: len([small() for _ in range(LAUNCHES)])


def works(lib: Any, gpu: int, gpus: int) -> dict[str, Callable[[], Work]]:
    found: dict[str, Callable[[], Work]] = {
        "copy": lambda: copy(lib, gpu, gpu),
        "upload": lambda: lib.upload(UPLOADED, gpu),
        "matmul": lambda: lib.matmul(SIDE, gpu),
        "launch": lambda: launch(lib, gpu),
    }
    if gpus > 1:
        found["p2p"] = lambda: p2p(lib, gpu, (gpu + 1) % gpus)
    return found


def p2p(lib: Any, gpu: int, of: int) -> Work:
    """From the next GPU alone, which makes a ring of all."""
    if not lib.reaches(gpu, of):
        raise Cannot("it cannot reach the next GPU's memory")
    return copy(lib, gpu, of)


def tell(**told: Any) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def library() -> Any:
    """Raises ImportError where there is neither."""
    torch, why = made(Torch)
    if torch is not None:
        return torch
    cupy, why_not = made(CuPy)
    if cupy is not None:
        return cupy
    raise ImportError(f"{why}; {why_not}")


def made(each: Any) -> tuple[Any, str]:
    try:
        return each(), ""
    except Exception as error:  # noqa: BLE001  # a broken installation raises what it likes
        return None, f"{each.name}: {error}"


def called(lib: Any, gpus: int) -> list[str]:
    """Each GPU by its address; by number where that is not told, or parts of one GPU share it."""
    addresses = [lib.address(gpu) for gpu in range(gpus)]
    return addresses if all(addresses) and len(set(addresses)) == gpus else [str(gpu) for gpu in range(gpus)]


def result(lib: Any, gpu: int, make: Callable[[], Work], seconds: float) -> dict[str, Any]:
    try:
        lib.enter(gpu)
        if lib.free(gpu) < NEEDED:
            raise Cannot(f"less than {NEEDED >> 20} MiB of its memory are free")
        return {"samples": samples(lib, make(), seconds)}
    except Cannot as why:
        return {"gap": str(why)}
    except Exception as error:  # noqa: BLE001  # a gap, whatever it is
        return {"gap": f"{type(error).__name__}: {error}"}


def main() -> None:
    try:
        lib = library()
        gpus = lib.count()
        names = called(lib, gpus)
    except Exception as error:  # noqa: BLE001  # a gap, whatever it is
        tell(work="gpu", gap=str(error) or type(error).__name__)
        return
    by = f"{lib.name} {lib.version}"
    if not gpus:
        tell(work="gpu", gap=f"{by} sees no GPU")
    for gpu, name in enumerate(names):
        each = works(lib, gpu, gpus)
        for work, make in each.items():
            tell(work=work, gpu=name, by=by, **result(lib, gpu, make, SECONDS / gpus / len(each)))


if __name__ == "__main__":
    signal.alarm(int(sys.argv[1]))  # whoever started it may be gone by then
    main()
