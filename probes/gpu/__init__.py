"""The area `gpu`: what NVML, and the kernel where NVML is silent, tell of each GPU.

A GPU's key is its PCI address: the slot. Which unit sits in it are the identity facts. GPUs that the kernel module
drives and NVML could not attach (lost, asleep, hung, denied) stand here too: each fact says why it is missing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from probes.gpu.affinity import Affinity, read_affinity
from probes.gpu.asking import Device
from probes.gpu.clocks import Clocks, read_clocks, sample_clocks
from probes.gpu.confidential import Confidential, read_confidential
from probes.gpu.ecc import Ecc, read_ecc
from probes.gpu.events import (
    EventCounters,
    EventReasons,
    Utilization,
    busy,
    read_event_counters,
    read_event_reasons,
    read_utilization,
    sample_event_reasons,
)
from probes.gpu.fabric import Fabric, read_fabric
from probes.gpu.gsp import Gsp, read_gsp
from probes.gpu.health import Health, read_health
from probes.gpu.inferred import Inferred, read_inferred, sample_inferred
from probes.gpu.machine import Machine, read_machine
from probes.gpu.memory import Memory, read_memory, sample_memory
from probes.gpu.mig import Mig, read_mig
from probes.gpu.nvlink import NvLinks, read_nvlink, sample_nvlink
from probes.gpu.pcie import Pcie, read_pcie, sample_pcie
from probes.gpu.peers import Peer, read_peers
from probes.gpu.power import Power, read_power, sample_power
from probes.gpu.processes import RUNNING, Process, process_facts
from probes.gpu.settings import SETTING_WORDS, Settings, performance_state, setting_facts
from probes.gpu.thermal import Fans, Temperature, read_fans, read_temperature, sample_temperature
from probes.gpu.unit import UNIT_WORDS, Inforom, Platform, minor_of, read_inforom, read_platform, unit_facts
from probes.gpu.virtualization import Virtualization, read_virtualization
from probes.gpu.worded import read_worded
from probes.kit.facts import Gap, Map, Section, Seen, identity, seen_or, telemetry, then
from probes.kit.host import Host
from probes.kit.nvml.asking import bound
from probes.kit.probe import Target, probe


class Gpu(Settings):
    """Paths: gpu/0000:17:00.0/power_limit, gpu/0000:17:00.0/clocks/sm ..."""

    busy: Seen[int] = telemetry(
        "1 where it worked: clocks, draw and event reasons of an idle GPU say nothing about work",
        "nvmlDeviceGetUtilizationRates.gpu of 20 % or more, and no event reason gpu_idle",
        tells="gpu busy",
    )
    query_ms: Seen[int] = telemetry(
        "How long NVML took to answer all of this: a sick GPU answers slowly long before it fails",
        "the time of all calls about it",
        "ms",
        context=True,
    )
    unowned_memory: Seen[int] = telemetry(
        "Used, but by no process that is listed: what a crashed worker left behind is missing for the key-value cache",
        "nvmlDeviceGetMemoryInfo.used, less that of the running processes",
        "B",
        context=True,
    )
    processes: Seen[Map[Process]] = telemetry(
        "An orphaned worker, or another tenant, takes time and memory of the GPU",
        ", ".join(RUNNING.values()),
        context=True,
    )
    inforom: Inforom = Inforom()
    platform: Platform = Platform()
    clocks: Clocks = Clocks()
    clocks_event_reasons: EventReasons = EventReasons()
    clocks_event_reasons_counters: EventCounters = EventCounters()
    utilization: Utilization = Utilization()
    power: Power = Power()
    temperature: Temperature = Temperature()
    fan: Fans = Fans()
    inferred: Inferred = Inferred()
    memory: Memory = Memory()
    ecc: Ecc = Ecc()
    health: Health = Health()
    pcie: Pcie = Pcie()
    nvlink: NvLinks = NvLinks()
    fabric: Fabric = Fabric()
    peers: Seen[Map[Peer]] = identity(
        "The other GPUs that this one may reach", "NVML's devices", follows=("gpu", "gpu/*")
    )
    affinity: Affinity = Affinity()
    mig: Mig = Mig()
    gsp: Gsp = Gsp()
    confidential: Confidential = Confidential()
    virtualization: Virtualization = Virtualization()


READ: Mapping[str, Callable[[Device], Any]] = {
    "busy": busy,
    "query_ms": lambda device: then(device.answer("spent"), round),
    "inforom": read_inforom,
    "platform": read_platform,
    "clocks": read_clocks,
    "clocks_event_reasons": read_event_reasons,
    "clocks_event_reasons_counters": read_event_counters,
    "utilization": read_utilization,
    "power": read_power,
    "temperature": read_temperature,
    "fan": read_fans,
    "memory": read_memory,
    "ecc": read_ecc,
    "health": read_health,
    "pcie": read_pcie,
    "nvlink": read_nvlink,
    "fabric": read_fabric,
    "peers": read_peers,
    "affinity": read_affinity,
    "mig": read_mig,
    "gsp": read_gsp,
    "confidential": read_confidential,
    "virtualization": read_virtualization,
}
"""A Gpu's fields that are more than an answer of NVML or its word."""

SAMPLED: Mapping[str, Callable[[Device], Any]] = {
    "busy": busy,
    "performance_state": performance_state,
    "clocks": sample_clocks,
    "clocks_event_reasons": sample_event_reasons,
    "clocks_event_reasons_counters": read_event_counters,
    "utilization": read_utilization,
    "power": sample_power,
    "temperature": sample_temperature,
    "inferred": sample_inferred,
    "memory": sample_memory,
    "pcie": sample_pcie,
    "nvlink": sample_nvlink,
}
"""What moves: these ask no more than inquiry.SAMPLE answers."""


class Gpus(Section):
    gpus: Seen[Map[Gpu]] = identity(
        "A GPU fell off the bus, or another one was given to this machine or container",
        "NVML's devices and /sys/bus/pci/drivers/nvidia",
        follows=("driver/libraries/match_module",),
    )


def sample(host: Host, _target: Target) -> Gpus:
    """What moves, and nothing else."""
    return Gpus(gpus=then(host.nvml_sample(), lambda keys: Map({key: _sampled(Device(host, key)) for key in keys})))


@probe(of="host", budget=1.0, sample=sample, asks_nvml=True)
def gpu(host: Host, _target: Target) -> Gpus:
    attached, driven = host.nvml_devices(), tuple(bound(host))
    if isinstance(attached, Gap) and not driven:
        return Gpus(gpus=attached)
    machine = read_machine(host)
    keys = sorted({*seen_or(attached, ()), *_own(host, machine, driven)})
    if isinstance(attached, Gap) and not keys:
        return Gpus(gpus=attached)
    return Gpus(gpus=Map({key: _gpu(Device(host, key), machine) for key in keys}))


def _own(host: Host, machine: Machine, driven: Iterable[str]) -> Iterator[str]:
    """Of those that the kernel module drives. A container sees the host's: its own are those whose node it has."""
    yield from (key for key in driven if not machine.contained or _has_node(Device(host, key)))


def _has_node(device: Device) -> bool:
    minor = minor_of(device)
    return not isinstance(minor, Gap) and device.host.stat(f"/dev/nvidia{minor}") != Gap("absent")


def _gpu(device: Device, machine: Machine) -> Gpu:
    return read_worded(
        Gpu,
        device,
        {**UNIT_WORDS, **SETTING_WORDS},
        **unit_facts(device),
        **setting_facts(device, machine),
        **process_facts(device, machine),
        **{name: read(device) for name, read in READ.items()},
        inferred=read_inferred(device, machine),
    )


def _sampled(device: Device) -> Gpu:
    return Gpu(**{name: read(device) for name, read in SAMPLED.items()})
