"""Snapshots of a host that says what it is told to."""

from typing import Any

from fingerprint.snapshot import Key, Provenance, Reading, Snapshot, reading_of
from probes.kernel import Kernel, Troubles
from probes.kit.facts import Map, Section
from probes.memory import Memory
from probes.memory.usage import Vmstat
from probes.memory.vm import Vm

TYPES: dict[str, type[Section]] = {"kernel": Kernel, "memory": Memory}
MINUTE_NS = 60 * 10**9
BEGAN = 1_760_000_000 * 10**9
WHO = Provenance("0.1.0", "3.11", 0, "k")


def at(minute: int) -> int:
    """ns since 1970."""
    return BEGAN + minute * MINUTE_NS


def kernel(boot: str = "b", modules: tuple[str, ...] = (), **troubles: int) -> Kernel:
    from probes.kernel.modules import Module

    return Kernel(boot_id=boot, troubles=Troubles(**troubles), modules=Map({name: Module() for name in modules}))


def memory(swappiness: Any = 60, oom_kill: int = 0) -> Memory:
    return Memory(vm=Vm(swappiness=swappiness), vmstat=Vmstat(oom_kill=oom_kill))


def snapshot(minute: int, **sections: Section | Reading) -> Snapshot:
    """Of this minute; by area."""
    readings = {
        Key(area): reading_of(section) if isinstance(section, Section) else section
        for area, section in sections.items()
    }
    return Snapshot(f"01S{minute:010}", at(minute), 100.0, "host", WHO, readings)
