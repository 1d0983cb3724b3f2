"""What it ran on: which GPUs and how many, what joins them, and whose processors."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from fingerprint.explain.stored import Items, section_of, sections_of
from fingerprint.explain.subject import Subject
from fingerprint.runs.effective import Effective
from fingerprint.runs.record import Distribution
from fingerprint.snapshot import Key
from probes.kit.paths import parse_path
from probes.kit.probe import MAIN

OF_OTHERS = frozenset(("amdgpu", "amdkfd", "xe", "habanalabs"))
"""Modules of GPUs of other makers."""
_OF_A_GPU = re.compile(r"/dev/(nvidia|kfd|dri/render|dxg|habana|accel|tenstorrent)")
_OF_NVIDIA = re.compile(r"/dev/(nvidia|nvhost|nvmap|nvgpu|dxg)")
"""Devices of NVIDIA's GPUs, of boards too on which no NVML answers for them."""
_DRIVERS = frozenset(("nvidia", "nvgpu"))
NO_CONTAINER = "none"
"""As the runtime of a container is told where there is none."""
_BUSY = re.compile(r"gpu/[^/]+/busy")
"""From a fifth of the time on."""
_UTILIZATION = re.compile(r"gpu/[^/]+/utilization/gpu")


class Machine(NamedTuple):
    """Of either run, and None where nobody can say. gpus: the most that it had. products: names of NVIDIA's. adapters:
    of RDMA, the most. cpus: makers. linked: whether NVLink joins any. idle: whether no GPU had a part in it.
    elsewhere: whether GPUs worked, and for no process that was read. contained: whether any process was in a
    container. mixed: whether a driver of other makers' GPUs drives one. unused: GPUs that did no work in either run,
    where others did. fuse: of models and caches, kind and name, those that a file system in user space holds."""

    gpus: int | None = None
    products: frozenset[str] | None = None
    adapters: int | None = None
    cpus: frozenset[str] = frozenset()
    linked: bool | None = None
    idle: bool = False
    elsewhere: bool = False
    contained: bool | None = None
    mixed: bool = False
    unused: frozenset[str] = frozenset()
    fuse: frozenset[tuple[str, str]] = frozenset()


class _Seen(Items, frozen=True):
    """Items, or why there are none: only what is absent is known not to be there."""

    code: str = ""

    @property
    def is_unknown(self) -> bool:
        return self.code not in ("", "absent")


_NOBODY_LOOKED = _Seen(code="not_read")


class _Read(msgspec.Struct, frozen=True):
    """What is looked at of the areas gpu, network, pcie, kernel and cpu."""

    gpus: _Seen = _NOBODY_LOOKED
    rdma: _Seen = _NOBODY_LOOKED
    modules: _Seen = _NOBODY_LOOKED
    processor: Mapping[str, Any] = {}


def machine(a: Subject, b: Subject) -> Machine:
    states = (a.state, b.state)
    gpus = _most(map(_gpus, states))
    idle = _opened_none(states) and (gpus == 0 or (bool(gpus) and not _any_worked(states)))
    makers = (read.processor.get("vendor") for state in states if (read := _section(state, "cpu")))
    return Machine(
        gpus,
        _products(states),
        _most(map(_adapters, states)),
        frozenset(maker for maker in makers if isinstance(maker, str)),
        _is_linked(states),
        idle,
        _opened_none(states) and any(map(_BUSY.fullmatch, chain(*(state.samples for state in states)))) and not idle,
        _contained(states),
        any(map(_is_mixed, states)),
        _unused((*a.earlier, *b.earlier, *states)),
        frozenset(chain(*map(_on_fuse, states))),
    )


def _most(counts: Iterable[int | None]) -> int | None:
    return max((count for count in counts if count is not None), default=None)


def _section(state: Effective, area: str) -> _Read | None:
    return section_of(state, Key(area), _Read)


def _gpus(state: Effective) -> int | None:
    """Those that were sampled, else those that were read; of other makers' as many as are on the bus."""
    sampled = {parse_path(path)[1] for path in state.samples if path.startswith("gpu/")}
    of_nvidia = _section(state, "gpu")
    if sampled or of_nvidia is None:
        return len(sampled) or None
    if of_nvidia.gpus.is_unknown:
        return None
    if of_nvidia.gpus.items or not _has_others(state):
        return len(of_nvidia.gpus.items)
    on_bus = _section(state, "pcie")
    return len(on_bus.gpus.items) if on_bus and not on_bus.gpus.is_unknown else None


def _has_others(state: Effective) -> bool:
    """Whether a module of another maker's GPUs is loaded, or nobody knows."""
    kernel = _section(state, "kernel")
    return kernel is None or kernel.modules.is_unknown or bool(kernel.modules.items.keys() & OF_OTHERS)


def _is_mixed(state: Effective) -> bool:
    on_bus = _section(state, "pcie")
    return on_bus is not None and any(str(gpu.get("driver")) in OF_OTHERS for gpu in on_bus.gpus.items.values())


def _products(states: Sequence[Effective]) -> frozenset[str] | None:
    """None where one may be there that gave no name."""
    read = [section for state in states if (section := _section(state, "gpu"))]
    names = [gpu.get("name") for section in read for gpu in section.gpus.items.values()]
    unnamed = any(section.gpus.is_unknown for section in read) or not all(isinstance(name, str) for name in names)
    if not read or unnamed or (not names and any(map(_may_have_nvidias, states))):
        return None
    return frozenset(map(str, names))


def _may_have_nvidias(state: Effective) -> bool:
    """Whether its driver is loaded or a process opened a device of it, whatever NVML said."""
    kernel = _section(state, "kernel")
    opened = (devices for devices in _opened(state) if devices)
    return bool(kernel and kernel.modules.items.keys() & _DRIVERS) or any(map(_OF_NVIDIA.match, chain(*opened)))


def _adapters(state: Effective) -> int | None:
    read = _section(state, "network")
    return None if read is None or read.rdma.is_unknown else len(read.rdma.items)


def _is_linked(states: Iterable[Effective]) -> bool | None:
    counters = [path for state in states for path in state.samples if path.startswith("gpu/")]
    if any("/nvlink/data_" in path for path in counters):
        return True
    return False if any("/pcie/" in path for path in counters) else None


def _opened_none(states: Iterable[Effective]) -> bool:
    """Whether the devices that each process opened were read, and no GPU is among them."""
    opened = [devices for state in states for devices in _opened(state)]
    return bool(opened) and not any(devices is None or _OF_A_GPU.search(" ".join(devices)) for devices in opened)


class _Container(msgspec.Struct, frozen=True):
    runtime: Any = None
    namespaces: Any = None


def _contained(states: Iterable[Effective]) -> bool | None:
    told = [runtime for state in states for runtime in _runtimes(state)]
    if any(isinstance(runtime, str) and runtime != NO_CONTAINER for runtime in told):
        return True
    return False if all(runtime == NO_CONTAINER for runtime in told) else None


def _runtimes(state: Effective) -> Iterator[Any]:
    """Of each process that is told of; None where that was not read, and of one outside of any that has namespaces of
    its own, as some run times leave no other trace."""
    for target in {key.target for key in state.sections if key.area in ("process", "container")} or {MAIN}:
        read = section_of(state, Key("container", target), _Container)
        is_apart = read is not None and read.runtime == NO_CONTAINER and read.namespaces != []
        yield read.runtime if read and not is_apart else None


class _Mapped(msgspec.Struct, frozen=True):
    devices: Any = None


def _opened(state: Effective) -> Iterator[list[str] | None]:
    """Of each process; None where that could not be read."""
    for read in sections_of(state, "mapped", _Mapped):
        yield read.devices if read and isinstance(read.devices, list) else None


def _unused(states: Sequence[Effective]) -> frozenset[str]:
    """Of a GPU that one start did not sample nobody knows. What is less than busy is not busy: utilisation tells."""
    sampled = [{path: it for path, it in state.samples.items() if _UTILIZATION.fullmatch(path)} for state in states]
    still = [{path for path, it in each.items() if isinstance(it, Distribution) and not it.mean} for each in sampled]
    if any(len(idle) == len(each) for idle, each in zip(still, sampled, strict=True)):
        return frozenset()
    return frozenset(parse_path(path)[1] for path in set.intersection(*still))


class _Storage(msgspec.Struct, frozen=True):
    models: Items = Items()
    caches: Items = Items()


def _on_fuse(state: Effective) -> Iterator[tuple[str, str]]:
    for read in filter(None, sections_of(state, "storage", _Storage)):
        for kind, places in (("models", read.models.items), ("caches", read.caches.items)):
            mounted = ((name, place.get("mount")) for name, place in places.items())
            yield from ((kind, name) for name, mount in mounted if mount and str(mount.get("type")).startswith("fuse"))


def _any_worked(states: Iterable[Effective]) -> bool:
    """Whoever it worked for. What was not sampled may have."""
    busy = [sample for state in states for path, sample in state.samples.items() if _BUSY.fullmatch(path)]
    return not busy or any(not isinstance(sample, Distribution) or sample.mean > 0 for sample in busy)
