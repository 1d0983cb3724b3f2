"""Who is on a GPU, and what memory nobody owns. Context for people, never compared: processes come and go."""

from collections.abc import Iterator, Mapping
from typing import Any

from probes.gpu.asking import Device
from probes.gpu.machine import Machine
from probes.kit.cgroups import memberships
from probes.kit.facts import Gap, Map, Section, Seen, seen_or, telemetry, then
from probes.kit.host import Host

RUNNING: Mapping[str, str] = {
    "compute": "nvmlDeviceGetComputeRunningProcesses_v3",
    "graphics": "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "mps": "nvmlDeviceGetMPSComputeRunningProcesses_v3",
}
FOREIGN = Gap("not_observable", "NVML tells pids of the host, which mean others in this container")
ID_DIGITS = 64  # of a container's id, in the name of its cgroup
MEMORY = "nvmlDeviceGetMemoryInfo"


class Process(Section):
    """Keyed by the pid that NVML tells."""

    used_memory: Seen[int] = telemetry(
        "A neighbour's memory is missing for the key-value cache", "usedGpuMemory of the running processes", "B",
        context=True,
    )  # fmt: skip
    type: Seen[str] = telemetry("compute, graphics or mps; all that apply", "the list it stands in", context=True)
    name: Seen[str] = telemetry("What runs beside the server", "/proc/PID/comm", context=True)
    owner: Seen[int] = telemetry("Whose it is", "/proc/PID, uid", context=True)
    container: Seen[str] = telemetry("Which container holds it", "/proc/PID/cgroup", context=True)


def process_facts(device: Device, machine: Machine) -> Mapping[str, Any]:
    """The facts `processes` and `unowned_memory` of a Gpu."""
    listed = _listed(device)
    return {
        "processes": then(listed, lambda rows: Map({pid: _process(device.host, machine, pid, rows) for pid in rows})),
        "unowned_memory": _unowned(device, machine, listed),
    }


def _listed(device: Device) -> Seen[Mapping[str, Mapping[str, Any]]]:
    """Pid -> type -> memory, of the lists that NVML gave; the gap of the first where it gave none."""
    lists = {kind: device.answer(call) for kind, call in RUNNING.items()}
    if isinstance(lists["compute"], Gap):
        return lists["compute"]
    rows: dict[str, dict[str, Any]] = {}
    for kind, seen in lists.items():
        for row in seen_or(seen, ()):
            rows.setdefault(str(row["pid"]), {})[kind] = row["usedGpuMemory"]
    return rows


def _process(host: Host, machine: Machine, pid: str, rows: Mapping[str, Mapping[str, Any]]) -> Process:
    told = rows[pid]
    used, kinds = _memory(told), "+".join(told)
    if not machine.host_pids:
        return Process(used_memory=used, type=kinds, name=FOREIGN, owner=FOREIGN, container=FOREIGN)
    return Process(
        used_memory=used,
        type=kinds,
        name=host.line(f"/proc/{pid}/comm"),
        owner=then(host.stat(f"/proc/{pid}"), lambda stat: stat.uid),
        container=then(memberships(host, int(pid)), _container),
    )


def _memory(told: Mapping[str, Any]) -> Seen[int]:
    """The most that one list tells: a process that computes and draws stands in two of them with one figure."""
    known = [used for used in told.values() if isinstance(used, int)]
    return max(known) if known else Gap("unsupported")


def _container(groups: Mapping[str, str]) -> Seen[str]:
    """The first 12 digits of its id, as runtimes print it."""
    ids = (found for path in groups.values() for found in _ids(path))
    return next(ids, Gap("absent", "in no container"))


def _ids(path: str) -> Iterator[str]:
    """`/docker/ID`, `/system.slice/docker-ID.scope`, `/kubepods/.../cri-containerd-ID.scope`."""
    for name in path.split("/"):
        last = name.removesuffix(".scope").rpartition("-")[2]
        if len(last) == ID_DIGITS and not set(last) - set("0123456789abcdef"):
            yield last[:12]


def _unowned(device: Device, machine: Machine, listed: Seen[Mapping[str, Mapping[str, Any]]]) -> Seen[int]:
    if machine.contained:
        return Gap("not_observable", "a container may not be told of the host's other processes")
    if device.answer("nvmlDeviceGetMigMode.0") == 1:
        return Gap("not_observable", "under MIG the GPU's own list holds no processes of its instances")
    return then(listed, lambda rows: _rest(device, [_memory(told) for told in rows.values()]))


def _rest(device: Device, used: list[Seen[int]]) -> Seen[int]:
    """Version 1 of the struct, which has no field for it, counts what the driver reserves as used."""
    known = [memory for memory in used if not isinstance(memory, Gap)]
    total: Seen[int] = device.answer(f"{MEMORY}.used")
    if isinstance(total, Gap):
        return total
    if len(known) < len(used):
        return Gap("not_observable", "the memory of a process is not told")
    if isinstance(device.answer(f"{MEMORY}.reserved"), Gap):
        return Gap("not_observable", "this driver counts what it reserves as used")
    return max(0, total - sum(known))
