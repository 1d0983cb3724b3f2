"""`nvidia-smi -q -x` as sections: the facts of area `gpu` that it tells, and the driver's version."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from xml.etree.ElementTree import Element

from msgspec.structs import fields

from fingerprint.imports.nvidia_smi_table import DRIVER, EVENTS, GPU, INSTANCE, PROCESS, Told
from fingerprint.imports.printed import told
from fingerprint.imports.xml import document
from probes.driver import Driver
from probes.gpu import Gpu, Gpus
from probes.gpu.events import BUSY_PERCENT
from probes.gpu.mig import Instance
from probes.gpu.nvlink import slot
from probes.gpu.processes import Process
from probes.kit.facts import NOT_READ, Gap, Map, Section, Seen, then

S = TypeVar("S", bound=Section)
Facts = Mapping[str, Any]

ROOT = "nvidia_smi_log"
OTHERS = {
    "NVSMI LOG": "the text of `nvidia-smi -q`",
    "| NVIDIA-SMI": "the table of `nvidia-smi`",
    "GPU 0:": "the list of `nvidia-smi -L`",
    "Unable to determine the device handle": "an error of `nvidia-smi`: one of its GPUs does not answer",
    "NVIDIA-SMI has failed": "an error of `nvidia-smi`: it does not reach the driver",
}
"""What a file may begin with that is something else of nvidia-smi."""
LOOKED_AT = 4000
ADDRESS = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")


def sections(text: str) -> dict[str, Section]:
    """Area -> section. Raises ValueError, in one sentence, for what is no log of nvidia-smi."""
    log = _log(text)
    found = {_slot(gpu): _gpu(gpu) for gpu in log.findall("gpu")}
    return {"gpu": Gpus(gpus=Map(found)), "driver": _built(Driver, _facts(log, DRIVER))}


def _slot(gpu: Element) -> str:
    address = gpu.get("id", "")
    if not ADDRESS.fullmatch(address):
        raise ValueError(f"a log of `nvidia-smi -q -x` with a GPU whose id is no PCI address: {address!r}")
    return slot(address)


def _log(text: str) -> Element:
    """What preloaded libraries printed before and after it is passed over."""
    start, end = text.find(f"<{ROOT}"), text.rfind(f"</{ROOT}>")
    if start < 0:
        raise ValueError(f"no log of `nvidia-smi -q -x`, but {_recognised(text)}")
    if end < 0:
        raise ValueError("a log of `nvidia-smi -q -x` that is cut off before its end")
    declared = text.find("<?xml"), text.find("<!DOCTYPE")
    return document(text[min(at for at in (*declared, start) if at >= 0) : end + len(f"</{ROOT}>")])


def _recognised(text: str) -> str:
    head = text[:LOOKED_AT]
    if not head.strip():
        return "an empty file"
    known = next((what for mark, what in OTHERS.items() if mark in head), None)
    return known or f"a file that begins {head.split(None, 1)[0][:40]!r}"


def _gpu(gpu: Element) -> Gpu:
    facts = _facts(gpu, GPU)
    return _built(
        Gpu,
        {
            **facts,
            **_of_fabric(facts),
            "clocks_event_reasons/active": _active(facts),
            "busy": _busy(facts),
            "mig/instances": _instances(gpu, facts["mig/mode_current"]),
            "processes": _processes(gpu),
        },
    )


def _facts(element: Element, table: Mapping[str, Told]) -> Facts:
    return {fact: _seen(element, *row) for fact, row in table.items()}


def _seen(element: Element, read: Any, paths: tuple[str, ...]) -> Seen[Any]:
    """By the first of the paths that is there."""
    for path in paths:
        printed = _printed(element, path)
        if printed is not None:
            return then(told(printed, path), read)
    return NOT_READ


def _printed(element: Element, path: str) -> str | None:
    """Where a whole group has no value, its own text stands for all that would be in it: `<remapped_rows>N/A<...`."""
    for name in path.split("/"):
        below = element.find(name)
        if below is None:
            return None
        element = below
        text = (element.text or "").strip()
        if text and not len(element):
            return text
    return None if len(element) else ""


def _built(section: type[S], facts: Facts, above: str = "") -> S:
    """A section of the facts by their paths; what is not among them is not read."""
    told_ones = {name: facts.get(above + name, NOT_READ) for name in section.__facts__}
    nested = {f.name: type(f.default) for f in fields(section) if f.name not in section.__facts__}
    return section(**told_ones, **{name: _built(kind, facts, f"{above}{name}/") for name, kind in nested.items()})


def _active(facts: Facts) -> Seen[str]:
    """The reasons that this driver prints; another that holds is not told."""
    printed = {event.rpartition("/")[2]: facts[event] for event in EVENTS if facts[event] != NOT_READ}
    gap = next((value for value in printed.values() if isinstance(value, Gap)), None)
    if gap is not None or not printed:
        return gap or NOT_READ
    return " ".join(name for name, holds in printed.items() if holds) or "none"


def _busy(facts: Facts) -> Seen[int]:
    idle = facts["clocks_event_reasons/gpu_idle"] == 1
    return then(facts["utilization/gpu"], lambda percent: int(percent >= BUSY_PERCENT and not idle))


def _of_fabric(facts: Facts) -> Facts:
    """nvml.h gives these a meaning only once registration is completed."""
    if isinstance(facts["fabric/state"], Gap) or facts["fabric/state"] == "completed":
        return {}
    why = Gap("not_observable", "registration with the fabric is not completed")
    return dict.fromkeys(("fabric/status", "fabric/clique_id", "fabric/cluster_uuid"), why)


def _instances(gpu: Element, mode: Seen[str]) -> Seen[Map[Instance]]:
    devices = gpu.findall("mig_devices/mig_device")
    return then(
        mode, lambda _: Map({_key_of(device): _built(Instance, _facts(device, INSTANCE)) for device in devices})
    )


def _key_of(device: Element) -> str:
    return f"{device.findtext('gpu_instance_id')}/{device.findtext('compute_instance_id')}"


def _processes(gpu: Element) -> Seen[Map[Process]]:
    listed = gpu.find("processes")
    if listed is None:
        return NOT_READ
    if (listed.text or "").strip():
        return then(told((listed.text or "").strip(), "processes"), lambda _: Map({}))
    return Map(dict(_rows(listed)))


def _rows(listed: Element) -> Iterator[tuple[str, Process]]:
    for row in listed.findall("process_info"):
        yield row.findtext("pid", ""), _built(Process, _facts(row, PROCESS))
