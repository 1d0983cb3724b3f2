"""Network cards: which ones matter, their links and their drivers' settings."""

from pathlib import Path
from typing import Any

import pytest

from probes.kit.facts import Gap
from probes.network.driver import hw_counters
from tests.probes.network.machine import NET, code, files, items, machine, network, staged, whole
from tests.probes.tree import tree


def test_hardware_and_what_lies_above_it_are_told_and_pairs_of_containers_counted() -> None:
    found = whole()
    assert sorted(items(found.interfaces)) == ["bond0", "br0", "enp1", "enp2", "lo", "mgmt"]
    assert found.virtual_interfaces == 2
    bridge = items(found.interfaces)["br0"]
    assert (bridge.kind, bridge.lower) == ("bridge", ("bond0",))


def test_in_a_container_the_end_of_a_pair_is_the_card_that_matters(tmp_path: Path) -> None:
    routes = "Iface Destination\neth0 00000000 0100000A 0003 0 0 0 00000000 0 0 0\n"
    paths = {f"{NET}/{name}/mtu": "1500\n" for name in ("eth0", "tunl0", "lo")}
    found = network(tree(tmp_path, {**paths, "/proc/net/route": routes}))
    assert sorted(items(found.interfaces)) == ["eth0", "lo"]
    assert (found.virtual_interfaces, found.routes.default_interface) == (1, "eth0")


def test_a_card_is_told_with_its_link_its_slot_and_its_parameters() -> None:
    one = items(whole().interfaces)["enp1"]
    assert (one.kind, one.operstate, one.carrier, one.carrier_changes) == ("ethernet", "up", True, 3)
    assert (one.speed, one.duplex, one.mtu, one.tx_queue_len) == (200_000, "full", 4200, 1000)
    assert (one.pci_address, one.numa_node) == ("0000:17:00.0", 1)
    assert (one.rp_filter, one.arp_ignore, one.arp_announce) == (1, 1, 1)
    assert (one.statistics.rx_bytes, one.statistics.rx_missed_errors) == (12, 5)
    assert dict(items(one.ecn)) == {"roce_np.cnp_dscp": 48, "roce_np.enable.3": 1, "roce_rp.rpg_ai_rate": 5}


@pytest.mark.parametrize(
    ("line", "expected"), [("-1", "unsupported"), ("4294967295", "unsupported"), ("fast", "failed")]
)
def test_a_speed_that_the_driver_does_not_know_is_no_speed(tmp_path: Path, line: str, expected: str) -> None:
    found = network(machine(tmp_path, {f"{NET}/enp1/speed": f"{line}\n"}))
    assert code(items(found.interfaces)["enp1"].speed) == expected


def test_a_link_that_is_down_has_neither_carrier_nor_speed() -> None:
    down = Gap("unsupported", "Invalid argument")
    answers = {("text", f"{NET}/eth0/{file}"): down for file in ("carrier", "speed", "duplex")}
    one = items(network(staged({**answers, ("text", f"{NET}/eth0/operstate"): "down\n"})).interfaces)["eth0"]
    assert (one.operstate, one.carrier, one.speed, one.duplex) == ("down", down, down, down)


def test_a_node_that_firmware_does_not_tell_is_none(tmp_path: Path) -> None:
    found = network(machine(tmp_path, {"/sys/bus/pci/devices/0000:17:00.0/numa_node": "-1\n"}))
    assert code(items(found.interfaces)["enp1"].numa_node) == "unsupported"


def test_a_card_above_a_bus_of_its_own_has_the_slot_that_its_driver_tells() -> None:
    virtio = {
        ("link", f"{NET}/eth0/device"): "../../../virtio2",
        ("ethtool", "eth0 driver"): {
            "driver": "virtio_net",
            "version": "1",
            "fw_version": "",
            "bus_info": "0000:00:03.0",
        },
    }
    one = items(network(staged(virtio)).interfaces)["eth0"]
    assert (one.pci_address, one.driver, code(one.firmware)) == ("0000:00:03.0", "virtio_net", "unsupported")


def test_a_bond_is_told_in_the_words_of_its_files() -> None:
    (bond,) = items(whole().bonds).values()
    assert (bond.mode, bond.xmit_hash_policy, bond.lacp_rate) == ("802.3ad", "layer3+4", "fast")
    assert (bond.miimon, bond.slaves, bond.ports, bond.mii_status) == (100, ("enp1", "enp2"), 2, "up")
    assert code(bond.active_slave) == "unsupported"


def test_settings_of_the_driver_are_told_by_their_names() -> None:
    answers: dict[tuple[str, str], Any] = {
        ("ethtool", "eth0 rings"): {"rx": 512, "tx": 256, "rx_max": 8192, "tx_max": 8192, "rx_mini": 0},
        ("ethtool", "eth0 channels"): {"combined": 63, "rx": 0, "tx": 0, "combined_max": 63, "other": 0},
        ("ethtool", "eth0 coalesce"): {
            "rx_usecs": 8, "rx_frames": 128, "tx_usecs": 8, "tx_frames": 128, "adaptive_rx": 1, "adaptive_tx": 0,
        },
        ("ethtool", "eth0 pause"): {"autoneg": 0, "rx": 1, "tx": 0},
        ("ethtool", "eth0 fec"): {"active": 8, "configured": 2},
        ("ethtool", "eth0 features"): {"rx-gro": 1, "rx-lro": 0, "hsr-fwd-offload": 0},
        ("ethtool", "eth0 private_flags"): {"rx_striding_rq": 1, "rx_cqe_compress": 0},
        ("netlink", "priorities eth0"): {"pfc": (3,), "pfc_sent": (0, 0, 0, 5, 1, 0, 0, 0)},
    }  # fmt: skip
    one = items(network(staged(answers)).interfaces)["eth0"]
    assert (one.rings.rx, one.rings.tx, one.rings.rx_max) == (512, 256, 8192)
    assert (one.channels.combined, one.channels.combined_max) == (63, 63)
    assert (one.coalesce.rx_usecs, one.coalesce.adaptive_rx, one.coalesce.adaptive_tx) == (8, True, False)
    assert (one.pause.autoneg, one.pause.rx, one.pause.tx, one.fec) == (False, True, False, "rs")
    assert dict(items(one.offloads)) == {"rx-gro": True, "rx-lro": False}
    assert dict(items(one.private_flags)) == {"rx_striding_rq": True, "rx_cqe_compress": False}
    assert (one.priorities.pfc, one.priorities.pfc_sent, code(one.priorities.prio_tc)) == ((3,), 6, "unsupported")


@pytest.mark.parametrize(
    ("name", "is_told"),
    [
        ("rx_out_of_buffer", True),
        ("rx_discards_phy", True),
        ("rx_prio3_pause", True),
        ("tx_pause_ctrl_phy", True),
        ("link_down_events_phy", True),
        ("rx_crc_errors_phy", True),
        ("rx_ecn_mark", True),
        ("rx_missed_errors", True),
        ("rx_prio3_pause_duration", False),
        ("rx_global_pause_transition", False),
        ("rx_packets", False),
        ("rx0_drops", False),
        ("rx_queue_7_drops", False),
        ("rx-3.rx_dropped", False),
        ("[12]: rx_discards", False),
        ("ch4_aff_change", False),
        ("rx_xdp_drop", False),
        ("rx_cqe_compress_pkts", False),
    ],
)
def test_of_a_drivers_statistics_what_tells_of_trouble_of_the_whole_card_is_kept(name: str, is_told: bool) -> None:
    found = hw_counters(lambda _: {name: 7})
    assert dict(items(found)) == ({name: 7} if is_told else {})


def test_a_card_that_sleeps_is_not_woken() -> None:
    answers: dict[tuple[str, str], Any] = {
        ("text", f"{NET}/eth0/device/power/runtime_status"): "suspended\n",
        ("text", f"{NET}/eth0/mtu"): "1500\n",
        ("ethtool", "eth0 rings"): {"rx": 512},
    }
    one = items(network(staged(answers)).interfaces)["eth0"]
    assert (one.mtu, code(one.rings.rx), code(one.driver), code(one.offloads)) == (1500, *["asleep"] * 3)


def test_a_hundred_interfaces_of_containers_cost_one_listing_each(tmp_path: Path) -> None:
    many = {f"{NET}/veth{at}/mtu": "1500\n" for at in range(100)}
    found = network(machine(tmp_path, many))
    assert (len(items(found.interfaces)), found.virtual_interfaces) == (6, 101)


def test_files_of_the_machine_are_all_used() -> None:
    """Else a name that was mistyped above would prove nothing."""
    assert len(files()) > 150
