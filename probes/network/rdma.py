"""RDMA devices: what NCCL, UCX and NVSHMEM talk to other hosts with, past the kernel's sockets."""

from probes.kit.facts import Map, Redacted, Section, Seen, config, identity, then
from probes.kit.host import Host
from probes.kit.knobs import read_each
from probes.network.ports import Port, read_port, word
from probes.network.slot import numa_node_of, pci_address_of

CLASS = "/sys/class/infiniband"
_AT = f"{CLASS}/*"


class Device(Section):
    """Paths: network/rdma/mlx5_0/fw_ver, network/rdma/mlx5_0/ports/1/rate ..."""

    node_type: Seen[str] = identity(
        "CA speaks InfiniBand or RoCE, RNIC iWARP, and others their vendor's own", f"{_AT}/node_type"
    )
    hca_type: Seen[str] = identity("Which chip: its rate, and what it does in hardware", f"{_AT}/hca_type")
    board_id: Seen[str] = identity("Which board: the same chip is sold with fewer lanes and ports", f"{_AT}/board_id")
    hw_rev: Seen[str] = identity("The chip's revision", f"{_AT}/hw_rev", context=True)
    fw_ver: Seen[str] = config(
        "Congestion control, adaptive routing and relaxed ordering are firmware's", f"{_AT}/fw_ver"
    )
    node_guid: Seen[Redacted] = identity("Which unit it is", f"{_AT}/node_guid", private=True, context=True)
    sys_image_guid: Seen[Redacted] = identity(
        "Which board it is on: ports of one board share its lanes", f"{_AT}/sys_image_guid", private=True, context=True
    )
    pci_address: Seen[str] = identity(
        "The adapter's slot, and thus which GPUs it is near to", f"{_AT}/device", context=True
    )
    numa_node: Seen[int] = identity(
        "An adapter on the other socket is reached over the sockets' link, by GPUs as well",
        "/sys/bus/pci/devices/*/numa_node of the adapter",
    )
    ports: Seen[Map[Port]] = identity("The ports that it has", f"{_AT}/ports")


def read_rdma(host: Host) -> Seen[Map[Device]]:
    return then(host.names(CLASS), lambda names: Map({name: _device(host, name) for name in names}))


def _device(host: Host, name: str) -> Device:
    folder = f"{CLASS}/{name}"
    slot = pci_address_of(host, folder)
    return read_each(
        Device,
        lambda source: host.line(f"{folder}/{source.rpartition('/')[2]}"),
        node_type=then(host.line(f"{folder}/node_type"), word),
        node_guid=then(host.line(f"{folder}/node_guid"), host.redactor.redacted),
        sys_image_guid=then(host.line(f"{folder}/sys_image_guid"), host.redactor.redacted),
        pci_address=slot,
        numa_node=numa_node_of(host, slot),
        ports=then(
            host.names(f"{folder}/ports"), lambda ports: Map({port: read_port(host, folder, port) for port in ports})
        ),
    )
