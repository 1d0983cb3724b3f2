"""Explicit huge pages (hugetlbfs) by size and node: /sys/kernel/mm/hugepages, /sys/devices/system/node/node*/hugepages.

The kernel's `nr_hugepages` counts surplus pages too, which come and go with demand (mm/hugetlb.c). What
somebody set is the difference, so that is the lasting fact.
"""

from probes.kit.facts import Gap, Map, Section, Seen, config, telemetry, then
from probes.kit.host import Host

POOLS = "/sys/kernel/mm/hugepages"
NODES = "/sys/devices/system/node"
_POOL = f"{POOLS}/hugepages-*"
_NODE = f"{NODES}/node*/hugepages/hugepages-*"
_TRIES = 10  # at 300 huge pages faulted and freed a second, 3 were too few in 2 of 100 readings


class NodePool(Section):
    nr_hugepages: Seen[int] = config(
        "Huge pages on this node: a rank bound to a node without any gets remote or small pages",
        f"{_NODE}/nr_hugepages less surplus_hugepages",
        "pages",
    )
    free_hugepages: Seen[int] = telemetry(
        "What is left on this node: 0 explains a fallback on a host whose other nodes have plenty",
        f"{_NODE}/free_hugepages",
        "pages",
    )
    surplus_hugepages: Seen[int] = telemetry(
        "Pages this node allocated on demand above its pool, if it found any", f"{_NODE}/surplus_hugepages", "pages"
    )


class Pool(Section):
    """One size of huge page, over all nodes."""

    nr_hugepages: Seen[int] = config(
        "Memory set aside for huge pages: missing everywhere else, and had at once by who asks for it",
        f"{_POOL}/nr_hugepages less surplus_hugepages",
        "pages",
        follows=("memory/hugepages/*/nodes/*/nr_hugepages",),
        restore=f"echo {{value}} > {POOLS}/hugepages-{{key}}/nr_hugepages",
    )
    nr_overcommit_hugepages: Seen[int] = config(
        "How many pages may be allocated on demand beyond the pool: whether an exhausted pool fails or stalls",
        f"{_POOL}/nr_overcommit_hugepages",
        "pages",
        restore=f"echo {{value}} > {POOLS}/hugepages-{{key}}/nr_overcommit_hugepages",
    )
    free_hugepages: Seen[int] = telemetry(
        "Pages of the pool that nobody has touched: memory idle while the page cache starves",
        f"{_POOL}/free_hugepages",
        "pages",
    )
    resv_hugepages: Seen[int] = telemetry(
        "Pages promised to mappings and not yet touched: free ones that cannot be had",
        f"{_POOL}/resv_hugepages",
        "pages",
    )
    surplus_hugepages: Seen[int] = telemetry(
        "Pages in use beyond the pool: demand outgrew what was set", f"{_POOL}/surplus_hugepages", "pages"
    )
    nodes: Seen[Map[NodePool]] = config(
        "The nodes that hold pools of this size", f"{NODES}/node*/hugepages", context=True
    )


def read_hugepages(host: Host) -> Seen[Map[Pool]]:
    nodes = then(host.names(NODES), lambda names: tuple(n for n in names if n[:4] == "node" and n[4:].isdigit()))
    return then(host.names(POOLS), lambda names: Map({_size(name): _pool(host, name, nodes) for name in names}))


def _size(name: str) -> str:
    return name.removeprefix("hugepages-")


def _pool(host: Host, name: str, nodes: Seen[tuple[str, ...]]) -> Pool:
    folder = f"{POOLS}/{name}"
    persistent, surplus = _counts(host, folder)
    return Pool(
        nr_hugepages=persistent,
        nr_overcommit_hugepages=host.number(f"{folder}/nr_overcommit_hugepages"),
        free_hugepages=host.number(f"{folder}/free_hugepages"),
        resv_hugepages=host.number(f"{folder}/resv_hugepages"),
        surplus_hugepages=surplus,
        nodes=then(nodes, lambda found: Map({n: _node_pool(host, f"{NODES}/{n}/hugepages/{name}") for n in found})),
    )


def _node_pool(host: Host, folder: str) -> NodePool:
    persistent, surplus = _counts(host, folder)
    return NodePool(
        nr_hugepages=persistent,
        free_hugepages=host.number(f"{folder}/free_hugepages"),
        surplus_hugepages=surplus,
    )


def _counts(host: Host, folder: str) -> tuple[Seen[int], Seen[int]]:
    """Persistent and surplus pages. The kernel tells the sum in one file and the surplus in another: what came or
    went between the two reads would look like a setting, so the surplus has to be the same before and after."""
    for _ in range(_TRIES):
        surplus, total = (host.number(f"{folder}/{name}_hugepages") for name in ("surplus", "nr"))
        if host.number(f"{folder}/surplus_hugepages") == surplus:
            return _less(total, surplus), surplus
    return Gap("failed", "surplus pages came or went at each reading"), surplus


def _less(total: Seen[int], surplus: Seen[int]) -> Seen[int]:
    return then(total, lambda pages: then(surplus, lambda extra: pages - extra))
