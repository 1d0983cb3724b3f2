"""The GPU's memory, and the window through which others see it."""

from probes.gpu.asking import Device
from probes.kit.facts import Section, Seen, config, state, telemetry
from probes.kit.knobs import read_each

_MEMORY = "nvmlDeviceGetMemoryInfo"
_BAR1 = "nvmlDeviceGetBAR1MemoryInfo"


# Version 1 of NVML's answer, which drivers before R510 give, leaves out of the total what they reserve.
_DRIVER = ("driver/module/version", "driver/nvml/driver_version")


class Memory(Section):
    """Where GPU and CPU share one memory (GB10) NVML tells none of it."""

    total: Seen[int] = state(
        "What weights and cache must fit in: a vGPU, ECC on GDDR or lost channels take of it",
        f"{_MEMORY}.total",
        "B",
        settled="always",
        follows=("gpu/*/ecc/mode_current", *_DRIVER),
    )
    reserved: Seen[int] = state(
        "What driver and firmware keep: not there for the cache. Version 1 of NVML's answer counts it as used",
        f"{_MEMORY}.reserved",
        "B",
        settled="always",
        context=True,
        follows=("gpu/*/ecc/mode_current", "gpu/*/mig/mode_current", *_DRIVER),
    )
    used: Seen[int] = telemetry(
        "Left by an earlier server, it shrinks this one's cache: orphans have held 22 to 104 GB", f"{_MEMORY}.used", "B"
    )
    free: Seen[int] = telemetry("What a server may still take when it sizes its cache", f"{_MEMORY}.free", "B")
    bar1_total: Seen[int] = config(
        "256 MiB is a GPU without resizable BAR: peers and host see a window of it only, 13.9 tok/s against 36.9",
        f"{_BAR1}.bar1Total",
        "B",
    )
    bar1_used: Seen[int] = telemetry("Mappings fail, or are made anew, once it is full", f"{_BAR1}.bar1Used", "B")


def read_memory(device: Device) -> Memory:
    return read_each(Memory, device.answer)


def sample_memory(device: Device) -> Memory:
    """What a sample asks of the memory."""
    return Memory(used=device.answer(f"{_MEMORY}.used"), free=device.answer(f"{_MEMORY}.free"))
