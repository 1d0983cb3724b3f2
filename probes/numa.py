"""Which memory is near to which CPUs, and what lies on each node.

Balancing stands with its neighbours: kernel/sysctl/kernel/numa_balancing, kernel/sched/numa_balancing, and
the counters memory/vmstat/numa_*.
"""

from collections.abc import Mapping

from probes.kit.facts import Gap, Map, Section, Seen, config, counter, identity, telemetry, then
from probes.kit.host import Host
from probes.kit.knobs import read_each
from probes.kit.parse import as_cpu_list, cpu_list, kib
from probes.kit.probe import Target, probe

NODES = "/sys/devices/system/node"
BLOCK = "/sys/devices/system/memory/block_size_bytes"
WEIGHTS = "/sys/kernel/mm/mempolicy/weighted_interleave"
_MIB = 1 << 20


class Node(Section):
    """One node. A GPU's or CXL memory is a node without CPUs; a node without memory has only CPUs."""

    cpus: Seen[str] = identity(
        "Threads elsewhere reach this node's memory over the link between sockets",
        f"{NODES}/node*/cpulist",
        follows=("cpu/smt/control", "cpu/online"),
    )
    size: Seen[int] = identity(
        "A module that is gone or was put into another slot leaves one socket to borrow memory from the other",
        f"{NODES}/node*/memory*, {BLOCK}",
        "MiB",
        follows=("memory/hotplug/**",),
    )
    distance: Seen[tuple[int, ...]] = identity(
        "Relative cost of reaching each node from here, 10 being local; firmware settings (NPS, SNC) rewrite it",
        f"{NODES}/node*/distance",
    )
    interleave_weight: Seen[int] = config(
        "Share of this node where pages are spread by weight: bandwidth of fast and slow memory together",
        f"{WEIGHTS}/node*",
        restore=f"echo {{value}} > {WEIGHTS}/{{key}}",
    )
    read_bandwidth: Seen[int] = identity(
        "What firmware says this memory delivers to its nearest CPUs: tells slow memory from fast",
        f"{NODES}/node*/access0/initiators/read_bandwidth",
        "MiB/s",
    )
    read_latency: Seen[int] = identity(
        "What firmware says a first byte takes from the nearest CPUs",
        f"{NODES}/node*/access0/initiators/read_latency",
        "ns",
    )
    total: Seen[int] = telemetry(
        "Usable memory as counted now; some hypervisors hand it out late", f"{NODES}/node*/meminfo MemTotal", "kB"
    )
    free: Seen[int] = telemetry(
        "A full node sends new pages to another one, remote for ever", f"{NODES}/node*/meminfo MemFree", "kB"
    )
    file_pages: Seen[int] = telemetry(
        "Page cache that an earlier run left: weights cached on the wrong node are read across sockets",
        f"{NODES}/node*/meminfo FilePages",
        "kB",
    )
    anon_pages: Seen[int] = telemetry(
        "Where the memory of processes really lies", f"{NODES}/node*/meminfo AnonPages", "kB"
    )
    numa_hit: Seen[int] = counter(
        "Pages that came from the node they were wanted from", f"{NODES}/node*/numastat", "pages"
    )
    numa_miss: Seen[int] = counter(
        "Pages placed here although another node was wanted: that one was full", f"{NODES}/node*/numastat", "pages"
    )
    numa_foreign: Seen[int] = counter(
        "Pages wanted here and placed elsewhere: this node ran out", f"{NODES}/node*/numastat", "pages"
    )
    other_node: Seen[int] = counter(
        "Pages placed here for threads of another node: each access crosses the link",
        f"{NODES}/node*/numastat",
        "pages",
    )


class Numa(Section):
    possible: Seen[str] = identity("Room for nodes that may be added while running", f"{NODES}/possible", context=True)
    online: Seen[str] = identity(
        "Firmware settings (NPS, SNC, interleaving) split a socket into more nodes, or make all one",
        f"{NODES}/online",
    )
    has_cpu: Seen[str] = identity("A node that only holds memory is CXL or a GPU's own", f"{NODES}/has_cpu")
    has_memory: Seen[str] = identity(
        "Threads on a node without memory work remotely from the first page on", f"{NODES}/has_memory"
    )
    nodes: Seen[Map[Node]] = identity("The nodes that this kernel was told of", f"{NODES}/node*")


@probe(of="host")
def numa(host: Host, _target: Target) -> Numa:
    return read_each(Numa, host.line, nodes=then(host.names(NODES), lambda names: _nodes(host, names)))


def _nodes(host: Host, names: tuple[str, ...]) -> Map[Node]:
    found = (name for name in names if name[:4] == "node" and name[4:].isdecimal())
    return Map({name: _node(host, name) for name in found})


def _node(host: Host, name: str) -> Node:
    folder = f"{NODES}/{name}"
    near = f"{folder}/access0/initiators"
    meminfo = then(host.text(f"{folder}/meminfo"), _meminfo)
    numastat = then(host.text(f"{folder}/numastat"), _numastat)
    return Node(
        cpus=then(host.line(f"{folder}/cpulist"), lambda text: as_cpu_list(cpu_list(text))),
        size=_size(host, folder),
        distance=then(host.line(f"{folder}/distance"), lambda line: tuple(map(int, line.split()))),
        interleave_weight=host.number(f"{WEIGHTS}/{name}"),
        read_bandwidth=host.number(f"{near}/read_bandwidth"),
        read_latency=host.number(f"{near}/read_latency"),
        total=_of(meminfo, "MemTotal"),
        free=_of(meminfo, "MemFree"),
        file_pages=_of(meminfo, "FilePages"),
        anon_pages=_of(meminfo, "AnonPages"),
        numa_hit=_of(numastat, "numa_hit"),
        numa_miss=_of(numastat, "numa_miss"),
        numa_foreign=_of(numastat, "numa_foreign"),
        other_node=_of(numastat, "other_node"),
    )


def _size(host: Host, folder: str) -> Seen[int]:
    """From the memory blocks, which are there whole even where a hypervisor hands pages out late."""
    block = then(host.line(BLOCK), lambda text: int(text, 16))
    return then(block, lambda size: then(host.names(folder), lambda names: _blocks(names) * size // _MIB))


def _blocks(names: tuple[str, ...]) -> int:
    return sum(name[:6] == "memory" and name[6:].isdecimal() for name in names)


def _meminfo(text: str) -> Mapping[str, int]:
    """`Node 0 MemTotal:  8611612 kB`; the counts of huge pages, which have no unit, are passed over."""
    pairs = (line.split(maxsplit=2)[2].partition(":") for line in text.splitlines() if line.endswith("kB"))
    return {name: kib(value) for name, _, value in pairs}


def _numastat(text: str) -> Mapping[str, int]:
    return {name: int(value) for name, value in (line.split() for line in text.splitlines())}


def _of(table: Seen[Mapping[str, int]], name: str) -> Seen[int]:
    return then(table, lambda found: found.get(name, Gap("unsupported", f"this kernel does not tell {name}")))
