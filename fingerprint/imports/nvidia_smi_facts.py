"""What nvidia-smi prints of GPUs, as a tree of elements, as facts of area `gpu`: of its XML and of its text alike."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar
from xml.etree.ElementTree import Element

from msgspec.structs import fields

from fingerprint.imports.nvidia_smi_table import EVENTS, Told
from fingerprint.imports.printed import told
from probes.gpu import Gpu, Gpus
from probes.gpu.events import BUSY_PERCENT
from probes.gpu.mig import Instance
from probes.gpu.processes import Process
from probes.kit.facts import NOT_READ, Gap, Map, Section, Seen, then

S = TypeVar("S", bound=Section)
Facts = Mapping[str, Any]


class Dialect(NamedTuple):
    """Which element tells which fact of a GPU, of an instance and of a process."""

    gpu: Mapping[str, Told]
    instance: Mapping[str, Told]
    process: Mapping[str, Told]


def gpus_of(dialect: Dialect, gpus: Mapping[str, Element], log: Element) -> Gpus:
    """gpus: by address. nvidia-smi lists them by their numbers, where it lists all of them."""
    whole = log.findtext("attached_gpus", "") == str(len(gpus))
    numbers: list[Seen[int]] = [*range(len(gpus))] if whole else [NOT_READ] * len(gpus)
    found = {key: _gpu(dialect, gpu, index) for index, (key, gpu) in zip(numbers, gpus.items(), strict=True)}
    return Gpus(gpus=Map(found))


def _gpu(dialect: Dialect, gpu: Element, index: Seen[int]) -> Gpu:
    facts = defaultdict(lambda: NOT_READ, {"index": index, **facts_of(gpu, dialect.gpu)})
    return built(
        Gpu,
        {
            **facts,
            **_of_fabric(facts),
            "clocks_event_reasons/active": _active(facts),
            "busy": _busy(facts),
            "mig/instances": _instances(dialect, gpu, facts["mig/mode_current"]),
            "processes": _processes(dialect, gpu),
        },
    )


def facts_of(element: Element, table: Mapping[str, Told]) -> Facts:
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


def built(section: type[S], facts: Facts, above: str = "") -> S:
    """A section of the facts by their paths; what is not among them is not read."""
    told_ones = {name: facts.get(above + name, NOT_READ) for name in section.__facts__}
    nested = {f.name: type(f.default) for f in fields(section) if f.name not in section.__facts__}
    return section(**told_ones, **{name: built(kind, facts, f"{above}{name}/") for name, kind in nested.items()})


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


def _instances(dialect: Dialect, gpu: Element, mode: Seen[str]) -> Seen[Map[Instance]]:
    listed = gpu.find("mig_devices")
    if listed is None:
        return NOT_READ
    devices = listed.findall("mig_device")
    return then(
        mode,
        lambda _: Map({_key_of(device): built(Instance, facts_of(device, dialect.instance)) for device in devices}),
    )


def _key_of(device: Element) -> str:
    return f"{device.findtext('gpu_instance_id')}/{device.findtext('compute_instance_id')}"


def _processes(dialect: Dialect, gpu: Element) -> Seen[Map[Process]]:
    listed = gpu.find("processes")
    if listed is None:
        return NOT_READ
    if (listed.text or "").strip():
        return then(told((listed.text or "").strip(), "processes"), lambda _: Map({}))
    return Map(dict(_rows(dialect, listed)))


def _rows(dialect: Dialect, listed: Element) -> Iterator[tuple[str, Process]]:
    for row in listed.findall("process_info"):
        yield row.findtext("pid", ""), built(Process, facts_of(row, dialect.process))
