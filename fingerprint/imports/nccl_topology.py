"""The machine as NCCL writes it with NCCL_TOPO_DUMP_FILE."""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from msgspec.structs import replace

from fingerprint.imports.dump import Told, of_host
from fingerprint.imports.xml import document
from probes.cpu import Cpu
from probes.cpu.processor import Processor
from probes.gpu import Gpu, Gpus
from probes.kit.facts import NOT_READ, Gap, Map, Section, Seen
from probes.kit.lazy import lazy_regex
from probes.kit.redact import Redactor
from probes.pcie import sections as pcie
from probes.pcie.reading import speed

BEGINS = lazy_regex(r"^[ \t]*<system version=\"1\">", re.MULTILINE)
GRAPH_BEGINS = lazy_regex(r"^[ \t]*<graphs version=", re.MULTILINE)
GRAPH = "the rings and trees that NCCL chose among ranks, without the devices that they are; its log tells them"
_END = "</system>"
_ADDRESS = lazy_regex(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_IDENTITY = ("vendor", "familyid", "modelid")
_WIDTH = lazy_regex(r"[1-9]\d?")


def read(text: str, _redactor: Redactor) -> Told:
    """Raises ValueError for one that is cut off, or made for a kind of machine without having looked at one."""
    end = text.find(_END)
    if end < 0:
        raise ValueError("a topology of NCCL that is cut off before its end")
    system = document(text[: end + len(_END)])
    gpus = dict(_gpus(system))
    if not gpus:
        raise ValueError(
            "a topology for NCCL in which no GPU says what it is: one that NCCL itself wrote does (NCCL_TOPO_DUMP_FILE)"
        )
    slots = pcie.Pcie(gpus=Map({address: it for address, it in _slots(system) if address in gpus}))
    told: dict[str, Section] = {"gpu": Gpus(gpus=Map(gpus)), "pcie": slots}
    if processor := _processor(system):
        told["cpu"] = Cpu(processor=processor)
    return of_host(told)


def _gpus(system: Element) -> Iterator[tuple[str, Gpu]]:
    for device in system.iter("pci"):
        gpu, address = device.find("gpu"), device.get("busid", "").lower()
        if gpu is not None and _ADDRESS.fullmatch(address) and gpu.get("sm", "").isdecimal():
            number = int(gpu.get("sm", ""))
            yield address, Gpu(compute_cap=f"{number // 10}.{number % 10}", pci_device_id=_device_id(device))


def _slots(system: Element) -> Iterator[tuple[str, pcie.Gpu]]:
    """Of a link NCCL writes what both of its ends can (ncclTopoGetPciNode, src/graph/xml.cc)."""
    for cpu in system.iter("cpu"):
        for device in cpu.iter("pci"):
            yield device.get("busid", "").lower(), replace(_slot(device), numa_node=_node(cpu.get("numaid", "")))


def _slot(device: Element) -> pcie.Gpu:
    width, code = device.get("link_width", ""), device.get("class", "")
    return pcie.Gpu(
        pci_id=_ids(device, "vendor", "device"),
        subsystem_id=_ids(device, "subsystem_vendor", "subsystem_device"),
        class_code=code[2:] if re.fullmatch("0x[0-9a-f]{6}", code) else NOT_READ,
        usable_link_speed=_speed(device.get("link_speed", "")),
        usable_link_width=int(width) if _WIDTH.fullmatch(width) else NOT_READ,
    )


def _ids(device: Element, vendor: str, model: str) -> Seen[str]:
    pair = [device.get(name, "") for name in (vendor, model)]
    if not all(re.fullmatch("0x[0-9a-f]{4}", number) for number in pair):
        return NOT_READ
    return ":".join(number[2:] for number in pair)


def _speed(printed: str) -> Seen[int]:
    try:
        return speed(printed)
    except (ValueError, IndexError):
        return NOT_READ


def _node(printed: str) -> Seen[int]:
    if printed.isdecimal():
        return int(printed)
    return Gap("unsupported", "the firmware names no node") if printed == "-1" else NOT_READ


def _device_id(device: Element) -> Seen[str]:
    """Device and vendor, as NVML tells them in one number."""
    try:
        return f"0x{int(device.get('device', ''), 16):04x}{int(device.get('vendor', ''), 16):04x}"
    except ValueError:
        return NOT_READ


def _processor(system: Element) -> Processor | None:
    """Where all nodes have one kind, of x86: elsewhere NCCL's numbers are not those of /proc/cpuinfo."""
    kinds = {tuple(cpu.get(name, "") for name in _IDENTITY) for cpu in system.iter("cpu")}
    of_x86 = all(cpu.get("arch") == "x86_64" for cpu in system.iter("cpu"))
    if len(kinds) != 1 or not of_x86 or not all(next(iter(kinds))):
        return None
    vendor, family, model = kinds.pop()
    return Processor(vendor=vendor, family=_family(family), model=model)


def _family(printed: str) -> Seen[str]:
    """As the kernel adds up CPUID's two fields: NCCL writes the second shifted by four (ncclTopoGetXmlFromCpu)."""
    if not re.fullmatch(r"\d{1,4}", printed):
        return NOT_READ
    extended, base = divmod(int(printed), 16)
    return str(base + extended)
