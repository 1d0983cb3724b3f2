"""A made-up host: two cards joined to a bond under a bridge, a management card, and the pairs of two containers."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fingerprint.testing import Replay
from probes.kit.facts import Gap, Map
from probes.kit.host import Host
from probes.network import Network
from tests.probes.tree import read, tree

NET, RDMA, CONF = "/sys/class/net", "/sys/class/infiniband", "/proc/sys/net/ipv4/conf"
ROUTE = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
GID = "fe80:0000:0000:0000:0000:00ff:fe00:{:04x}"
NO_GID = ":".join(["0000"] * 8)
SLOTS = {"enp1": "0000:17:00.0", "enp2": "0000:17:00.1", "mgmt": "0000:03:00.0"}


def card(name: str, **files: str) -> dict[str, str]:
    own = {
        "type": "1", "operstate": "up", "carrier": "1", "carrier_changes": "3", "speed": "200000", "duplex": "full",
        "mtu": "4200", "tx_queue_len": "1000", "threaded": "0", "gro_flush_timeout": "0", "napi_defer_hard_irqs": "0",
        "uevent": f"INTERFACE={name}\nIFINDEX=2", "statistics/rx_bytes": "12", "statistics/rx_missed_errors": "5",
    }  # fmt: skip
    parameters = {f"{CONF}/{name}/{knob}": "1\n" for knob in ("rp_filter", "arp_ignore", "arp_announce")}
    return {**{f"{NET}/{name}/{file}": f"{text}\n" for file, text in {**own, **files}.items()}, **parameters}


def adapter(name: str) -> dict[str, str]:
    port = {
        "link_layer": "Ethernet", "state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "200 Gb/sec (4X HDR)",
        "lid": "0x0", "sm_lid": "0x0", "lid_mask_count": "0", "cap_mask": "0x04010000",
        "pkeys/0": "0xffff", "pkeys/1": "0x0000",
        "gids/0": GID.format(1), "gids/1": GID.format(1), "gids/2": NO_GID,
        "gid_attrs/types/0": "IB/RoCE v1", "gid_attrs/types/1": "RoCE v2",
        "gid_attrs/ndevs/0": "enp1", "gid_attrs/ndevs/1": "enp1",
        "counters/port_rcv_data": "1000", "counters/symbol_error": "2", "counters/port_xmit_wait": "7",
        "hw_counters/out_of_sequence": "4", "hw_counters/np_cnp_sent": "6", "hw_counters/rx_read_requests": "8",
        "hw_counters/req_cqe_flush_error": "9", "hw_counters/lifespan": "10",
    }  # fmt: skip
    own = {
        "node_type": "1: CA", "hca_type": "MT4129", "board_id": "MT_0000000838", "hw_rev": "0", "fw_ver": "28.41.1000",
        "node_guid": "a088:c203:0012:3456", "sys_image_guid": "a088:c203:0012:3456",
        "tc/1/traffic_class": "Global tclass=106",
    }  # fmt: skip
    files = {**own, **{f"ports/1/{file}": text for file, text in port.items()}}
    return {f"{RDMA}/{name}/{file}": f"{text}\n" for file, text in files.items()}


def files() -> dict[str, str]:
    bond = {"bonding/mode": "802.3ad 4", "bonding/xmit_hash_policy": "layer3+4 1", "bonding/lacp_rate": "fast 1"}
    more = {
        "bonding/miimon": "100",
        "bonding/slaves": "enp1 enp2",
        "bonding/active_slave": "",
        "bonding/ad_num_ports": "2",
    }
    parts = {
        "lower_enp1/x": "",
        "lower_enp2/x": "",
        "uevent": "DEVTYPE=bond",
        **bond,
        **more,
        "bonding/mii_status": "up",
    }
    return {
        f"{NET}/bonding_masters": "bond0\n",
        **card("enp1", **{"ecn/roce_np/cnp_dscp": "48", "ecn/roce_np/enable/3": "1", "ecn/roce_rp/rpg_ai_rate": "5"}),
        **card("enp2"),
        **card("mgmt", speed="1000", mtu="1500"),
        **card("bond0", **parts),
        **card("br0", **{"lower_bond0/x": "", "lower_vethc/x": "", "uevent": "DEVTYPE=bridge"}),
        **card("vethc", speed="10000"),
        **card("veth9", speed="10000"),
        **card("lo", type="772", mtu="65536", operstate="unknown", speed="", duplex="unknown"),
        **adapter("mlx5_0"),
        **{f"{CONF}/all/{knob}": "0\n" for knob in ("rp_filter", "arp_ignore", "arp_announce")},
        **{f"/sys/bus/pci/devices/{slot}/numa_node": "1\n" for slot in SLOTS.values()},
        "/proc/net/route": f"{ROUTE}mgmt\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
        "enp1\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
        "enp2\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n",
        "/proc/sys/kernel/osrelease": "6.8.0\n",
        "/lib/modules/6.8.0/modules.symbols": "alias symbol:ib_umem_dmabuf_get ib_uverbs\n",
        "/sys/module/ib_uverbs/x": "",
        "/sys/module/nvidia_peermem/version": "580.65.06\n",
        "/sys/kernel/mm/memory_peers/nv_mem/version": "580\n",
        "/dev/infiniband/uverbs0": "",
        "/dev/infiniband/rdma_cm": "",
    }


def machine(root: Path, more: Mapping[str, str] | None = None) -> Host:
    host = tree(root, {**files(), **(more or {})})
    for name, slot in SLOTS.items():
        (root / f"sys/class/net/{name}/device").symlink_to(f"../../../{slot}")
    (root / "sys/class/infiniband/mlx5_0/device").symlink_to(f"../../../{SLOTS['enp1']}")
    return host


def network(host: Host) -> Network:
    found = read("network", host)
    assert isinstance(found, Network)
    return found


@cache
def whole() -> Network:
    """What is told of the machine as it is."""
    with TemporaryDirectory() as root:
        return network(machine(Path(root)))


def items(collection: Any) -> Any:
    """Of a collection that was seen."""
    assert isinstance(collection, Map), collection
    return collection.items


def staged(answers: Mapping[tuple[str, str], Any]) -> Host:
    """One card, eth0, of which these answers are told and no others."""
    there = {("names", NET): ("eth0",), ("names", f"{NET}/eth0"): ("device", "mtu")}
    return Replay({**there, **answers})


def code(seen: Any) -> str:
    assert isinstance(seen, Gap), seen
    return seen.code
