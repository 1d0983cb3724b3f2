"""RDMA devices, their ports, and whether they reach GPU memory."""

from pathlib import Path

import msgspec
import pytest

from probes.kit.facts import Gap, Map, Redacted
from probes.network.ports import Port, megabits
from tests.probes.network.machine import GID, NET, RDMA, code, items, machine, network, whole
from tests.probes.tree import tree

PORT = f"{RDMA}/mlx5_0/ports/1"


def port(root: Path | None = None, **more: str) -> Port:
    """more: files of the port that are others."""
    files = {f"{PORT}/{name}": f"{text}\n" for name, text in more.items()}
    section = network(machine(root, files)) if root else whole()
    (device,) = items(section.rdma).values()
    found = items(device.ports)["1"]
    assert isinstance(found, Port)
    return found


def test_a_device_is_told_with_its_firmware_its_slot_and_no_unit_in_clear() -> None:
    section = whole()
    (device,) = items(section.rdma).values()
    assert (device.node_type, device.hca_type, device.fw_ver) == ("CA", "MT4129", "28.41.1000")
    assert (device.pci_address, device.numa_node) == ("0000:17:00.0", 1)
    assert isinstance(device.node_guid, Redacted)
    assert device.node_guid == device.sys_image_guid
    told = msgspec.json.encode(section)
    assert b"c203" not in told
    assert GID.format(1).encode() not in told


def test_a_port_is_told_in_the_kernels_words() -> None:
    one = port()
    assert (one.state, one.phys_state, one.link_layer) == ("ACTIVE", "LinkUp", "Ethernet")
    assert (one.rate, one.width_speed, one.netdev) == (200_000, "4X HDR", "enp1")
    assert (one.lid, one.lid_mask_count, one.cap_mask) == (0, 0, "0x04010000")
    assert (one.pkeys, one.traffic_class) == (("0xffff",), "Global tclass=106")


def test_addresses_stand_by_their_index_and_empty_places_are_none() -> None:
    found = items(port().gids)
    assert {index: (gid.type, gid.netdev) for index, gid in found.items()} == {
        "0": ("IB/RoCE v1", "enp1"),
        "1": ("RoCE v2", "enp1"),
    }
    assert found["0"].value == found["1"].value


def test_counters_of_data_are_told_in_bytes() -> None:
    counters = port().counters
    assert (counters.port_rcv_data, counters.symbol_error, counters.port_xmit_wait) == (4000, 2, 7)


def test_counters_of_the_adapter_are_told_by_what_they_say() -> None:
    one = port()
    assert dict(items(one.hw_errors)) == {"out_of_sequence": 4}
    assert dict(items(one.hw_congestion)) == {"np_cnp_sent": 6}
    assert dict(items(one.hw_counters)) == {"rx_read_requests": 8, "req_cqe_flush_error": 9}


@pytest.mark.parametrize(("mtu", "active"), [(1500, 1024), (4200, 4096), (9000, 4096), (2200, 2048), (300, 256)])
def test_the_mtu_of_roce_is_what_its_interface_leaves(tmp_path: Path, mtu: int, active: int) -> None:
    host = machine(tmp_path, {f"{NET}/enp1/mtu": f"{mtu}\n"})
    (device,) = items(network(host).rdma).values()
    assert items(device.ports)["1"].active_mtu == active


def test_the_mtu_of_infiniband_nothing_but_verbs_tells(tmp_path: Path) -> None:
    assert code(port(tmp_path, link_layer="InfiniBand").active_mtu) == "not_observable"


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("400 Gb/sec (4X NDR)", 400_000),
        ("2.5 Gb/sec (1X SDR)", 2_500),
        ("12.5 Gb/sec (1X HDR)", 12_500),
        ("100 Gb/sec", 100_000),
    ],
)
def test_rates_are_told_in_megabits(text: str, rate: int) -> None:
    assert megabits(text) == rate


@pytest.mark.parametrize("text", ["", "fast", "-5 Gb/sec", "400 GB/s", "1e3 Gb/sec"])
def test_what_is_no_rate_fails(tmp_path: Path, text: str) -> None:
    assert code(port(tmp_path, rate=text).rate) == "failed"


def test_no_rdma_device_is_absent_whether_or_not_the_class_is_there(tmp_path: Path) -> None:
    (tmp_path / "sys/class/infiniband").mkdir(parents=True)
    assert network(tree(tmp_path, {})).rdma == Gap("absent")


# Peer memory.


def test_what_registers_gpu_memory_is_told() -> None:
    memory = whole().peer_memory
    assert (memory.module, memory.registered, memory.dma_buf) == ("nvidia_peermem", ("nv_mem",), True)
    assert (memory.gdrdrv, memory.verbs_nodes) == (False, ("uverbs0",))


def test_a_kernel_without_the_symbol_has_no_dma_buf_for_verbs(tmp_path: Path) -> None:
    more = {"/lib/modules/6.8.0/modules.symbols": "alias symbol:ib_umem_get ib_uverbs\n"}
    assert network(machine(tmp_path, more)).peer_memory.dma_buf is False


def test_without_verbs_nothing_is_asked_of_the_symbols(tmp_path: Path) -> None:
    memory = network(tree(tmp_path, {"/sys/module/gdrdrv/x": "", "/dev/gdrdrv": ""})).peer_memory
    assert (memory.module, code(memory.dma_buf), memory.gdrdrv, memory.gdrdrv_node) == ("none", "absent", True, True)


def test_a_map_that_the_folder_does_not_hold_is_a_gap(tmp_path: Path) -> None:
    host = tree(tmp_path, {f"{RDMA}/x/ports/1/state": "1: DOWN\n"})
    (device,) = items(network(host).rdma).values()
    one = items(device.ports)["1"]
    assert (one.state, isinstance(one.hw_errors, Map), code(one.hw_errors)) == ("DOWN", False, "not_read")
