"""A made-up PCI bus: functions with the files and registers that they would have in sysfs."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from probes.kit.host import Host

GPU, NIC, NVME, SWITCH, PORT = "030200", "020000", "010802", "068000", "060400"
ROOT_PORT, UPPER_PORT, LOWER_PORT, ENDPOINT = 4, 5, 6, 0


class Link(NamedTuple):
    """Generation and lanes, now and at most."""

    speed: int
    width: int
    max_speed: int
    max_width: int


class Function(NamedTuple):
    """place: below /sys/devices, its address last. files: beside those that follow from the rest; an empty content is
    that of a file that is not there."""

    place: str
    code: str
    pci_id: str = "10DE:2BB5"
    config: bytes = b""
    driver: str = "nvidia"
    node: int = 0
    group: str = ""
    files: Mapping[str, str] = {}

    @property
    def address(self) -> str:
        return self.place.rpartition("/")[2]


FULL = Link(5, 16, 5, 16)


def space(kind: int = ENDPOINT, link: Link = FULL, control: int = 0x2937, aspm: int = 0, **extended: bytes) -> bytes:
    """4096 bytes with the capability of PCI Express, of version 2, and extended ones, each with what stands behind its
    header: acs, ats, rebar, pasid."""
    octets = bytearray(4096)
    octets[0:4] = b"\xde\x10\xb5\x2b"
    octets[0x06] = 0x10
    octets[0x0E] = kind in (ROOT_PORT, UPPER_PORT, LOWER_PORT)
    octets[0x34] = 0x60
    octets[0x60:0x62] = b"\x01\x78"  # power management, and where the next one is
    express = {
        0x00: 0x10 | (2 | kind << 4) << 16,
        0x04: 0x22,  # 512 bytes of payload, extended tags
        0x08: control,
        0x0C: link.max_speed | link.max_width << 4 | 2 << 10,
        0x10: aspm | (link.speed | link.width << 4) << 16,
        0x2C: (1 << link.max_speed) - 1 << 1,
    }
    for at, word in express.items():
        octets[0x78 + at : 0x7C + at] = word.to_bytes(4, "little")
    _extend(octets, extended)
    return bytes(octets)


NUMBERS = {"acs": 0x0D, "ats": 0x0F, "rebar": 0x15, "pasid": 0x1B}


def _extend(octets: bytearray, extended: Mapping[str, bytes]) -> None:
    at = 0x100
    for left, (name, content) in zip(range(len(extended) - 1, -1, -1), extended.items(), strict=True):
        follows = at + 0x80 if left else 0
        octets[at : at + 4] = (NUMBERS[name] | 1 << 16 | follows << 20).to_bytes(4, "little")
        octets[at + 4 : at + 4 + len(content)] = content
        at += 0x80


def acs(capability: int, control: int) -> bytes:
    return capability.to_bytes(2, "little") + control.to_bytes(2, "little")


def bus(root: Path, *functions: Function, files: Mapping[str, str] | None = None) -> Host:
    """A host with these functions, and with further files by their whole path."""
    for one in functions:
        _write(root, one)
    for path, content in (files or {}).items():
        (root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (root / path.lstrip("/")).write_text(content)
    return Host(str(root))


def _write(root: Path, one: Function) -> None:
    folder = root / "sys/devices" / one.place
    (folder / "power").mkdir(parents=True, exist_ok=True)
    listed = root / "sys/bus/pci/devices" / one.address
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.symlink_to(f"../../../devices/{one.place}")
    driver = f"DRIVER={one.driver}\n" if one.driver else ""
    told = {
        "uevent": f"{driver}PCI_CLASS={int(one.code, 16):X}\nPCI_ID={one.pci_id}\nPCI_SUBSYS_ID=10DE:204B\n",
        "numa_node": f"{one.node}\n",
        "power/control": "on\n",
        "power/runtime_status": "active\n",
        "power_state": "D0\n",
        "d3cold_allowed": "1\n",
        **one.files,
    }
    for name, content in told.items():
        (folder / name).write_text(content)
    if one.config:
        (folder / "config").write_bytes(one.config)
    if one.group:
        (folder / "iommu_group").symlink_to(f"/sys/kernel/iommu_groups/{one.group}")
