"""What of torch the canary asks for, as a module of that name: two GPUs in thin air. CUDA_STANDIN: what goes wrong."""

import os
import sys
import time
from types import SimpleNamespace
from typing import Any

__version__ = "0.0-standin"
WRONG = os.environ.get("CUDA_STANDIN", "")
uint8, float16 = "uint8", "float16"

if WRONG == "hang":
    time.sleep(60)
if WRONG == "crash":
    os.kill(os.getpid(), 11)
if WRONG == "flood":
    sys.stdout.write("x" * (8 << 20))
if WRONG == "broken":
    raise OSError("libcudart.so.12: cannot open shared object file")
if WRONG == "garbage":
    print("hello from torch", '{"work": "copy", "samples": ["fast"]}', '{"work": "copy", "samples": [-1]}', sep="\n")
    sys.exit(0)


class Tensor:
    def copy_(self, other: "Tensor", non_blocking: bool = False) -> None:
        time.sleep(0.0001)

    def add_(self, number: int) -> None:
        pass


def ones(*size: int, dtype: str, device: str = "cpu", pin_memory: bool = False) -> Tensor:
    if pin_memory and WRONG == "unpinned":
        raise RuntimeError("CUDA error: out of memory")
    return Tensor()


def empty_like(_: Tensor) -> Tensor:
    return Tensor()


def mm(one: Tensor, other: Tensor, out: Tensor) -> None:
    time.sleep(0.0001)


def _entered(gpu: int) -> None:
    if gpu == 1 and WRONG == "hangs later":
        time.sleep(60)


cuda: Any = SimpleNamespace(
    is_available=lambda: WRONG != "none",
    device_count=lambda: 1 if WRONG == "alone" else 2,
    set_device=_entered,
    synchronize=lambda: None,
    mem_get_info=lambda gpu: (1 << 20 if WRONG == "full" else 64 << 30, 80 << 30),
    get_device_properties=lambda gpu: SimpleNamespace(
        pci_domain_id=0, pci_bus_id=0x17 + gpu * (WRONG != "parts"), pci_device_id=0
    ),
    can_device_access_peer=lambda gpu, other: WRONG != "apart",
)
