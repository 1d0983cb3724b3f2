"""The PCI bus: GPUs, network cards, NVMe drives and NVSwitches, with every bridge between them and the CPU.

What the kernel's files tell, and registers where they may be read. A GPU's link under load, and what it carried, NVML
tells: gpu/*/pcie.
"""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from probes.kit.facts import Gap, Map, Seen, then
from probes.kit.host import Host
from probes.kit.parse import selected
from probes.kit.probe import Target, probe
from probes.pcie import registers as r
from probes.pcie.iommu import Groups, read_iommu
from probes.pcie.reading import AT_THE_OTHER_END, SLOWS_AT_REST, Facts, Reader
from probes.pcie.sections import Bridge, Card, Gpu, Pcie, Sleep
from probes.pcie.tree import (
    DEVICES,
    NODES,
    Identity,
    Place,
    Spot,
    attachment,
    distance,
    is_address,
    is_of_a_gpu,
    links_to,
    read_identity,
    read_place,
)
from probes.pcie.ways import narrowest, usable

POLICY = "/sys/module/pcie_aspm/parameters/policy"


class Bus:
    """What hangs on it: by address what each function is, and of those that matter where."""

    def __init__(self, host: Host, names: tuple[str, ...]) -> None:
        found = {name: read_identity(host, name) for name in names if is_address(name)}
        self.identities = {name: one for name, one in found.items() if isinstance(one, Identity)}
        self.places = dict(self._places(host))
        above = {bridge for place in self.places.values() for bridge in place.bridges}
        self.bridges = sorted(above & self.identities.keys())

    def place_below(self, bridge: str) -> Place:
        """Of a device below it."""
        return next(place for place in self.places.values() if bridge in place.bridges)

    def is_of_a_gpu(self, bridge: str) -> bool:
        below = (self.identities[address] for address, place in self.places.items() if bridge in place.bridges)
        return is_of_a_gpu(self.identities[bridge].vendor, ((one.kind, one.vendor) for one in below))

    def _places(self, host: Host) -> Iterator[tuple[str, Place]]:
        for name, identity in self.identities.items():
            if identity.kind not in ("", "bridge") and not _is_virtual(host, name):
                place = read_place(host, name)
                if isinstance(place, Place):
                    yield name, place


def _is_virtual(host: Host, address: str) -> bool:
    return not isinstance(host.link(f"{DEVICES}/{address}/physfn"), Gap)


@probe(of="host", budget=2.0)
def pcie(host: Host, _target: Target) -> Pcie:
    bus = then(host.names(DEVICES), lambda names: Bus(host, names))
    policy = then(host.line(POLICY), selected)
    if isinstance(bus, Gap):
        return Pcie(aspm_policy=policy, iommu=read_iommu(host, ()), gpus=bus, cards=bus, bridges=bus)
    return _told(host, bus, policy)


def _told(host: Host, bus: Bus, policy: Seen[str]) -> Pcie:
    groups = Groups(host)
    bridges = {address: _bridge(host, bus, address) for address in bus.bridges}
    ends = {address: _endpoint(host, bus, address, groups) for address in bus.places}
    told = {**bridges, **ends}
    with_ways = {
        address: replace(
            ends[address], narrowest=narrowest(links_to(place, address), told), **usable(place, address, told)
        )
        for address, place in bus.places.items()
    }
    spots = {address: Spot(bus.places[address], end.numa_node) for address, end in ends.items()}
    return Pcie(
        aspm_policy=policy,
        iommu=read_iommu(host, (end.iommu_group_type for end in ends.values())),
        gpus=Map(_with_distances(host, with_ways, spots)),
        cards=Map({address: end for address, end in with_ways.items() if isinstance(end, Card)}),
        bridges=Map({
            address: replace(bridge, **usable(bus.place_below(address), address, told))
            for address, bridge in bridges.items()
        }),
    )  # fmt: skip


def _with_distances(host: Host, ends: Mapping[str, Gpu | Card], spots: Mapping[str, Spot]) -> dict[str, Gpu]:
    """To all other GPUs, and to all network cards."""
    online = host.line(NODES)
    far = [address for address, end in ends.items() if isinstance(end, Gpu) or end.kind == "nic"]

    def distances(address: str) -> Map[Seen[str]]:
        return Map({other: distance(spots[address], spots[other], online) for other in far if other != address})

    return {
        address: replace(end, distances=distances(address)) for address, end in ends.items() if isinstance(end, Gpu)
    }


def _bridge(host: Host, bus: Bus, address: str) -> Bridge:
    reader = Reader(host, address)
    identity = bus.identities[address]
    place = bus.place_below(address)
    link = (
        reader.link()
        if place.bridges.index(address) % 2
        else dict.fromkeys(("current_link_speed", "current_link_width"), AT_THE_OTHER_END)
    )
    if bus.is_of_a_gpu(address) and not isinstance(link["current_link_speed"], Gap):
        link = {**link, "current_link_speed": SLOWS_AT_REST}
    return Bridge(
        **_function(identity, place.root, reader),
        **link,
        power=Sleep(runtime_status=reader.runtime_status),
        acs_control=r.acs(reader.registers, r.ACS_CONTROL),
        acs_capability=r.acs(reader.registers, r.ACS_CAPABILITY),
    )


def _function(identity: Identity, root: str, reader: Reader) -> Facts:
    return {
        "pci_id": f"{identity.vendor}:{identity.device}",
        "driver": identity.driver,
        "root_bus": root,
        **reader.capabilities(),
    }


def _endpoint(host: Host, bus: Bus, address: str, groups: Groups) -> Gpu | Card:
    identity, place = bus.identities[address], bus.places[address]
    reader = Reader(host, address)
    group = groups.group_of(address)
    facts: Facts = {
        **_function(identity, place.root, reader),
        **reader.link(),
        **reader.requests(),
        "subsystem_id": identity.subsystem,
        "class_code": identity.code,
        "bridges": place.bridges,
        "attachment": attachment(place, address, bus.identities),
        "numa_node": reader.numa_node(),
        "power": reader.power(),
        "iommu_group": group,
        "iommu_group_type": groups.type_of(group),
    }
    if identity.kind == "gpu":
        bars = reader.bars()
        return Gpu(**facts, bars=bars, resizable_to=_resizable(reader, bars))
    return Card(**facts, kind=identity.kind, sriov_numvfs=reader.number("sriov_numvfs"))


def _resizable(reader: Reader, bars: Seen[tuple[int, ...]]) -> Seen[int]:
    """The most that the largest region could have, where it can be resized at all."""
    largest = then(bars, lambda sizes: sizes.index(max(sizes)))
    sizes = r.bar_sizes(reader.registers)
    return then(largest, lambda bar: then(sizes, lambda found: found.get(bar, r.LACKS)))
