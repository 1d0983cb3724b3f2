"""Settings that registers of PCI devices tell: access control, sizes of packets, sleep, regions; and the IOMMU."""

from pathlib import Path

import pytest

from fingerprint.testing import Recorder
from probes.kit.pci_config import PciConfig
from tests.probes.pcie import server as s
from tests.probes.pcie.bus import NIC, Function, space
from tests.probes.pcie.found import KERNEL_WORDS, Elsewhere, bridges, cards, code, gpus, read
from tests.probes.pcie.server import server


def test_access_control_is_told_by_the_words_of_lspci(tmp_path: Path) -> None:
    found = bridges(read(server(tmp_path)))
    assert found[s.LOW_B].acs_control == ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")
    assert found[s.LOW_A].acs_control == ()
    assert found[s.LOW_A].acs_capability == (
        "SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "DirectTrans",
    )  # fmt: skip
    assert code(found[s.UP].acs_control) == "unsupported"


def test_sizes_and_permissions_of_packets(tmp_path: Path) -> None:
    found = read(server(tmp_path))
    one, card, port = gpus(found)[s.GPU_A], cards(found)[s.CARD], bridges(found)[s.UP]
    assert (one.max_payload, one.max_payload_supported, one.max_read_request) == (256, 512, 512)
    assert (one.relaxed_ordering, one.extended_tags, one.ats) == (True, True, True)
    assert (card.max_read_request, port.max_payload, code(card.ats)) == (4096, 256, "unsupported")


@pytest.mark.parametrize(("bits", "seen"), [(0, "disabled"), (1, "L0s"), (2, "L1"), (3, "L0s L1")])
def test_sleep_of_links(tmp_path: Path, bits: int, seen: str) -> None:
    one = Function(f"pci0000:96/{s.PORT_96}/{s.CARD}", NIC, config=space(aspm=bits))
    found = read(server(tmp_path, one, without=(s.CARD,)))
    assert (found.aspm_policy, cards(found)[s.CARD].aspm) == ("default", seen)


def test_regions_of_memory_and_what_the_largest_could_be(tmp_path: Path) -> None:
    one = gpus(read(server(tmp_path)))[s.GPU_A]
    assert one.bars == (16 << 20, 64 << 30, 0, 32 << 20, 0, 0)
    assert one.resizable_to == 64 << 10


def test_who_may_not_read_the_registers_is_told_so_and_has_the_rest(tmp_path: Path) -> None:
    short = [one._replace(config=one.config[:64], files={**one.files, **KERNEL_WORDS}) for one in s.FUNCTIONS]
    found = read(server(tmp_path, *short, without=tuple(one.address for one in short)))
    one, port = gpus(found)[s.GPU_A], bridges(found)[s.LOW_B]
    assert {code(seen) for seen in (port.acs_control, port.aspm, one.max_payload, one.ats, one.resizable_to)} == {
        "denied"
    }
    assert (one.narrowest.bandwidth, one.bars) == (15753, (16 << 20, 64 << 30, 0, 32 << 20, 0, 0))


def test_a_device_that_fell_off_the_bus_is_lost(tmp_path: Path) -> None:
    gone = s.gpu(f"pci0000:96/{s.PORT_96}/{s.GPU_D}")._replace(config=b"\xff" * 4096)
    one = gpus(read(server(tmp_path, gone, without=(s.GPU_D,))))[s.GPU_D]
    assert {code(one.current_link_speed), code(one.current_link_width), code(one.aspm)} == {"lost"}
    assert one.pci_id == "10de:2bb5"


def test_the_registers_of_what_sleeps_are_not_touched_and_all_others_once(tmp_path: Path) -> None:
    files = {"power/control": "auto\n", "power/runtime_status": "suspended\n", "power_state": "D3cold\n"}
    asleep = s.gpu(f"pci0000:96/{s.PORT_96}/{s.GPU_D}")._replace(files={**files, **KERNEL_WORDS})
    recorder = Recorder(server(tmp_path, asleep, without=(s.GPU_D,)))
    one = gpus(read(recorder))[s.GPU_D]
    assert {code(one.current_link_speed), code(one.max_link_width), code(one.max_payload)} == {"asleep"}
    assert (one.power.control, one.power.power_state) == ("auto", "D3cold")
    touched = [key for call, key in recorder.answers if call == "pci_config" or key.endswith(tuple(KERNEL_WORDS))]
    assert len(touched) == len(set(touched)) == len(gpus(read(recorder))) - 1 + 2 + len(bridges(read(recorder)))
    assert not any(s.GPU_D in key for key in touched)


def test_a_recording_has_no_serial_number_of_the_registers(tmp_path: Path) -> None:
    octets = bytearray(space())
    octets[0x100:0x10C] = (3 | 1 << 16).to_bytes(4, "little") + b"\x5e\xc1\xa1\x00\xff\xeeMC"
    one = Function(f"pci0000:96/{s.PORT_96}/{s.CARD}", NIC, config=bytes(octets))
    recorder = Recorder(server(tmp_path, one, without=(s.CARD,)))
    read(recorder)
    answers = [answer for answer in recorder.answers.values() if isinstance(answer, PciConfig)]
    assert {name for answer in answers for name in answer.found} == {"express", "acs", "ats", "resizable_bar"}
    assert not any("5ec1a100" in text for answer in answers for text in answer.found.values())


# The IOMMU.


def test_what_stands_between_a_device_and_memory(tmp_path: Path) -> None:
    found = read(server(tmp_path))
    assert (found.iommu.mode, found.iommu.units) == ("translated", ("dmar0",))
    assert (gpus(found)[s.GPU_A].iommu_group, gpus(found)[s.GPU_A].iommu_group_type) == ("7", "DMA-FQ")


def _identity(root: Path, *groups: str) -> None:
    for group in groups:
        (root / f"sys/kernel/iommu_groups/{group}/type").write_text("identity\n")


def test_addresses_that_stay_as_they_are_are_a_passthrough(tmp_path: Path) -> None:
    host = server(tmp_path)
    _identity(tmp_path, "7", "8")
    assert read(host).iommu.mode == "mixed"
    _identity(tmp_path, "9")
    assert read(host).iommu.mode == "passthrough"


def test_a_host_without_an_iommu_has_none(tmp_path: Path) -> None:
    groupless = [one._replace(group="") for one in s.FUNCTIONS]
    server(tmp_path, *groupless, without=tuple(one.address for one in groupless))
    (tmp_path / "sys/class/iommu/dmar0/uevent").unlink()
    (tmp_path / "sys/class/iommu/dmar0").rmdir()
    found = read(Elsewhere(str(tmp_path)))
    assert (found.iommu.mode, found.iommu.units) == ("none", ())
    assert code(gpus(found)[s.GPU_A].iommu_group_type) == "absent"
