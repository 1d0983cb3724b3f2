"""A made-up server: three GPUs and a card below a switch whose link to the CPU is half of what it could be, one GPU at
the other socket, and a drive at the chipset."""

from pathlib import Path

from probes.kit.host import Host
from tests.probes.pcie.bus import (
    FULL,
    GPU,
    LOWER_PORT,
    NIC,
    NVME,
    PORT,
    ROOT_PORT,
    UPPER_PORT,
    Function,
    Link,
    acs,
    bus,
    space,
)

AT_REST = Link(1, 16, 5, 16)
HALF = Link(4, 8, 5, 16)
REDIRECTING = acs(0x5F, 0x1D)
CHIPSET = Link(4, 4, 4, 4)
PORT_16, UP, LOW_A, LOW_B, LOW_C = "0000:16:01.0", "0000:17:00.0", "0000:18:00.0", "0000:18:01.0", "0000:18:02.0"
GPU_A, GPU_B, CARD = "0000:19:00.0", "0000:1a:00.0", "0000:1b:00.0"
UP_2, LOW_2, GPU_C = "0000:1c:00.0", "0000:1d:00.0", "0000:1e:00.0"
PORT_96, GPU_D = "0000:96:01.0", "0000:97:00.0"
PORT_00, DRIVE = "0000:00:1c.4", "0000:01:00.0"
SWITCH = f"pci0000:16/{PORT_16}/{UP}"
BARS = "".join(
    f"0x{first:016x} 0x{last:016x} 0x{flags:016x}\n"
    for first, last, flags in (
        (0xF5000000, 0xF5FFFFFF, 0x40200),
        (0x18000000000, 0x18FFFFFFFFF, 0x14220C),
        (0, 0, 0),
        (0x19000000000, 0x19001FFFFFF, 0x14220C),
        (0, 0, 0),
        (0, 0, 0),
    )
)
RESIZABLE = bytes.fromhex("f0 ff 1f 00 21 10 00 00")  # one region, the second one, up to 64 GiB


def gpu(place: str, link: Link = AT_REST, node: int = 0) -> Function:
    config = space(link=link, rebar=RESIZABLE, ats=b"\x00\x00\x00\x80")
    return Function(place, GPU, config=config, node=node, group="7", files={"resource": BARS})


def port(place: str, kind: int, link: Link = FULL, pci_id: str = "1000:C030", acs: bytes = b"") -> Function:
    extended = {"acs": acs} if acs else {}
    return Function(place, PORT, pci_id, space(kind, link, 0x2037, 0, **extended), "pcieport")


FUNCTIONS = (
    port(f"pci0000:16/{PORT_16}", ROOT_PORT, HALF, "8086:352A", acs=REDIRECTING),
    port(SWITCH, UPPER_PORT, HALF),
    port(f"{SWITCH}/{LOW_A}", LOWER_PORT, AT_REST, acs=acs(0x5F, 0)),
    gpu(f"{SWITCH}/{LOW_A}/{GPU_A}"),
    port(f"{SWITCH}/{LOW_B}", LOWER_PORT, AT_REST, acs=REDIRECTING),
    gpu(f"{SWITCH}/{LOW_B}/{GPU_B}"),
    port(f"{SWITCH}/{LOW_C}", LOWER_PORT, FULL),
    Function(f"{SWITCH}/{LOW_C}/{CARD}", NIC, "15B3:1021", space(control=0x5937), "mlx5_core", group="8",
             files={"sriov_numvfs": "0\n"}),
    port(f"{SWITCH}/0000:18:03.0", LOWER_PORT),
    port(f"{SWITCH}/0000:18:03.0/{UP_2}", UPPER_PORT),
    port(f"{SWITCH}/0000:18:03.0/{UP_2}/{LOW_2}", LOWER_PORT),
    gpu(f"{SWITCH}/0000:18:03.0/{UP_2}/{LOW_2}/{GPU_C}"),
    port(f"pci0000:96/{PORT_96}", ROOT_PORT, FULL, "8086:352A"),
    gpu(f"pci0000:96/{PORT_96}/{GPU_D}", FULL, node=1),
    port(f"pci0000:00/{PORT_00}", ROOT_PORT, CHIPSET, "8086:7A3C"),
    Function(f"pci0000:00/{PORT_00}/{DRIVE}", NVME, "144D:A80C", space(link=CHIPSET), "nvme", group="9"),
    Function("pci0000:00/0000:00:02.0", "030000", "1A03:2000", driver="ast"),
    Function("pci0000:00/0000:00:1f.3", "040300", "8086:7A50", driver="snd_hda_intel"),
)  # fmt: skip
FILES = {
    "/sys/devices/system/node/online": "0-1\n",
    "/sys/module/pcie_aspm/parameters/policy": "[default] performance powersave powersupersave \n",
    "/sys/class/iommu/dmar0/uevent": "",
    **{f"/sys/kernel/iommu_groups/{group}/type": "DMA-FQ\n" for group in "789"},
}


def server(root: Path, *more: Function, without: tuple[str, ...] = ()) -> Host:
    """without: addresses that are not there, or are there as `more` has them."""
    kept = (one for one in FUNCTIONS if one.address not in without)
    return bus(root, *kept, *more, files=FILES)
