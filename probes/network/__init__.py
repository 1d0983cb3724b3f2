"""The area `network`: interfaces, RDMA devices, and what joins them to GPUs and to each other.

Of this network namespace: a container has its own. Interfaces are those that stand for hardware, those above them
(bonds, VLANs, bridges), the loopback, and whatever the default route leaves by, as a container's end of a pair does.
"""

from probes.kit.facts import Gap, Map, Section, Seen, identity, telemetry, then
from probes.kit.host import Host
from probes.kit.probe import Target, probe
from probes.network.bonds import Bond, read_bonds
from probes.network.found import NET, find
from probes.network.interfaces import Interface, read_interface
from probes.network.ipv4 import AllInterfaces, Routes, read_all, read_routes
from probes.network.peer_memory import PeerMemory, read_peer_memory
from probes.network.rdma import Device, read_rdma
from probes.network.stack import Stack, read_stack


class Network(Section):
    interfaces: Seen[Map[Interface]] = identity(
        "A card that is gone or renamed: NCCL_SOCKET_IFNAME then names none, and another one is taken",
        NET,
        follows=("network/routes/default_interface",),
    )
    virtual_interfaces: Seen[int] = telemetry(
        "Pairs of containers and the like: hundreds make each look at all interfaces slow", NET, context=True
    )
    bonds: Seen[Map[Bond]] = identity(
        "Several cards under one name: one flow still uses one of them", f"{NET}/*/bonding"
    )
    ipv4_all: AllInterfaces = AllInterfaces()
    routes: Routes = Routes()
    stack: Stack = Stack()
    rdma: Seen[Map[Device]] = identity(
        "An adapter that is missing here is one that NCCL does without, and says nothing", "/sys/class/infiniband"
    )
    peer_memory: PeerMemory = PeerMemory()


@probe(of="host", budget=2.0)
def network(host: Host, _target: Target) -> Network:
    found = find(host)
    return Network(
        interfaces=then(found, lambda it: Map({name: read_interface(host, it, name) for name in it.kept})),
        virtual_interfaces=then(found, lambda it: len(it.others)),
        bonds=then(found, lambda it: read_bonds(host, it)),
        ipv4_all=read_all(host),
        routes=read_routes(host),
        stack=read_stack(host),
        rdma=_absent_alike(read_rdma(host)),
        peer_memory=read_peer_memory(host),
    )


def _absent_alike(devices: Seen[Map[Device]]) -> Seen[Map[Device]]:
    """A kernel that never loaded ib_core has no such folder: no devices, as where it is empty."""
    return Gap("absent", "no RDMA device") if devices == Map({}) else devices
