"""The bus and the network of a machine, made up around its GPUs as NVML's answers place them: half of them at each
socket, of more than two each pair below a switch; of eight a network card below each switch."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from probes.kit.facts import Section
from probes.kit.probe import HOST, discover
from tests.probes.network.machine import RDMA, ROUTE, adapter
from tests.probes.network.machine import card as interface
from tests.probes.pcie.bus import FULL, LOWER_PORT, NIC, NVME, ROOT_PORT, UPPER_PORT, Function, Link, acs, bus, space
from tests.probes.pcie.server import port

WITH_CARDS = 8
FREE = acs(0x5F, 0)
"""Of a port that could send what peers say to each other up to the root, and does not."""
_DRIVE = Link(4, 4, 4, 4)
_NO_REGION = "0x0 0x0 0x0\n"
_FIRST = 1 << 40
_ASKS_MUCH = space(control=0x5937)
_NO_ERRORS = {
    "aer_dev_correctable": "RxErr 0\nBadTLP 0\nBadDLLP 0\nRollover 0\nTimeout 0\nTOTAL_ERR_COR 0\n",
    "aer_dev_nonfatal": "TOTAL_ERR_NONFATAL 0\n",
    "aer_dev_fatal": "TOTAL_ERR_FATAL 0\n",
}


class Board(NamedTuple):
    """slot: its address. pci_id: VENDOR:DEVICE. window: bytes of its memory that others reach at once."""

    slot: str
    pci_id: str
    generation: int
    window: int


def sections_of(boards: Sequence[Board]) -> Mapping[str, Section]:
    """The areas pcie and network."""
    switches = [boards[at : at + 2] for at in range(0, len(boards), 2)] if len(boards) > 2 else []
    cards = [_beside(pair[0].slot) for pair in switches] if len(boards) == WITH_CARDS else []
    files = {
        "/sys/devices/system/node/online": "0-1\n" if len(boards) > 1 else "0\n",
        "/sys/module/pcie_aspm/parameters/policy": "[default] performance powersave powersupersave\n",
        **_network(len(cards)),
    }
    with TemporaryDirectory() as folder:
        host = bus(Path(folder), *_functions(boards, switches, cards), files=files)
        for at, slot in enumerate(cards):
            Path(folder, f".{RDMA}/mlx5_{at}/device").symlink_to(f"../../../{slot}")
        return {area: discover([area])[area].read(host, HOST) for area in ("pcie", "network")}


def _functions(
    boards: Sequence[Board], switches: Sequence[Sequence[Board]], cards: Sequence[str]
) -> Iterator[Function]:
    yield port("pci0000:00/0000:00:1d.0", ROOT_PORT, _DRIVE, "8086:A190")
    yield Function(
        "pci0000:00/0000:00:1d.0/0000:01:00.0", NVME, "144D:A80C", space(link=_DRIVE), "nvme", files=_NO_ERRORS
    )
    nodes = {board.slot: int(at >= (len(boards) + 1) // 2) for at, board in enumerate(boards)}
    for board in () if switches else boards:
        above = f"pci0000:{_bus(board, 1)}/0000:{_bus(board, 1)}:01.0"
        yield port(above, ROOT_PORT, FULL, "8086:352A", acs=FREE)
        yield _gpu(board, above, nodes[board.slot])
    for at, pair in enumerate(switches):
        root, upper, lower = (f"0000:{_bus(pair[0], up)}" for up in (3, 2, 1))
        above = f"pci{root}/{root}:01.0/{upper}:00.0"
        yield port(f"pci{root}/{root}:01.0", ROOT_PORT, FULL, "8086:352A", acs=FREE)
        yield port(above, UPPER_PORT)
        for number, board in enumerate(pair):
            yield port(f"{above}/{lower}:{number:02}.0", LOWER_PORT, acs=FREE)
            yield _gpu(board, f"{above}/{lower}:{number:02}.0", nodes[board.slot])
        for slot in cards[at : at + 1]:
            yield port(f"{above}/{lower}:02.0", LOWER_PORT, acs=FREE)
            where = f"{above}/{lower}:02.0/{slot}"
            yield Function(where, NIC, "15B3:1021", _ASKS_MUCH, "mlx5_core", nodes[pair[0].slot], files=_NO_ERRORS)


def _gpu(board: Board, above: str, node: int) -> Function:
    regions = f"0x{_FIRST:x} 0x{_FIRST + board.window - 1:x} 0x14220c\n"
    at_rest = Link(1, 16, board.generation, 16)
    files = {"resource": f"{_NO_REGION}{regions}{_NO_REGION * 4}", **_NO_ERRORS}
    return Function(f"{above}/{board.slot}", "030200", board.pci_id, space(link=at_rest), node=node, files=files)


def _bus(board: Board, before: int) -> str:
    return f"{int(board.slot[5:7], 16) - before:02x}"


def _beside(slot: str) -> str:
    return f"0000:{int(slot[5:7], 16) + 4:02x}:00.0"


def _network(adapters: int) -> Mapping[str, str]:
    """One interface by which all leave, and adapters for other hosts."""
    route = f"{ROUTE}eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
    found = {**interface("eth0", speed="25000", mtu="1500"), "/proc/net/route": route}
    for at in range(adapters):
        found |= adapter(f"mlx5_{at}")
    return found
