"""NUMA nodes: what is near to what, and what lies where."""

from pathlib import Path

from fingerprint.sections import decoder_of, leaves, part
from probes.kit.facts import Gap, Map
from probes.kit.host import Host
from probes.kit.probe import HOST
from probes.numa import Node, Numa, numa
from tests.probes.tree import tree

NODE = "/sys/devices/system/node"


def node(number: int, cpus: str, kib: int, distance: str, blocks: int = 0) -> dict[str, str]:
    folder = f"{NODE}/node{number}"
    lines = "".join(
        f"Node {number} {name}: {value} kB\n"
        for name, value in (("MemTotal", kib), ("MemFree", kib // 2), ("FilePages", 7), ("AnonPages", 5))
    )
    return {
        f"{folder}/cpulist": f"{cpus}\n",
        f"{folder}/distance": f"{distance}\n",
        f"{folder}/meminfo": f"{lines}Node {number} HugePages_Total: 0\n",
        f"{folder}/numastat": "numa_hit 9\nnuma_miss 1\nnuma_foreign 2\ninterleave_hit 3\nlocal_node 4\nother_node 6\n",
        **{f"{folder}/memory{block}/state": "online\n" for block in range(blocks)},
    }


def two_sockets_and_a_gpu() -> dict[str, str]:
    return {
        f"{NODE}/online": "0-2\n",
        f"{NODE}/has_cpu": "0-1\n",
        "/sys/devices/system/memory/block_size_bytes": "8000000\n",
        **node(0, "0-3,8-11", 1 << 20, "10 21 40", blocks=8),
        **node(1, "4-7,12-15", 1 << 20, "21 10 40", blocks=4),
        **node(2, "", 0, "40 40 10"),
    }


def nodes(found: Numa) -> dict[str, Node]:
    assert isinstance(found.nodes, Map)
    return dict(found.nodes.items)


def test_nodes_have_their_cpus_their_distances_and_the_size_of_their_memory(tmp_path: Path) -> None:
    found = numa.read(tree(tmp_path, two_sockets_and_a_gpu()), HOST)
    assert (found.online, found.has_cpu) == ("0-2", "0-1")
    assert {name: (n.cpus, n.distance, n.size) for name, n in nodes(found).items()} == {
        "node0": ("0-3,8-11", (10, 21, 40), 1024),
        "node1": ("4-7,12-15", (21, 10, 40), 512),
        "node2": ("", (40, 40, 10), 0),
    }


def test_pages_and_counters_are_told_for_each_node(tmp_path: Path) -> None:
    one = nodes(numa.read(tree(tmp_path, two_sockets_and_a_gpu()), HOST))["node1"]
    assert (one.total, one.free, one.file_pages, one.anon_pages) == (1 << 20, 1 << 19, 7, 5)
    assert (one.numa_hit, one.numa_miss, one.numa_foreign, one.other_node) == (9, 1, 2, 6)


def test_a_kernel_without_memory_blocks_does_not_tell_a_nodes_size(tmp_path: Path) -> None:
    size = nodes(numa.read(tree(tmp_path, node(0, "0", 4, "10")), HOST))["node0"].size
    assert isinstance(size, Gap)


def test_what_makes_no_sense_fails_by_itself(tmp_path: Path) -> None:
    files = {
        **node(0, "0-1", 4, "10"),
        f"{NODE}/node0/distance": "near\n",
        f"{NODE}/node0/meminfo": "Node 0 MemTotal: 4 MB\n",
    }
    one = nodes(numa.read(tree(tmp_path, files), HOST))["node0"]
    assert isinstance(one.distance, Gap)
    assert one.distance.code == "failed"
    assert one.cpus == "0-1"
    assert isinstance(one.total, Gap)


def test_a_node_whose_pages_are_handed_out_late_is_no_change(tmp_path: Path) -> None:
    early = numa.read(tree(tmp_path / "early", two_sockets_and_a_gpu()), HOST)
    late = numa.read(
        tree(tmp_path / "late", {**two_sockets_and_a_gpu(), **node(0, "0-3,8-11", 1 << 21, "10 21 40", 8)}), HOST
    )
    assert part(early, lasting=True) == part(late, lasting=True)
    assert part(early, lasting=False) != part(late, lasting=False)


def test_this_machine_loads_as_it_was_read() -> None:
    import msgspec

    found = numa.read(Host(), HOST)
    assert decoder_of(Numa)(msgspec.json.encode(found)) == found
    assert any(leaf.names[-1] == "cpus" and isinstance(leaf.value, str) for leaf in leaves(found))
