"""Buses of real machines: FINGERPRINT_CORPUS names the folder.

Registers that lspci printed are held against what NVML said on the same machine, and the bridges above each device
against the bus numbers that bridges route.
"""

import os
import re
import tarfile
from pathlib import Path

import pytest

from probes.kit.facts import Gap, Map
from probes.kit.host import Host
from probes.kit.pci_config import read_pci_config
from probes.kit.probe import HOST
from probes.pcie import pcie
from probes.pcie import registers as r
from probes.pcie.sections import Endpoint, Function
from probes.pcie.tree import DEVICES

CORPUS = Path(os.environ.get("FINGERPRINT_CORPUS", "/nonexistent"))
DUMPS = sorted(CORPUS.glob("**/lspci/*_xxx.txt"))
TREES = sorted(CORPUS.glob("**/hwloc/*+pci-conflicts.tar.bz2")) + sorted(CORPUS.glob("**/hwloc/*+nvme+*.tar.bz2"))
COMPARED = {"gpus": 5, "devices": 4}
"""At least so many; more is fine."""
SECONDARY = 0x19  # of a bridge's header: the number of the bus below it


@pytest.mark.skipif(not DUMPS, reason="FINGERPRINT_CORPUS holds no dumps of configuration spaces")
def test_links_of_registers_are_what_nvml_said_of_the_same_gpus() -> None:
    told = [pair for file in DUMPS for pair in _pairs(file)]
    print(f"{len(DUMPS)} files, {len(told)} GPUs, {sum(a != b for a, b in told)} mismatches")
    assert [pair for pair in told if pair[0] != pair[1]] == []
    assert len(told) >= COMPARED["gpus"]


def _pairs(file: Path) -> list[tuple[dict[str, object], dict[str, object]]]:
    smi = file.parents[1] / "nvidia-smi-q" / file.name.replace("_10de_v_xxx", "")
    spaces = _spaces(file.read_text())
    said = re.split(r"^GPU \w{4}(\w{4}:\S+)", smi.read_text(), flags=re.M)[1:]
    return [
        (_of_registers(spaces[address.lower()[5:]]), _of_nvml(text))
        for address, text in zip(said[::2], said[1::2], strict=True)
    ]


def _spaces(text: str) -> dict[str, bytes]:
    """By address without the domain: `02:00.0`, then lines of `10: 00 00 00 d3 ...`."""
    found: dict[str, bytes] = {}
    for block in re.split(r"\n(?=[0-9a-f]{2}:[0-9a-f]{2}\.\d )", text):
        rows = re.findall(r"^[0-9a-f]{2,3}:((?: [0-9a-f]{2}){16})$", block, re.M)
        found[block[:7]] = bytes.fromhex("".join(rows))
    return found


def _of_registers(octets: bytes) -> dict[str, object]:
    registers = read_pci_config(octets)
    return {
        "speed": r.field(registers, r.LINK_SPEED),
        "width": r.field(registers, r.LINK_WIDTH),
        "max_width": r.field(registers, r.MAX_LINK_WIDTH),
    }


def _of_nvml(text: str) -> dict[str, object]:
    """Its `Max` generation is what slot and GPU can together: the GPU's registers alone do not tell that."""
    generation, width = (text.partition(name)[2] for name in ("PCIe Generation", "Link Width"))
    return {
        "speed": int(re.findall(r"Current +: (\d)", generation)[0]),
        "width": int(re.findall(r"Current +: (\d+)x", width)[0]),
        "max_width": int(re.findall(r"Max +: (\d+)x", width)[0]),
    }


@pytest.mark.long
@pytest.mark.skipif(not TREES, reason="FINGERPRINT_CORPUS holds no trees of hwloc with PCI devices")
def test_devices_of_real_trees_hang_where_their_bridges_route_to(tmp_path: Path) -> None:
    compared = 0
    for at, archive in enumerate(TREES):
        with tarfile.open(archive) as packed:
            packed.extractall(tmp_path / str(at), filter="data")
        (root,) = (tmp_path / str(at)).iterdir()
        compared += _compared(Host(str(root)), root)
    print(f"{len(TREES)} trees, {compared} devices, no mismatch")
    assert compared >= COMPARED["devices"]


def _compared(host: Host, root: Path) -> int:
    found = pcie.read(host, HOST)
    ends = {
        name: one for group in (found.gpus, found.cards) if isinstance(group, Map) for name, one in group.items.items()
    }
    bridges = found.bridges.items if isinstance(found.bridges, Map) else {}
    for address, one in {**ends, **bridges}.items():
        _is_as_its_files_say(host, address, one)
    for address, end in ends.items():
        assert isinstance(end.bridges, tuple)
        for bridge, below in zip(end.bridges, (*end.bridges, address)[1:], strict=True):
            header = (root / f"sys/bus/pci/devices/{bridge}/config").read_bytes()
            assert f"{header[SECONDARY]:02x}" == below.split(":")[1]
    return len(ends)


def _is_as_its_files_say(host: Host, address: str, one: Function) -> None:
    vendor, device = (str(host.line(f"{DEVICES}/{address}/{name}"))[2:] for name in ("vendor", "device"))
    assert one.pci_id == f"{vendor}:{device}"
    if isinstance(one, Endpoint):
        assert f"0x{one.class_code}" == host.line(f"{DEVICES}/{address}/class")
        node = host.number(f"{DEVICES}/{address}/numa_node")
        assert one.numa_node == node or isinstance(one.numa_node, Gap)
