"""GPUs, cards and drives on the PCI bus: the way to each, its narrowest link, its neighbours, its registers."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fingerprint.sections import decoder_of, leaves
from probes.kit.facts import Gap, Map
from probes.kit.host import Host
from probes.pcie.sections import Bridge, Card, Gpu, Pcie
from tests.kit.test_host import plain_user
from tests.probes.pcie import server as s
from tests.probes.pcie.bus import LOWER_PORT, NIC, NVME, ROOT_PORT, UPPER_PORT, Function, Link, space
from tests.probes.pcie.found import KERNEL_WORDS, Elsewhere, bridges, cards, code, gpus, read
from tests.probes.pcie.server import server

# What is there.


def test_what_matters_is_told_with_the_bridges_above_it_and_nothing_else_is(tmp_path: Path) -> None:
    found = read(server(tmp_path))
    assert set(gpus(found)) == {s.GPU_A, s.GPU_B, s.GPU_C, s.GPU_D}
    assert {address: card.kind for address, card in cards(found).items()} == {s.CARD: "nic", s.DRIVE: "nvme"}
    assert gpus(found)[s.GPU_C].bridges == (s.PORT_16, s.UP, "0000:18:03.0", s.UP_2, s.LOW_2)
    ways = [device.bridges for device in (*gpus(found).values(), *cards(found).values())]
    assert set(bridges(found)) == {bridge for way in ways if isinstance(way, tuple) for bridge in way}


def test_a_device_tells_what_it_is_who_has_it_and_where_it_hangs(tmp_path: Path) -> None:
    one = gpus(read(server(tmp_path)))[s.GPU_A]
    assert (one.pci_id, one.subsystem_id, one.class_code, one.driver) == (
        "10de:2bb5", "10de:204b", "030200", "nvidia",
    )  # fmt: skip
    assert (one.root_bus, one.numa_node, one.attachment) == ("pci0000:16", 0, "cpu")
    assert cards(read(Host(str(tmp_path))))[s.DRIVE].attachment == "chipset"


def test_of_a_card_that_is_divided_its_virtual_functions_are_a_number(tmp_path: Path) -> None:
    place = f"{s.SWITCH}/{s.LOW_C}"
    whole = Function(f"{place}/{s.CARD}", NIC, "15B3:1021", space(), files={"sriov_numvfs": "2\n"})
    parts = [Function(f"{place}/0000:1b:00.{number}", NIC, "15B3:101E") for number in (1, 2)]
    host = server(tmp_path, whole, *parts, without=(s.CARD,))
    for part in parts:
        (tmp_path / "sys/devices" / part.place / "physfn").symlink_to(f"../{s.CARD}")
    found = cards(read(host))
    assert set(found) == {s.CARD, s.DRIVE}
    assert found[s.CARD].sriov_numvfs == 2


# Links.


def test_the_narrowest_hop_of_each_gpu_below_a_switch_is_the_switchs_own_link(tmp_path: Path) -> None:
    found = gpus(read(server(tmp_path)))
    for address in (s.GPU_A, s.GPU_B, s.GPU_C):
        hop = found[address].narrowest
        assert (hop.hop, hop.speed, hop.width, hop.bandwidth) == (s.UP, 16000, 8, 15753)
    alone = found[s.GPU_D].narrowest
    assert (alone.hop, alone.speed, alone.width, alone.bandwidth) == (s.GPU_D, 32000, 16, 63015)


def test_a_gpu_that_rests_has_a_slow_link_and_no_narrow_way(tmp_path: Path) -> None:
    host = server(
        tmp_path, s.gpu(f"pci0000:96/{s.PORT_96}/{s.GPU_D}", Link(1, 16, 5, 16)), without=(s.GPU_D,)
    )  # fmt: skip
    found = gpus(read(host))[s.GPU_D]
    assert (found.current_link_speed, found.max_link_speed) == (2500, 32000)
    assert found.narrowest.bandwidth == 63015


def test_a_switch_on_a_gpus_own_board_slows_with_it_and_is_not_narrow(tmp_path: Path) -> None:
    root, up, low = f"pci0000:a0/{PORT_160}", "0000:a1:00.0", "0000:a2:00.0"
    board = (
        s.port(root, ROOT_PORT, pci_id="8086:352A"),
        s.port(f"{root}/{up}", UPPER_PORT, Link(1, 16, 4, 16), "1002:1478"),
        s.port(f"{root}/{up}/{low}", LOWER_PORT, Link(4, 16, 4, 16), "1002:1479"),
        s.gpu(f"{root}/{up}/{low}/0000:a3:00.0", Link(4, 16, 4, 16))._replace(pci_id="1002:744C", driver="amdgpu"),
    )
    found = read(server(tmp_path, *board))
    hop = gpus(found)["0000:a3:00.0"].narrowest
    assert (code(bridges(found)[up].current_link_speed), bridges(found)[up].current_link_width) == ("unsupported", 16)
    assert (hop.hop, hop.speed, hop.bandwidth) == (up, 16000, 31507)
    assert bridges(found)[s.UP].current_link_speed == 16000


def test_a_port_of_an_older_generation_bounds_the_gpu_below_it(tmp_path: Path) -> None:
    older = s.port(f"pci0000:96/{s.PORT_96}", ROOT_PORT, Link(3, 16, 3, 16))
    assert gpus(read(server(tmp_path, older, without=(s.PORT_96,))))[s.GPU_D].narrowest.speed == 8000


def test_a_link_is_told_at_its_lower_end_alone(tmp_path: Path) -> None:
    found = bridges(read(server(tmp_path)))
    assert (found[s.UP].current_link_speed, found[s.UP].current_link_width) == (16000, 8)
    assert code(found[s.PORT_16].current_link_speed) == code(found[s.LOW_A].current_link_width) == "unsupported"
    assert (found[s.PORT_16].max_link_speed, found[s.PORT_16].max_link_width) == (32000, 16)


def usable(device: Gpu | Card | Bridge) -> tuple[object, object]:
    return device.usable_link_speed, device.usable_link_width


def test_what_a_link_could_carry_is_what_both_of_its_ends_can(tmp_path: Path) -> None:
    older = s.port(f"pci0000:96/{s.PORT_96}", ROOT_PORT, Link(3, 8, 3, 8))
    found = read(server(tmp_path, older, without=(s.PORT_96,)))
    assert (usable(bridges(found)[s.UP]), usable(cards(found)[s.DRIVE])) == ((32000, 16), (16000, 4))
    assert (usable(gpus(found)[s.GPU_D]), usable(gpus(found)[s.GPU_A])) == ((8000, 8), (32000, 16))
    assert {code(seen) for port in (s.PORT_16, s.LOW_A) for seen in usable(bridges(found)[port])} == {"unsupported"}


def test_what_a_link_could_carry_is_unknown_where_its_upper_end_is_hidden_or_gone(tmp_path: Path) -> None:
    guest = Function("pci0000:96/0000:98:00.0", NIC, config=space(link=s.HALF))
    host = server(tmp_path, guest)
    (tmp_path / "sys/bus/pci/devices" / s.LOW_C).unlink()
    found = cards(read(host))
    assert {code(seen) for seen in usable(found[guest.address])} == {"not_observable"}
    assert {code(seen) for seen in usable(found[s.CARD])} == {"absent"}


PORT_160 = "0000:a0:01.0"


def test_the_kernels_files_tell_links_as_the_registers_do(tmp_path: Path) -> None:
    place = f"pci0000:96/{s.PORT_96}/{s.CARD}"
    told = Function(place, NIC, config=space(link=s.HALF)[:64], files=KERNEL_WORDS)
    read_out = Function(place, NIC, config=space(link=s.HALF))
    one, other = (
        cards(read(server(tmp_path / str(at), each, without=(s.CARD,))))[s.CARD]
        for at, each in enumerate((told, read_out))
    )
    assert (one.narrowest, usable(one)) == (other.narrowest, usable(other))
    for name in KERNEL_WORDS:
        assert getattr(one, name) == getattr(other, name) != 0, name


def test_a_function_without_a_link_is_told_alike_with_and_without_its_registers(tmp_path: Path) -> None:
    octets = bytearray(space())
    octets[0x61] = 0  # the list of capabilities ends before that of PCI Express
    whole = Function(f"pci0000:96/{s.CARD}", NIC, config=bytes(octets))
    for at, each in enumerate((whole, whole._replace(config=bytes(octets[:64])))):
        server(tmp_path / str(at), each, without=(s.CARD,))
        found = cards(read(Elsewhere(str(tmp_path / str(at)))))[s.CARD]
        assert {code(getattr(found, name)) for name in KERNEL_WORDS} == {"unsupported"}


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("2.5 GT/s PCIe\n", 2500),
        ("5.0 GT/s PCIe\n", 5000),
        ("64.0 GT/s PCIe\n", 64000),
        ("8 GT/s\n", 8000),
        ("Unknown\n", "unsupported"),
        ("Unknown speed\n", "unsupported"),
        ("fast\n", "failed"),
        ("3.3 GT/s PCIe\n", "failed"),
        ("", "failed"),
    ],
)
def test_speeds_as_kernels_wrote_them(tmp_path: Path, text: str, seen: object) -> None:
    one = Function(f"pci0000:96/{s.PORT_96}/{s.CARD}", NIC, config=space()[:64], files={"current_link_speed": text})
    found = cards(read(server(tmp_path, one, without=(s.CARD,))))[s.CARD].current_link_speed
    assert found == seen if isinstance(seen, int) else code(found) == seen


def test_a_device_that_a_guest_sees_on_its_root_bus_has_its_own_link_as_its_way(tmp_path: Path) -> None:
    one = Function(f"pci0000:96/{s.CARD}", NIC, config=space(link=s.HALF))
    found = cards(read(server(tmp_path, one, without=(s.CARD,))))[s.CARD]
    assert (found.bridges, found.narrowest.hop, found.narrowest.bandwidth) == ((), s.CARD, 15753)


WITHOUT_A_LINK = {
    "current_link_speed": "Unknown\n",
    "current_link_width": "0\n",
    "max_link_speed": "Unknown\n",
    "max_link_width": "255\n",
}


@pytest.mark.parametrize(
    ("config", "files"), [(space(link=Link(0, 0, 0, 0)), {}), (space(9), {}), (space(9)[:64], WITHOUT_A_LINK)]
)
def test_a_part_of_the_cpu_has_no_link(tmp_path: Path, config: bytes, files: dict[str, str]) -> None:
    one = Function(f"pci0000:96/{s.CARD}", NIC, config=config, files=files)
    found = cards(read(server(tmp_path, one, without=(s.CARD,))))[s.CARD]
    assert {code(found.current_link_speed), code(found.max_link_width), code(found.narrowest.hop)} == {"unsupported"}


def test_a_drive_behind_a_volume_management_device_hangs_at_the_root_which_that_makes(tmp_path: Path) -> None:
    place = "pci0000:96/0000:96:05.5/pci10000:e0/10000:e0:01.0"
    port = s.port(place, ROOT_PORT, s.CHIPSET, "8086:352A")
    drive = Function(f"{place}/10000:e1:00.0", NVME, "144D:A80C", space(link=s.CHIPSET), "nvme")
    one = cards(read(server(tmp_path, port, drive)))["10000:e1:00.0"]
    assert (one.root_bus, one.bridges) == ("pci10000:e0", ("10000:e0:01.0",))
    assert (one.narrowest.hop, one.narrowest.width) == ("10000:e1:00.0", 4)


@pytest.mark.parametrize(
    ("code", "pci_id", "kind"),
    [
        ("068000", "10DE:22A3", "nvswitch"),
        ("068000", "8086:1234", None),
        ("020700", "15B3:1021", "nic"),
        ("028000", "15B3:1003", "nic"),
        ("010802", "144D:A80C", "nvme"),
        ("010601", "8086:A182", None),
        ("120000", "1DA3:1020", "gpu"),
        ("038000", "1002:740F", "gpu"),
        ("030000", "102B:0536", None),
        ("060000", "8086:352A", None),
    ],
)
def test_what_a_function_is_its_class_and_maker_tell(tmp_path: Path, code: str, pci_id: str, kind: str | None) -> None:
    one = Function("pci0000:96/0000:96:07.0", code, pci_id)
    found = read(server(tmp_path, one))
    told = {**dict.fromkeys(gpus(found), "gpu"), **{name: card.kind for name, card in cards(found).items()}}
    assert told.get(one.address) == kind


# Distances.


def test_distances_are_in_the_words_of_nvidia_smi(tmp_path: Path) -> None:
    beside = s.port("pci0000:16/0000:16:02.0", ROOT_PORT)
    other = s.gpu("pci0000:16/0000:16:02.0/0000:20:00.0")
    near = s.port("pci0000:40/0000:40:01.0", ROOT_PORT)
    node = s.gpu("pci0000:40/0000:40:01.0/0000:41:00.0")
    found = gpus(read(server(tmp_path, beside, other, near, node)))[s.GPU_A].distances
    assert isinstance(found, Map)
    assert dict(found.items) == {
        s.GPU_B: "PIX",
        s.CARD: "PIX",
        s.GPU_C: "PXB",
        "0000:20:00.0": "PHB",
        "0000:41:00.0": "NODE",
        s.GPU_D: "SYS",
    }


def test_a_distance_is_the_same_from_both_ends(tmp_path: Path) -> None:
    found = gpus(read(server(tmp_path)))
    pairs = [(a, b) for a in found for b in found if a != b]
    told = {address: one.distances for address, one in found.items()}
    for a, b in pairs:
        one, other = told[a], told[b]
        assert isinstance(one, Map) and isinstance(other, Map)  # noqa: PT018
        assert one.items[b] == other.items[a]


@pytest.mark.parametrize(("online", "seen"), [("0\n", "NODE"), ("0-1\n", "unsupported")])
def test_where_firmware_names_no_node_only_a_host_of_one_node_tells_the_distance(
    tmp_path: Path, online: str, seen: str
) -> None:
    lost = s.gpu(f"pci0000:96/{s.PORT_96}/{s.GPU_D}", node=-1)
    host = server(tmp_path, lost, without=(s.GPU_D,))
    (tmp_path / "sys/devices/system/node/online").write_text(online)
    found = gpus(read(host))[s.GPU_A].distances
    assert isinstance(found, Map)
    distance = found.items[s.GPU_D]
    assert distance == seen or code(distance) == seen


# Errors that were counted.

CORRECTED = (
    "RxErr 3\nBadTLP 2\nBadDLLP 1\nRollover 4\nTimeout 5\nNonFatalErr 0\nCorrIntErr 0\nHeaderOF 0\nTOTAL_ERR_COR 15\n"
)


def test_errors_are_counted_by_their_kinds(tmp_path: Path) -> None:
    files = {
        "aer_dev_correctable": CORRECTED,
        "aer_dev_nonfatal": "Undefined 0\nDLP 0\nTLP 7\nTOTAL_ERR_NONFATAL 7\n",
        "aer_dev_fatal": "Undefined 0\nTOTAL_ERR_FATAL 0\n",
    }
    one = Function(f"pci0000:96/{s.PORT_96}/{s.CARD}", NIC, config=space(), files=files)
    aer = cards(read(server(tmp_path, one, without=(s.CARD,))))[s.CARD].aer
    assert (aer.correctable, aer.rx_err, aer.bad_tlp, aer.bad_dllp, aer.rollover, aer.timeout) == (15, 3, 2, 1, 4, 5)
    assert (aer.nonfatal, aer.fatal) == (7, 0)


def test_errors_that_make_no_sense_are_no_numbers(tmp_path: Path) -> None:
    one = Function(
        f"pci0000:96/{s.PORT_96}/{s.CARD}", NIC, config=space(), files={"aer_dev_correctable": "RxErr many\n"}
    )
    aer = cards(read(server(tmp_path, one, without=(s.CARD,))))[s.CARD].aer
    assert code(aer.rx_err) == "failed"


# Odd buses.


def test_a_function_that_vanishes_while_it_is_read_leaves_the_others(tmp_path: Path) -> None:
    host = server(tmp_path)
    (tmp_path / "sys/bus/pci/devices" / s.GPU_B).unlink()
    (tmp_path / "sys/bus/pci/devices" / s.UP).unlink()
    found = read(host)
    assert set(gpus(found)) == {s.GPU_A, s.GPU_C, s.GPU_D}
    assert code(gpus(found)[s.GPU_A].narrowest.bandwidth) == "absent"
    assert gpus(found)[s.GPU_D].narrowest.bandwidth == 63015


@pytest.mark.parametrize("text", ["", "PCI_CLASS=graphics\nPCI_ID=10DE:1\n", "PCI_ID=10DE:2BB5\n", "\x00\udcff=="])
def test_a_function_of_which_nothing_can_be_told_is_passed_over(tmp_path: Path, text: str) -> None:
    host = server(tmp_path)
    place = tmp_path / "sys/bus/pci/devices" / s.GPU_D / "uevent"
    place.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert set(gpus(read(host))) == {s.GPU_A, s.GPU_B, s.GPU_C}


@pytest.mark.parametrize("user", [lambda: open(os.devnull), plain_user])  # noqa: SIM115
def test_this_machine_is_read_as_root_and_as_a_plain_user(user: Callable[[], Any]) -> None:
    with user():
        found = read(Host())
    assert found == decoder_of(Pcie)(msgspec.json.encode(found))
    gaps = {leaf.value.code for leaf in leaves(found) if isinstance(leaf.value, Gap)}
    assert "failed" not in gaps


def test_a_host_without_a_pci_bus_says_so_once(tmp_path: Path) -> None:
    found = read(Elsewhere(str(tmp_path)))
    assert {code(found.gpus), code(found.cards), code(found.bridges)} == {"absent"}
