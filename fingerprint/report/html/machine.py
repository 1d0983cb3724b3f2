"""Of a published document what a picture of the machine is drawn from: sockets, and GPUs by how near they are."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from fingerprint.report.leaves import Sections, is_a
from fingerprint.words import quantity

# As `nvidia-smi topo -m` names them, nearest first: the last of them crosses the link between sockets.
CLASSES = ("PSB", "PIX", "PXB", "PHB", "NODE", "SYS")
SWITCHES = ("PSB", "PIX", "PXB")
SOCKETS = (*SWITCHES, "PHB", "NODE")


class Gpu(NamedTuple):
    """address: its PCI address. node: its NUMA node, empty where that is not known. link: `PCIe 5 x16`.

    peers: address of another -> class of the way there. nvlinked: those that NVLink joins it with.
    """

    address: str
    name: str
    node: str
    link: str
    power: str
    nvlinks: int
    peers: Mapping[str, str]
    nvlinked: frozenset[str]


class Machine(NamedTuple):
    """nodes: NUMA node -> its CPUs, `0-47`."""

    gpus: tuple[Gpu, ...]
    nodes: Mapping[str, str]

    @property
    def sockets(self) -> list[list[Gpu]]:
        """GPUs that no way between sockets parts."""
        return _together(self.gpus, lambda one, other: _near(one, other, SOCKETS))

    def classes(self, gpus: Iterable[Gpu], but: tuple[str, ...] = ()) -> list[str]:
        """Those of the ways between these GPUs, nearest first."""
        some = tuple(gpus)
        found = {one.peers.get(other.address, "") for one in some for other in some if one is not other}
        return [word for word in CLASSES if word in found and word not in but]


def switches(gpus: Iterable[Gpu]) -> list[list[Gpu]]:
    """GPUs that meet below the CPU."""
    return _together(gpus, lambda one, other: other.address in one.peers and _near(one, other, SWITCHES))


def _near(one: Gpu, other: Gpu, classes: tuple[str, ...]) -> bool:
    if other.address in one.peers:
        return one.peers[other.address] in classes
    return one.node == other.node


def _together(gpus: Iterable[Gpu], near: Callable[[Gpu, Gpu], bool]) -> list[list[Gpu]]:
    """Each GPU with those that it is near, in order; what is near to one of a group is near to all."""
    groups: list[list[Gpu]] = []
    for gpu in gpus:
        group = next((group for group in groups if near(group[0], gpu)), None)
        if group is None:
            groups.append([gpu])
        else:
            group.append(gpu)
    return groups


def machine(sections: Sections) -> Machine:
    """What was read of it; without GPUs and nodes where nothing was."""
    found = {address: gpu for address, gpu in _items(_facts(sections, "gpu")) if not is_a(gpu, "gap")}
    nodes = _items(_at(_facts(sections, "numa"), "nodes"))
    cpus = {name.removeprefix("node"): _text(_at(node, "cpus")) for name, node in nodes}
    return Machine(tuple(_gpu(address, gpu) for address, gpu in sorted(found.items())), cpus)


def _gpu(address: str, facts: Mapping[str, Any]) -> Gpu:
    peers = dict(_items(_at(facts, "peers")))
    return Gpu(
        address=address,
        name=_text(_at(facts, "name")),
        node=_text(_at(facts, "affinity", "numa_node")),
        link=_link(facts),
        power=_power(_at(facts, "power_limit")),
        nvlinks=_count(_at(facts, "nvlink", "link_count")),
        peers={other: _text(_at(peer, "topology")) for other, peer in peers.items()},
        nvlinked=frozenset(other for other, peer in peers.items() if _at(peer, "p2p_nvlink") == "ok"),
    )


def _link(facts: Mapping[str, Any]) -> str:
    """Its width now, which no idle GPU lowers, and the generation that it can reach."""
    width, most = (_text(_at(facts, "pcie", name)) for name in ("link_width_current", "link_width_max"))
    generation = _text(_at(facts, "pcie", "link_gen_max"))
    if not width:
        return ""
    return f"PCIe {generation} x{width}".replace("  ", " ") + (f" of x{most}" if most not in ("", width) else "")


def _power(value: Any) -> str:
    return quantity(value, "mW") if isinstance(value, (int, float)) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _facts(sections: Sections, name: str) -> Any:
    return sections[name]["facts"] if name in sections else None


def _at(value: Any, *names: str) -> Any:
    """What stands below these names; None where a gap does, or nothing."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) and not is_a(value, "gap") else None
    return None if is_a(value, "gap") else value


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    items = value.get("items") if is_a(value, "map") else None
    return iter(items.items() if isinstance(items, Mapping) else ())


def _text(value: Any) -> str:
    return str(value) if isinstance(value, (str, int)) else ""
