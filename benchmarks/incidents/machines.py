"""The machines that incidents are played back on: a recorded host, over one that was read whole, with replayed GPUs
and a made-up bus and network around them."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benchmarks.incidents.buses import Board
from benchmarks.incidents.buses import sections_of as sections_around
from benchmarks.incidents.putting import Plain, Sections
from benchmarks.incidents.rows import DATA
from fingerprint.snapshot import Key
from fingerprint.testing import Replay
from probes.driver import driver
from probes.kit.probe import HOST, MAIN
from tests.nvml.profiles import host_of, slots
from tests.probes.gpu_hosts import BARE, answers_of, driven, read, replayed

HOSTS = Path(__file__).parents[2] / "tests" / "hosts"
WHOLE = "epyc-2vcpu-firecracker-linux6.18-debian12"
"""The one host that all areas were read of."""
RELEASE = "580.65.06"
VERSION = f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {RELEASE}  Release Build  (builder@host)\n"
PARAMETERS = 'EnableGpuFirmware: 18\nPreserveVideoMemoryAllocations: 0\nRegistryDwords: ""\n'
_PROCESS = Key("process", MAIN)


class Machine(NamedTuple):
    """host: a folder of tests/hosts. product, gpus: which and how many, by tests/nvml; empty for none."""

    host: str
    product: str = ""
    gpus: int = 0


WITHOUT_RDMA = ("rtx4090", "rtx4090x2", "t4")
"""Workstations, and a virtual machine: of the others' recorded hosts nobody says."""
_NO_RDMA = {"$": "gap", "code": "absent", "detail": "no RDMA device"}
_LAPTOP, _FOUR_SOCKETS, _ARM = (
    "i7-1370p-hybrid-linux6.1-debian12",
    "xeon-e7-4870x4-intel-idle",
    "gb10-linux6.17-ubuntu2404",
)

MACHINES: Mapping[str, Machine] = {
    "cpu": Machine(_LAPTOP),
    "spark": Machine(_ARM, "RTX PRO 6000", 1),
    "rtx4090": Machine(_LAPTOP, "RTX 4090", 1),
    "rtx4090x2": Machine(_LAPTOP, "RTX 4090", 2),
    "pro6000x4": Machine(_FOUR_SOCKETS, "RTX PRO 6000", 4),
    "t4": Machine(WHOLE, "T4", 1),
    "l40s": Machine(_LAPTOP, "L40S", 2),
    "a100x8": Machine(_FOUR_SOCKETS, "A100 SXM", 8),
    "h100x8": Machine(_FOUR_SOCKETS, "H100 SXM", 8),
    "b200": Machine(_FOUR_SOCKETS, "B200", 1),
}
"""Hardware classes by the name that rows use."""


def sections_of(name: str) -> Sections:
    """As `standing`, the caller's own to change."""
    return copied(standing(name))


def copied(sections: Sections) -> Sections:
    return {key: msgspec.json.decode(msgspec.json.encode(section)) for key, section in sections.items()}


@cache
def standing(name: str) -> Sections:
    """Every section of a machine as plain JSON values, and the process of the run: to be read, and never changed."""
    machine = MACHINES[name]
    whole, host = _recorded(WHOLE), _recorded(machine.host)
    found = {Key(area): _over(whole[area], host.get(area) or {}) for area in whole}
    if machine.gpus:
        found |= _with_gpus(machine.product, machine.gpus)
    around = sections_around(tuple(_boards(found[Key("gpu")])) if machine.gpus else ())
    found |= {Key(area): json.loads(msgspec.json.encode(section)) for area, section in around.items()}
    if name in WITHOUT_RDMA:
        found[Key("network")]["rdma"] = _NO_RDMA
    found[_PROCESS] = json.loads((DATA / "process.json").read_bytes())
    return found


def _recorded(folder: str) -> dict[str, Plain]:
    told: dict[str, Plain] = json.loads((HOSTS / folder / "snapshot.json").read_bytes())
    return told


def _over(below: Any, above: Any) -> Any:
    """A recorded tree is incomplete: what it lacks stands as the whole host has it. Collections stand as they are."""
    if not isinstance(below, dict) or not isinstance(above, dict) or "$" in above or "$" in below:
        return above
    return {name: _over(below.get(name), above[name]) if name in above else below[name] for name in {**below, **above}}


def _with_gpus(product: str, count: int) -> Sections:
    scenario = host_of(product, count, RELEASE)
    host = replayed(scenario, BARE, driven(*slots(count)))
    told = answers_of(scenario) | {("text", "/proc/driver/nvidia/version"): VERSION}
    told |= {("text", "/proc/driver/nvidia/params"): PARAMETERS}
    sections = {Key("gpu"): read(host), Key("driver"): driver.read(Replay(told), HOST)}
    return {key: json.loads(msgspec.json.encode(section)) for key, section in sections.items()}


def _boards(gpus: Plain) -> Iterator[Board]:
    for slot, gpu in sorted(gpus["gpus"]["items"].items()):
        number = int(gpu["pci_device_id"], 16)
        pci_id = f"{number & 0xFFFF:04X}:{number >> 16:04X}"
        yield Board(slot, pci_id, gpu["pcie"]["link_gen_max"], gpu["memory"]["bar1_total"])
