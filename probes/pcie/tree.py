"""Where a device hangs: the bridges above it, and how far two devices are from each other.

All of it is in one link of sysfs: /sys/bus/pci/devices/0000:05:00.0 leads to
../../../devices/pci0000:00/0000:00:03.0/0000:02:00.0/0000:03:08.0/0000:05:00.0, the root bus first.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from probes.kit.facts import Gap, Seen, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex

DEVICES = "/sys/bus/pci/devices"
NODES = "/sys/devices/system/node/online"

# Classes as in the PCI Code and ID Assignment Specification: displays and accelerators; 0604 and 0609 join PCI buses.
ACCELERATORS, OTHER_BRIDGE = ("03", "12"), "0680"
KINDS: Mapping[str, str] = {"02": "nic", "0108": "nvme", "0604": "bridge", "0609": "bridge"}
INTEL, AMD, NVIDIA = "8086", "1022", "10de"
MANAGEMENT = ("1a03", "102b")
"""ASPEED and Matrox: the screens of a board's management controller."""
_ADDRESS = lazy_regex(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_CHIPSET_PORTS = range(0x1B, 0x1E)
"""Root ports of a chipset of Intel are devices 27, 28 and 29 of bus 0 (datasheets of the 6 to 800 series)."""


class Identity(NamedTuple):
    """What `uevent` tells of a function, in lower case. driver: `none` where none has it."""

    vendor: str
    device: str
    subsystem: str
    code: str
    driver: str

    @property
    def kind(self) -> str:
        """`gpu`, `nic`, `nvme`, `nvswitch` or `bridge`; empty for what does not matter here."""
        if self.code.startswith(ACCELERATORS):
            return "" if self.vendor in MANAGEMENT else "gpu"
        if self.code.startswith(OTHER_BRIDGE) and self.vendor == NVIDIA:
            return "nvswitch"
        return next((kind for code, kind in KINDS.items() if self.code.startswith(code)), "")


def is_of_a_gpu(vendor: str, below: Iterable[tuple[str, str]]) -> bool:
    """Whether a switch is on a GPU's own board: nothing but GPUs of its maker is below. below: kinds and vendors."""
    return all(one == ("gpu", vendor) for one in below)


class Place(NamedTuple):
    """The root bus, `pci0000:00`, and the addresses of the bridges above, the root port first."""

    root: str
    bridges: tuple[str, ...]


def read_identity(host: Host, address: str) -> Seen[Identity]:
    return then(host.text(f"{DEVICES}/{address}/uevent"), _identity)


def _identity(text: str) -> Identity:
    told = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    vendor, _, device = told["PCI_ID"].lower().partition(":")
    code = f"{int(told['PCI_CLASS'], 16):06x}"
    return Identity(vendor, device, told.get("PCI_SUBSYS_ID", "").lower(), code, told.get("DRIVER", "none"))


def read_place(host: Host, address: str) -> Seen[Place]:
    return then(host.link(f"{DEVICES}/{address}"), _place)


def _place(link: str) -> Place:
    """Of a drive behind a volume management device, and of what a hypervisor hands in, the innermost root counts."""
    names = link.split("/")
    root = max(at for at, name in enumerate(names) if name[:3] == "pci" and ":" in name)
    return Place(names[root], tuple(name for name in names[root + 1 : -1] if is_address(name)))


def is_address(name: str) -> bool:
    """Of a function: `0000:17:00.0`, `10000:e1:00.0`."""
    return _ADDRESS.fullmatch(name) is not None


def links_to(place: Place, address: str) -> tuple[tuple[str, str], ...]:
    """The links on the way, from the root port down: the address at the upper end and that at the lower one.

    Ports alternate: below a root port or a switch's lower port is a link, between a switch's two ports is none. Of
    a device that a guest sees on its root bus there may be a link all the same.
    """
    ends = (*place.bridges, address) if place.bridges else (address, address)
    return tuple((ends[at], ends[at + 1]) for at in range(0, len(ends) - 1, 2))


def attachment(place: Place, address: str, identities: Mapping[str, Identity]) -> Seen[str]:
    """Whether the lanes end at a CPU or at a chipset, which shares a few of the CPU's among all that hangs there."""
    ends = (*place.bridges, address)
    first = identities.get(ends[0])
    if first is None or first.vendor not in (INTEL, AMD):
        return Gap("not_observable", "only of CPUs and chipsets of Intel and AMD is known what their ports are")
    if first.vendor == INTEL:
        bus, _, function = ends[0].partition(":")[2].partition(":")
        return "chipset" if bus == "00" and int(function[:2], 16) in _CHIPSET_PORTS else "cpu"
    return "chipset" if any(identities[end].vendor == AMD for end in ends[1:] if end in identities) else "cpu"


class Spot(NamedTuple):
    """Where a device is, and on which memory node."""

    place: Place
    node: Seen[int]


def distance(one: Spot, other: Spot, online: Seen[str]) -> Seen[str]:
    """As `nvidia-smi topo -m` has it: PIX through one switch, PXB through more, PHB through the host bridge, NODE
    between host bridges of one memory node, SYS between nodes. online: the host's nodes."""
    if one.place.root != other.place.root:
        return _between_nodes(one.node, other.node, online)
    shared = _shared(one.place.bridges, other.place.bridges)
    if not shared:
        return "PHB"
    below = (len(spot.place.bridges) - shared for spot in (one, other))
    return "PIX" if max(below) < 2 else "PXB"


def _shared(one: Iterable[str], other: Iterable[str]) -> int:
    pairs = list(zip(one, other, strict=False))
    return next((at for at, (a, b) in enumerate(pairs) if a != b), len(pairs))


def _between_nodes(one: Seen[int], other: Seen[int], online: Seen[str]) -> Seen[str]:
    if online == "0":
        return "NODE"
    return then(one, lambda a: then(other, lambda b: "NODE" if a == b else "SYS"))
