"""`lspci -vvv`, and what less of it tells: the links, payloads and access control of GPUs, cards and bridges.

Where the list holds the whole bus, the way of each device up to its root port is that of the bridges' bus numbers, and
its narrowest hop is found as the probe finds it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from fingerprint.imports import dump
from probes.kit.facts import NOT_READ, Gap, Map, Seen
from probes.kit.lazy import lazy_regex
from probes.kit.redact import Redactor
from probes.pcie.reading import AT_THE_OTHER_END, SLOWS_AT_REST
from probes.pcie.registers import ACS
from probes.pcie.sections import Bridge, Card, Gpu, Pcie
from probes.pcie.tree import Identity, Place, is_of_a_gpu, links_to
from probes.pcie.ways import Told, narrowest, usable

BEGINS = lazy_regex(
    r"^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7] (?=(?:[A-Z3][\w/ -]{2,50})(?: \[[0-9a-f]{4}\])?: ).*$",
    re.MULTILINE,
)
TREE_BEGINS = lazy_regex(r"^[ \t]*-(?:\[[0-9a-f]{4}:[0-9a-f]{2}(?:-[0-9a-f]{2})?\]|\+-\[)-", re.MULTILINE)
TREE = "a tree of the bus without its links; `lspci -vvv` is read"
_HEAD = lazy_regex(
    r"(?P<address>\S+) (?P<kind>[A-Z3][\w/ -]{2,50}?)(?: \[(?P<code>[0-9a-f]{4})\])?: (?P<name>.*?)"
    r"(?: \[(?P<id>[0-9a-f]{4}:[0-9a-f]{4})\])?(?: \(rev [0-9a-f]{2}\))?(?: \(prog-if .*)?"
)
_CODES = {
    "VGA compatible controller": "0300", "3D controller": "0302", "Display controller": "0380",
    "Processing accelerators": "1200", "Ethernet controller": "0200", "Infiniband controller": "0207",
    "Network controller": "0280", "Non-Volatile memory controller": "0108", "PCI bridge": "0604", "Bridge": "0680",
}  # fmt: skip
_VENDORS = {
    "NVIDIA": "10de", "Intel": "8086", "Advanced Micro Devices": "1022", "ASPEED": "1a03", "Matrox": "102b",
    "Mellanox": "15b3", "Broadcom": "14e4",
}  # fmt: skip
_ROOT = "Host bridge"
_VIRTUAL = "Virtual Function"
_LAST = "\tKernel "
"""What stands at a device's end."""
_LONGEST = 2000


def _of(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.MULTILINE)


_BUSES = _of(r"^[ \t]*Bus: primary=([0-9a-f]{2}), secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})")
_CAP = _of(r"LnkCap:[ \t]+Port #\d+, Speed ([\d.]+)GT/s, Width x(\d+)")
_CAP2 = _of(r"LnkCap2:.* Speeds: (?:[\d.]+-)?([\d.]+)GT/s")
_STATUS = _of(r"LnkSta:[ \t]+Speed ([\d.]+GT/s|unknown)(?: \(\w+\))?, Width x(\d+)")
_ASPM = _of(r"LnkCtl:[ \t]+ASPM ([^;]{1,30});")
_PAYLOAD_CAP = _of(r"DevCap:[ \t]+MaxPayload (\d+) bytes")
_PAYLOAD = _of(r"^[ \t]*MaxPayload (\d+) bytes, MaxReadReq (\d+) bytes")
_CONTROL = _of(r"^[ \t]*RlxdOrd([+-]) ExtTag([+-])")
_ACS_CONTROL = _of(r"ACSCtl:(.*)")
_ACS_CAPABILITY = _of(r"ACSCap:(.*)")
_ATS = _of(r"ATSCtl:[ \t]+Enable([+-])")
_PASID = _of(r"PASIDCtl: Enable([+-])")
_DRIVER = _of(r"^[ \t]*Kernel driver in use: (\S+)")
_NODE = _of(r"^[ \t]*NUMA node: (\d+)")
_GROUP = _of(r"^[ \t]*IOMMU group: (\d+)")


@dataclass(frozen=True)
class Device:
    address: str
    code: str
    vendor: str
    pci_id: str
    is_root: bool
    is_virtual: bool
    is_whole: bool
    text: str

    @property
    def kind(self) -> str:
        return Identity(self.vendor, "", "", f"{self.code}00", "").kind if self.code else ""

    def found(self, expression: re.Pattern[str], group: int = 1) -> str | None:
        match = expression.search(self.text)
        return match[group] if match else None

    def number(self, expression: re.Pattern[str], group: int = 1) -> Seen[int]:
        told = self.found(expression, group)
        return NOT_READ if told is None else int(told)

    def flag(self, expression: re.Pattern[str], group: int = 1) -> Seen[bool]:
        told = self.found(expression, group)
        return NOT_READ if told is None else told == "+"

    def words(self, expression: re.Pattern[str]) -> Seen[tuple[str, ...]]:
        told = self.found(expression)
        return NOT_READ if told is None else tuple(word for word in ACS if f"{word}+" in told)

    @cached_property
    def buses(self) -> tuple[str, str] | None:
        """Of a bridge: the bus above it and the one below."""
        match = _BUSES.search(self.text)
        return (match[1], match[2]) if match else None


def read(text: str, _redactor: Redactor) -> dump.Told:
    devices = {device.address: device for device in _devices(text)}
    whole = any(device.is_root for device in devices.values())
    places = dict(_places(devices)) if whole else {}
    ends = {address: _end(device, places.get(address)) for address, device in _that_matter(devices)}
    above = {bridge for place in places.values() for bridge in place.bridges}
    bridges = {address: _bridge(devices[address], devices, places) for address in sorted(above & devices.keys())}
    both = {**bridges, **ends}
    told = {address: _with_way(address, end, places.get(address), both) for address, end in ends.items()}
    if not told:
        raise ValueError("a list of `lspci` without a GPU, a network card or an NVMe drive")
    pcie = Pcie(
        gpus=Map({address: end for address, end in told.items() if isinstance(end, Gpu)}),
        cards=Map({address: end for address, end in told.items() if isinstance(end, Card)}) if whole else NOT_READ,
        bridges=Map({address: _with_most(address, it, places, both) for address, it in bridges.items()})
        if places
        else NOT_READ,
    )
    doubt = "has no end: there may be more devices" if whole else "of some devices only: there may be more GPUs"
    return dump.of_host({"pcie": pcie})._replace(doubt=f"a list of `lspci` {doubt}")


def _devices(text: str) -> Iterator[Device]:
    starts = [match.start() for match in BEGINS.finditer(text)]
    for start, end in zip(starts, (*starts[1:], len(text)), strict=False):
        line, _, below = text[start:end].partition("\n")
        head = _HEAD.fullmatch(line[:_LONGEST].rstrip())
        if head:
            yield _device(head, below, is_whole=end < len(text) or _LAST in below)


def _device(head: re.Match[str], below: str, *, is_whole: bool) -> Device:
    vendor = next((number for name, number in _VENDORS.items() if head["name"].startswith(name)), "")
    address = head["address"]
    return Device(
        address=address if address.count(":") == 2 else f"0000:{address}",
        code=head["code"] or _CODES.get(head["kind"], ""),
        vendor=(head["id"] or vendor).partition(":")[0],
        pci_id=head["id"] or "",
        is_root=head["kind"] == _ROOT,
        is_virtual=_VIRTUAL in head["name"],
        is_whole=is_whole,
        text=below,
    )


def _that_matter(devices: Mapping[str, Device]) -> Iterator[tuple[str, Device]]:
    """Virtual functions stand beside the card that they are of; in a guest one is all that there is."""
    real = {device.vendor for device in devices.values() if device.kind == "nic" and not device.is_virtual}
    for address, device in devices.items():
        if device.kind not in ("", "bridge") and not (device.is_virtual and device.vendor in real):
            yield address, device


def _places(devices: Mapping[str, Device]) -> Iterator[tuple[str, Place]]:
    """Up to a bus that no bridge leads to; none where a bridge does not tell its buses."""
    over = {
        (address.partition(":")[0], device.buses[1]): address for address, device in devices.items() if device.buses
    }
    if not all(device.buses for device in devices.values() if device.kind == "bridge"):
        return
    for address, _ in _that_matter(devices):
        yield address, _place(address, over)


def _place(address: str, over: Mapping[tuple[str, str], str]) -> Place:
    above: list[str] = []
    domain, bus, _ = address.split(":")
    while (domain, bus) in over and over[domain, bus] not in above:
        above.insert(0, over[domain, bus])
        bus = above[0].split(":")[1]
    return Place(f"pci{domain}:{bus}", tuple(above))


def _function(device: Device, root: Seen[str]) -> dict[str, Any]:
    speed = device.found(_CAP2) or (device.found(_CAP) if device.is_whole else None)
    aspm = device.found(_ASPM)
    return {
        "pci_id": device.pci_id or NOT_READ,
        "driver": device.found(_DRIVER) or NOT_READ,
        "root_bus": root,
        "max_link_speed": NOT_READ if speed is None else _mts(speed),
        "max_link_width": device.number(_CAP, 2),
        "aspm": NOT_READ if aspm is None else _aspm(aspm),
        "max_payload": device.number(_PAYLOAD),
        "max_payload_supported": device.number(_PAYLOAD_CAP),
    }


def _mts(gigatransfers: str) -> int:
    return round(float(gigatransfers) * 1000)


def _aspm(printed: str) -> str:
    return "disabled" if printed == "Disabled" else printed.removesuffix(" Enabled").replace("/", " ").strip()


def _link(device: Device) -> dict[str, Any]:
    speed, width = device.found(_STATUS), device.number(_STATUS, 2)
    if speed is None:
        return {}
    none = Gap("unsupported", "no link is up")
    return {
        "current_link_speed": none if speed == "unknown" else _mts(speed.removesuffix("GT/s")),
        "current_link_width": width or none,
    }


def _end(device: Device, place: Place | None) -> Gpu | Card:
    facts: dict[str, Any] = {
        **_function(device, place.root if place else NOT_READ),
        **_link(device),
        "bridges": place.bridges if place else NOT_READ,
        "numa_node": device.number(_NODE),
        "iommu_group": device.found(_GROUP) or NOT_READ,
        "max_read_request": device.number(_PAYLOAD, 2),
        "relaxed_ordering": device.flag(_CONTROL),
        "extended_tags": device.flag(_CONTROL, 2),
        "ats": device.flag(_ATS),
        "pasid": device.flag(_PASID),
    }
    return Gpu(**facts) if device.kind == "gpu" else Card(**facts, kind=device.kind)


def _bridge(device: Device, devices: Mapping[str, Device], places: Mapping[str, Place]) -> Bridge:
    """Of a port whose link leads away from the CPU, the device below tells it."""
    place = _place_below(device.address, places)
    lower = place.bridges.index(device.address) % 2
    link = _link(device) if lower else dict.fromkeys(("current_link_speed", "current_link_width"), AT_THE_OTHER_END)
    below = (devices[address] for address, one in places.items() if device.address in one.bridges)
    if is_of_a_gpu(device.vendor, ((one.kind, one.vendor) for one in below)) and lower and link:
        link = {**link, "current_link_speed": SLOWS_AT_REST}
    return Bridge(
        **_function(device, place.root),
        **link,
        acs_control=device.words(_ACS_CONTROL),
        acs_capability=device.words(_ACS_CAPABILITY),
    )


def _place_below(bridge: str, places: Mapping[str, Place]) -> Place:
    """Of a device below it."""
    return next(place for place in places.values() if bridge in place.bridges)


def _with_most(address: str, bridge: Bridge, places: Mapping[str, Place], told: Told) -> Bridge:
    return replace(bridge, **usable(_place_below(address, places), address, told))


def _with_way(address: str, end: Gpu | Card, place: Place | None, told: Told) -> Gpu | Card:
    if place is None:
        return end
    return replace(end, narrowest=narrowest(links_to(place, address), told), **usable(place, address, told))
