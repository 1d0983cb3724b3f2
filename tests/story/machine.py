"""A host with 8 RTX PRO 6000 over PCIe: a recorded guest, grown to two sockets, with a fake NVML's GPUs."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fingerprint.testing import Answers, load
from probes.kit.answers import Stat
from probes.kit.facts import Gap, Section, Seen
from probes.kit.flags import flags
from probes.kit.host import Host
from probes.kit.probe import HOST, discover
from probes.kit.redact import Redactor
from probes.process import Process
from tests.nvml.profiles import host_of, slots
from tests.nvml.scenario import rows_of

R = TypeVar("R")

PRODUCT, COUNT, DRIVER = "RTX PRO 6000", 8, "580.65.06"
SLOTS = slots(COUNT)
GUEST = Path(__file__).parent.parent / "hosts" / "epyc-2vcpu-firecracker-linux6.18-debian12"
CPUS_OF_A_NODE, NODE_KIB = 48, 768 << 20
CPU, NODE = "/sys/devices/system/cpu", "/sys/devices/system/node"
NODES = (f"0-{CPUS_OF_A_NODE - 1}", f"{CPUS_OF_A_NODE}-{2 * CPUS_OF_A_NODE - 1}")
EVERY = f"0-{2 * CPUS_OF_A_NODE - 1}"
AREAS = ("cpu", "driver", "gpu", "kernel", "memory", "numa")
MODULE = (
    f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {DRIVER}  Release Build  (builder@host)\n"
    "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"
)
ABSENT, UNSUPPORTED = Gap("absent", "No such file or directory"), Gap("unsupported", "Not Supported")


class MadeUp(Host):
    """Answers what was staged; nothing else is there, and no other call of NVML is supported."""

    def __init__(self, answers: Answers) -> None:
        super().__init__(redactor=Redactor(b"a key that everybody knows"))
        self._staged = answers

    def _ask(self, call: str, key: str, live: Callable[[], Seen[R]]) -> Seen[R]:
        answer: Seen[R] = self._staged.get((call, key), UNSUPPORTED if call == "nvml" else ABSENT)
        return answer


def sections(watts: int, **changed: Any) -> dict[str, Section]:
    """What the probes make of the host at rest, by area. watts: the power limit of all GPUs. changed: answers, by path
    with `/` as `__`."""
    answers: dict[Any, Any] = {**_grown(), **_driver(), **_gpus(watts), **changed}
    host = MadeUp(answers)
    return {area: probe.read(host, HOST) for area, probe in discover(AREAS).items()}


def _gpus(watts: int) -> Answers:
    scenario = host_of(PRODUCT, COUNT, DRIVER)
    for device in scenario["devices"].values():
        device["nvmlDeviceGetPowerManagementLimit"] = device["nvmlDeviceGetEnforcedPowerLimit"] = 1000 * watts
        device["nvmlDeviceGetFieldValues(189)"] = device["nvmlDeviceGetFieldValues(192)"] = 1000 * watts
    return {(call, key): answer for call, key, answer in rows_of(scenario)}


def _driver() -> Answers:
    library = {f"lib{name}.so.1": f"lib{name}.so.{DRIVER}" for name in ("cuda", "nvidia-ml")}
    there = Stat(device=5, inode=600, size=0, mtime_ns=0, uid=0, mode=0o20666)
    return {
        ("text", "/proc/driver/nvidia/version"): MODULE,
        ("stat", "/proc/driver/nvidia/version"): there,
        ("stat", "/dev/nvidiactl"): there,
        ("text", "/sys/module/nvidia/version"): f"{DRIVER}\n",
        ("names", "/sys/bus/pci/drivers/nvidia"): tuple(SLOTS),
        **{("link", f"/usr/lib/x86_64-linux-gnu/{name}"): target for name, target in library.items()},
        **{("text", f"/sys/bus/pci/devices/{slot}/power/runtime_status"): "active\n" for slot in SLOTS},
    }


def _grown() -> Answers:
    """The recorded guest has 2 CPUs and 24 GB: the same system on 96 CPUs and two memory nodes of 768 GiB."""
    guest = load(GUEST)
    grown = dict(guest)
    for (call, key), answer in guest.items():
        if f"{CPU}/cpu1/" in key:
            for number in range(1, 2 * CPUS_OF_A_NODE):
                grown[call, key.replace("/cpu1/", f"/cpu{number}/")] = answer
        if f"{NODE}/node0" in key:
            grown[call, key.replace("/node0", "/node1")] = _renamed(answer, "Node 0", "Node 1")
    return {**grown, **_cpus(guest), **_nodes(guest)}


def _cpus(guest: Answers) -> Answers:
    others = [name for name in guest["names", CPU] if not re.fullmatch(r"cpu\d+", name)]
    numbers = range(2 * CPUS_OF_A_NODE)
    block = guest["text", "/proc/cpuinfo"].partition("\n\n")[0]
    sets = {f"{CPU}/{name}": f"{EVERY}\n" for name in ("online", "possible", "present")}
    own = {f"{CPU}/cpu{number}/topology/thread_siblings_list": f"{number}\n" for number in numbers}
    package = {f"{CPU}/cpu{number}/topology/physical_package_id": f"{_node_of(number)}\n" for number in numbers}
    shared = {f"{CPU}/cpu{number}/topology/core_siblings_list": f"{NODES[_node_of(number)]}\n" for number in numbers}
    return {
        ("names", CPU): tuple(sorted([*others, *(f"cpu{number}" for number in numbers)])),
        ("text", "/proc/cpuinfo"): "\n\n".join(_processor(block, number) for number in numbers) + "\n\n",
        ("text", f"{CPU}/cpu0/cache/index3/shared_cpu_list"): f"{NODES[0]}\n",
        **{("text", path): text for path, text in {**sets, **own, **package, **shared}.items()},
    }


def _node_of(cpu: int) -> int:
    return cpu // CPUS_OF_A_NODE


def _processor(block: str, number: int) -> str:
    told = {"processor": number, "physical id": _node_of(number), "core id": number % CPUS_OF_A_NODE}
    told |= {"siblings": CPUS_OF_A_NODE, "cpu cores": CPUS_OF_A_NODE}
    for name, value in told.items():
        block = re.sub(rf"^({name}\s*): .*$", rf"\1: {value}", block, flags=re.MULTILINE)
    return block


def _nodes(guest: Answers) -> Answers:
    names = tuple(sorted({*guest["names", NODE], "node1"}))
    meminfo = re.sub(r"^(MemTotal:\s+)\d+", rf"\g<1>{2 * NODE_KIB}", guest["text", "/proc/meminfo"], flags=re.MULTILINE)
    lists = dict.fromkeys(("has_cpu", "has_memory", "has_normal_memory", "online", "possible"), "0-1\n")
    texts: Mapping[str, str] = {
        "/proc/meminfo": meminfo,
        "/proc/sys/kernel/hostname": "gpu-07\n",
        **{f"{NODE}/{name}": text for name, text in lists.items()},
        **dict(_of_nodes(guest["text", f"{NODE}/node0/meminfo"])),
    }
    return {("names", NODE): names, **{("text", path): text for path, text in texts.items()}}


def _of_nodes(meminfo: str) -> Iterator[tuple[str, str]]:
    told = re.sub(r"(MemTotal:\s+)\d+", rf"\g<1>{NODE_KIB}", meminfo)
    for node, cpus in enumerate(NODES):
        yield f"{NODE}/node{node}/cpulist", f"{cpus}\n"
        yield f"{NODE}/node{node}/distance", "10 21\n" if node == 0 else "21 10\n"
        yield f"{NODE}/node{node}/meminfo", told.replace("Node 0", f"Node {node}")


def _renamed(answer: Any, old: str, new: str) -> Any:
    return answer.replace(old, new) if isinstance(answer, str) else answer


def process(program: str, arguments: tuple[str, ...], env: Mapping[str, str]) -> Process:
    """One process of the run, which may use all CPUs and memory nodes; none of its limits is in the way."""
    free = ["unlimited", "unlimited"]
    absent = {"$": "gap", "code": "absent"}
    line = flags(arguments)
    told = {
        "program": {"path": program, "sha256": absent},
        "interpreter": dict.fromkeys(("environment", "path", "sha256", "version", "options"), absent),
        "argv0": program,
        "flags": {"$": "map", "items": line.flags.items},
        "operands": line.operands,
        "cwd": "/srv/bench",
        "git": dict.fromkeys(("root", "commit", "branch", "dirty"), absent),
        "env": {"$": "map", "items": dict(env)},
        "activation": {"$": "map", "items": {"PATH": "/opt/sglang/bin:/usr/bin:/bin"}},
        "affinity": EVERY,
        "mems_allowed": "0-1",
        "limits": {"$": "map", "items": dict.fromkeys(("as", "memlock", "nofile", "nproc", "stack"), free)},
        "uid": 1000,
        "gid": 1000,
        "nice": 0,
        "autogroup_nice": 0,
        "policy": "other",
        "rt_priority": 0,
        "io_priority": "none/0",
        "oom_score_adj": 0,
        "timer_slack": 50000,
        "thp_enabled": True,
        "no_new_privs": False,
        "seccomp": "off",
        "personality": "00000000",
        "speculation_store_bypass": "vulnerable",
        "speculation_indirect_branch": "always enabled",
        "cgroup": {
            "path": {"$": "map", "items": {"unified": "/system.slice/bench.service"}},
            **dict.fromkeys(("cpu_max", "memory_max", "memory_high", "memory_swap_max", "pids_max"), "max"),
            "cpu_weight": [],
            "cpuset_cpus": EVERY,
            "cpuset_mems": "0-1",
        },
    }
    return msgspec.convert(told, Process)
