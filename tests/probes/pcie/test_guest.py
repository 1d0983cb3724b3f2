"""A guest with four memory nodes and a PCI bus of two levels of switches: what is told of it is what lspci, numactl
and lscpu say inside."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

from fingerprint.sections import decoder_of, leaves
from probes.cpu import Cpu
from probes.kit.facts import Gap, Map, Section
from probes.numa import Numa
from probes.pcie.sections import Bridge, Card, Gpu, Pcie
from tests.probes.pcie import guest

ROOT = Path(__file__).parents[3]
NODES, DISTANCES = 4, ((10, 12, 32, 32), (12, 10, 32, 32), (32, 32, 10, 12), (32, 32, 12, 10))
BUSES = (("a", 0x40, 0), ("b", 0x80, 0), ("c", 0xC0, 2))
"""Root buses beside the first one: name, number, memory node."""
QUOTA = "50000 100000"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not all(map(shutil.which, (guest.QEMU, guest.BUSYBOX, "apt-get", "lspci", "numactl", "lscpu"))),
        reason="needs qemu-system-x86, busybox-static, pciutils and numactl, and apt-get for Debian's kernel",
    ),
]

Device = Gpu | Card | Bridge
S = TypeVar("S", bound=Section)


def devices() -> Iterator[str]:
    """What qemu is asked for: a display, which counts as a GPU, below a switch, below two, beside it, at another root
    bus of the node, at one of another node; a drive and cards."""
    for node in range(NODES):
        yield from ("-object", f"memory-backend-ram,id=m{node},size=256M")
        yield from ("-numa", f"node,nodeid={node},cpus={2 * node}-{2 * node + 1},memdev=m{node}")
    for one in range(NODES):
        for other in range(one + 1, NODES):
            yield from ("-numa", f"dist,src={one},dst={other},val={DISTANCES[one][other]}")
    for bus, number, node in BUSES:
        yield from ("-device", f"pxb-pcie,id={bus},bus_nr={number},numa_node={node},bus=pcie.0")
    for device in (
        "intel-iommu",
        "pcie-root-port,id=a1,bus=a,chassis=1,slot=1,x-speed=16,x-width=16",
        "x3130-upstream,id=up,bus=a1",
        *(f"xio3130-downstream,id=down{at},bus=up,chassis=1{at},slot=1{at}" for at in range(4)),
        "nvme,bus=down0,serial=one",
        "e1000e,bus=down1",
        "bochs-display,bus=down2",
        "x3130-upstream,id=up2,bus=down3",
        "xio3130-downstream,id=down4,bus=up2,chassis=20,slot=20",
        "bochs-display,bus=down4",
        "pcie-root-port,id=a2,bus=a,chassis=2,slot=2,x-speed=8,x-width=4",
        "bochs-display,bus=a2",
        "pcie-root-port,id=b1,bus=b,chassis=3,slot=3",
        "bochs-display,bus=b1",
        "pcie-root-port,id=c1,bus=c,chassis=4,slot=4",
        "bochs-display,bus=c1",
        "e1000e,bus=pcie.0",
    ):
        yield from ("-device", device)


MACHINE = (
    "-machine", "q35,kernel-irqchip=split,accel=tcg", "-cpu", "max", "-smp", "8,sockets=4,cores=2,threads=1",
    "-m", "1024", "-vga", "none", "-nic", "none", *devices(),
)  # fmt: skip
GROUP = "/sys/fs/cgroup/measured"
TOLD = f"PYTHONDONTWRITEBYTECODE=1 {sys.executable} -m tests.probes.pcie.told"
PORT, NIC = "0000:40:00.0", "0000:44:00.0"
SET = {
    f"bridges/{PORT}/acs_control": f"setpci -s {PORT} ECAP_ACS+6.w=0000",
    f"cards/{NIC}/power/d3cold_allowed": f"echo 0 > /sys/bus/pci/devices/{NIC}/d3cold_allowed",
    "aspm_policy": "echo performance > /sys/module/pcie_aspm/parameters/policy",
}
"""What sets each fact of the area to another value; most registers of qemu's devices take none."""
STATUS = f"cat /sys/bus/pci/devices/{NIC}/power/runtime_status"
ASLEEP = (
    f"echo {NIC} > /sys/bus/pci/drivers/e1000e/unbind; echo auto > /sys/bus/pci/devices/{NIC}/power/control; sleep 1"
)
COMMANDS = {
    "told": f"echo +cpu > /sys/fs/cgroup/cgroup.subtree_control; mkdir {GROUP}; echo '{QUOTA}' > {GROUP}/cpu.max; "
    f"cd {ROOT} && (echo 0 > {GROUP}/cgroup.procs; {TOLD} pcie numa cpu process)",
    "lspci": "lspci -D -nn -vvv 2>/dev/null",
    "ways": "lspci -D -PP 2>/dev/null",
    "numactl": "numactl -H",
    "lscpu": "lscpu -p=CPU,CORE,SOCKET,NODE",
    "set": f"{'; '.join(SET.values())}; cd {ROOT} && {TOLD} pcie",
    "asleep": f"{ASLEEP}; cd {ROOT} && {TOLD} pcie",
    "status": STATUS,
}


class Told(NamedTuple):
    """pcie, numa, cpu, process: as root. plain: pcie as nobody. after: with all of SET. asleep: after that, with
    a card that nobody has. said: the commands' answers."""

    pcie: Pcie
    numa: Numa
    cpu: Cpu
    process: Any
    plain: Pcie
    after: Pcie
    asleep: Pcie
    said: Mapping[str, str]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("kernel")
    try:
        yield guest.download_kernel(folder)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        pytest.skip(f"apt-get has no kernel for us: {error}")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def told(kernel: Path, tmp_path_factory: pytest.TempPathFactory) -> Told:
    said = guest.asked(kernel, MACHINE, COMMANDS, tmp_path_factory.mktemp("guest"))
    found = json.loads(said["told"])
    root = found["root"]
    return Told(
        _section(Pcie, root["pcie"]), _section(Numa, root["numa"]), _section(Cpu, root["cpu"]), root["process"],
        _section(Pcie, found["nobody"]["pcie"]), _section(Pcie, json.loads(said["set"])["root"]["pcie"]),
        _section(Pcie, json.loads(said["asleep"])["root"]["pcie"]), said,
    )  # fmt: skip


def _section(kind: type[S], facts: object) -> S:
    return decoder_of(kind)(json.dumps(facts).encode())


def items(found: Any) -> dict[str, Any]:
    assert isinstance(found, Map)
    return dict(found.items)


def all_of(found: Pcie) -> dict[str, Device]:
    return {**items(found.gpus), **items(found.cards), **items(found.bridges)}


def blocks(text: str) -> dict[str, str]:
    """What lspci says of each function, by address."""
    found = (block.partition(" ") for block in re.split(r"\r?\n\r?\n", text) if block.strip())
    return {address.strip(): rest for address, _, rest in found}


def said_of(block: str, pattern: str) -> str | None:
    found = re.search(pattern, block)
    return found[1] if found else None


def signs(block: str, name: str) -> tuple[str, ...] | None:
    """Of a line of lspci as `ACSCtl: SrcValid+ TransBlk-`, what has a plus."""
    line = said_of(block, rf"{name}:\s*(.*)")
    return None if line is None else tuple(re.findall(r"(\w+)\+", line))


def plain(seen: object) -> object:
    return None if isinstance(seen, Gap) else seen


def test_what_is_there_is_what_was_asked_for(told: Told) -> None:
    assert len(items(told.pcie.gpus)) == 5
    assert sorted(card.kind for card in items(told.pcie.cards).values()) == ["nic", "nic", "nvme"]
    assert len(items(told.pcie.bridges)) == 4 + 2 + 5


def test_the_bridges_above_each_device_are_those_of_lspci(told: Told) -> None:
    ways = [line.split()[0].split("/") for line in told.said["ways"].splitlines()]
    above = {f"0000:{way[-1].removeprefix('0000:')}": way[:-1] for way in ways}
    for address, device in {**items(told.pcie.gpus), **items(told.pcie.cards)}.items():
        assert [f"0000:{bridge.removeprefix('0000:')}" for bridge in above[address]] == list(device.bridges)


def test_registers_say_what_lspci_says(told: Told) -> None:
    said = blocks(told.said["lspci"])
    compared = 0
    for address, device in all_of(told.pcie).items():
        block = said[address]
        pairs = {
            "max_payload": said_of(block, r"MaxPayload (\d+) bytes, MaxReadReq"),
            "max_payload_supported": said_of(block, r"DevCap:\s*MaxPayload (\d+) bytes"),
            "max_link_width": said_of(block, r"LnkCap:.*Width x([1-9]\d*)"),  # of qemu's lower ports it is 0
            "driver": said_of(block, r"Kernel driver in use: (\S+)") or "none",
        }
        for name, value in pairs.items():
            assert str(plain(getattr(device, name))) == str(value), (address, name)
        speed = said_of(block, r"LnkCap:.*Speed ([\d.]+)GT/s")
        assert plain(device.max_link_speed) == (round(float(speed) * 1000) if speed else None), address
        assert plain(device.aspm) == {"Disabled": "disabled", "L1 Enabled": "L1", None: None}[
            said_of(block, r"LnkCtl:\s*ASPM ([^;]*);")
        ]  # fmt: skip
        compared += len(pairs) + 2
    assert compared >= 6 * 19


def test_links_and_requests_of_devices_are_those_of_lspci(told: Told) -> None:
    said = blocks(told.said["lspci"])
    for address, device in {**items(told.pcie.gpus), **items(told.pcie.cards)}.items():
        block = said[address]
        speed, width = (said_of(block, f"LnkSta:.*{word}") for word in (r"Speed ([\d.]+)GT/s", r"Width x(\d+)"))
        assert plain(device.current_link_speed) == (round(float(speed) * 1000) if speed else None), address
        assert str(plain(device.current_link_width)) == str(width), address
        control = said_of(block, r"RlxdOrd(\S)")
        assert plain(device.relaxed_ordering) == (control == "+" if control else None), address
        assert str(plain(device.max_read_request)) == str(said_of(block, r"MaxReadReq (\d+)")), address
        tags = said_of(block, r"RlxdOrd\S ExtTag(\S)")
        assert plain(device.extended_tags) == (tags == "+" if tags else None), address


def test_access_control_is_what_lspci_says_of_each_bridge(told: Told) -> None:
    said = blocks(told.said["lspci"])
    found = {address: plain(bridge.acs_control) for address, bridge in items(told.pcie.bridges).items()}
    assert found == {address: signs(said[address], "ACSCtl") for address in found}
    assert any("ReqRedir" in control for control in found.values() if isinstance(control, tuple))


def test_groups_of_the_iommu_are_those_of_lspci_and_translate(told: Told) -> None:
    said = blocks(told.said["lspci"])
    ends = {**items(told.pcie.gpus), **items(told.pcie.cards)}
    assert {address: end.iommu_group for address, end in ends.items()} == {
        address: said_of(said[address], r"IOMMU group: (\d+)") for address in ends
    }
    assert told.pcie.iommu.mode == "translated"
    assert told.pcie.iommu.units == ("dmar0",)


@pytest.mark.parametrize(("line", "mode"), [("intel_iommu=on iommu=pt", "passthrough"), ("intel_iommu=off", "none")])
def test_what_the_kernels_line_makes_of_the_iommu(kernel: Path, tmp_path: Path, line: str, mode: str) -> None:
    said = guest.asked(kernel, MACHINE, {"told": f"cd {ROOT} && {TOLD} pcie"}, tmp_path, line)
    found = json.loads(said["told"])
    for user in ("root", "nobody"):
        assert _section(Pcie, found[user]["pcie"]).iommu.mode == mode


def test_regions_of_memory_are_those_of_lspci(told: Told) -> None:
    units = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    for address, gpu in items(told.pcie.gpus).items():
        block = blocks(told.said["lspci"])[address]
        sizes = {
            int(at): int(size) * units[unit]
            for at, size, unit in re.findall(r"Region (\d): .*\[size=(\d+)(\w?)\]", block)
        }
        assert {at: size for at, size in enumerate(gpu.bars) if size} == sizes


def test_distances_are_as_the_bus_was_built(told: Told) -> None:
    """The first display hangs below the switch that has the drive and a card as well."""
    gpus = items(told.pcie.gpus)
    first = next(address for address, gpu in gpus.items() if len(gpu.bridges) == 3)
    words = [plain(distance) or distance.code for distance in items(gpus[first].distances).values()]
    assert sorted(map(str, words)) == ["NODE", "PHB", "PIX", "PXB", "SYS", "unsupported"]


def test_nobody_is_told_the_same_links_and_no_registers(told: Told) -> None:
    root, nobody = all_of(told.pcie), all_of(told.plain)
    assert root.keys() == nobody.keys()
    for address, device in root.items():
        other = nobody[address]
        for name in ("max_link_width", "max_link_speed", "current_link_speed", "current_link_width", "driver", "power"):
            assert getattr(device, name) == getattr(other, name), (address, name)
        assert isinstance(other.max_payload, Gap)
        assert other.max_payload.code == "denied"


def test_what_is_set_moves_the_fact_of_its_name_and_no_other_one(told: Told) -> None:
    before, after = (
        {"/".join(leaf.names): leaf.value for leaf in leaves(found) if leaf.fact.lasting}
        for found in (told.pcie, told.after)
    )
    assert {path for path in before if before[path] != after[path]} == set(SET)
    assert before.keys() == after.keys()


def test_a_card_that_sleeps_is_not_woken(told: Told) -> None:
    card = items(told.asleep.cards)[NIC]
    assert (card.driver, card.power.runtime_status, card.pci_id) == ("none", "suspended", "8086:10d3")
    for gap in (card.current_link_speed, card.max_link_width, card.max_payload, card.aspm):
        assert isinstance(gap, Gap)
        assert gap.code == "asleep"
    assert told.said["status"].strip() == "suspended"


def test_memory_nodes_are_those_of_numactl(told: Told) -> None:
    nodes = items(told.numa.nodes)
    cpus = dict(re.findall(r"^node (\d+) cpus: (.*?)\s*$", told.said["numactl"], re.M))
    rows = dict(re.findall(r"^\s+(\d+):\s+([\d ]+?)\s*$", told.said["numactl"], re.M))
    assert len(nodes) == len(cpus) == len(rows) == NODES
    for number, near in cpus.items():
        one = nodes[f"node{number}"]
        first, _, last = one.cpus.partition("-")
        assert [str(cpu) for cpu in range(int(first), int(last) + 1)] == near.split()
        assert one.distance == tuple(map(int, rows[number].split())) == DISTANCES[int(number)]


def test_cpus_are_those_of_lscpu(told: Told) -> None:
    rows = [line.split(",") for line in told.said["lscpu"].split() if line[0].isdigit()]
    assert (told.cpu.threads, told.cpu.cores) == (len(rows), len({(row[1], row[2]) for row in rows}))
    assert len(items(told.cpu.packages)) == len({row[2] for row in rows})


def test_the_quota_of_a_group_of_version_2_is_what_was_written(told: Told) -> None:
    assert told.process["cgroup"]["cpu_max"] == QUOTA
    assert any(path.endswith("/measured") for path in told.process["cgroup"]["path"]["items"].values())
