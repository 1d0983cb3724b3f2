"""Each file that is read of the network may be anything, or vanish: gaps, never a crash or a wrong value."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fingerprint.sections import leaves
from probes.kit.facts import Gap
from probes.kit.host import Host
from tests.probes.network.machine import files, machine, network

PATHS = sorted(path for path in files() if not path.endswith("/x"))
HUGE = "9" * 5_000
SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def become(content: bytes) -> Callable[[Path], None]:
    return lambda path: (path.write_bytes(content), None)[1]


def be_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def be_a_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def larger_than_may_be_read(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(32 << 20)


TRAPS: dict[str, Callable[[Path], None]] = {
    "gone": Path.unlink,
    "empty": become(b""),
    "binary": become(bytes(range(256))),
    "no number": become(b"0x\n"),
    "huge number": become(HUGE.encode()),
    "beyond 64 bits": become(b"9" * 40),
    "negative": become(b"-7\n"),
    "many lines": become(b"1 2 3\n" * 1000),
    "folder": be_a_folder,
    "fifo": be_a_fifo,
    "large": larger_than_may_be_read,
}


@pytest.mark.parametrize("trap", TRAPS)
def test_with_each_file_a_trap_the_section_is_told_all_the_same(tmp_path: Path, trap: str) -> None:
    """All at once; a strict decode is part of the reading."""
    host = machine(tmp_path)
    for path in PATHS[:: 30 if trap == "large" else 1]:
        TRAPS[trap](tmp_path / path.lstrip("/"))
    network(host)


def values(host: Host) -> dict[tuple[str, ...], Any]:
    return {leaf.names: leaf.value for leaf in leaves(network(host))}


@pytest.mark.long
@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(path=st.sampled_from(PATHS), content=st.binary(max_size=64))
def test_one_broken_file_costs_what_is_made_of_it_alone(tmp_path: Path, path: str, content: bytes) -> None:
    folder = tmp_path / "machine"
    shutil.rmtree(folder, ignore_errors=True)
    host = machine(folder)
    whole = values(host)
    (folder / path.lstrip("/")).write_bytes(content)
    broken = values(host)
    name = path.split("/")[4] if path.startswith("/sys/class/net/") else ""
    moved = {names for names in {*whole, *broken} if whole.get(names) != broken.get(names)}
    assert all(is_about(names, path, name) for names in moved), (path, content)


def is_about(names: tuple[str, ...], path: str, interface: str) -> bool:
    """The fact has the file's own name, or says what is derived from it."""
    file = path.rpartition("/")[2]
    derived = {
        "route": ("routes",), "uevent": ("kind",), "type": ("kind",), "mtu": ("mtu", "active_mtu"),
        "rate": ("rate", "width_speed"), "link_layer": ("link_layer", "active_mtu"), "0": ("gids", "pkeys", "netdev"),
        "modules.symbols": ("dma_buf",), "osrelease": ("dma_buf",), "ad_num_ports": ("ports",), "1": ("gids", "pkeys"),
        "2": ("gids",), "3": ("ecn",), "cnp_dscp": ("ecn",), "rpg_ai_rate": ("ecn",), "numa_node": ("numa_node",),
    }  # fmt: skip
    about = derived.get(file, (file,))
    return any(part in names for part in about) or (file == "0" and "active_mtu" in names)


def test_links_that_lead_nowhere_or_elsewhere_are_no_slots(tmp_path: Path) -> None:
    host = machine(tmp_path)
    for name, target in (("enp1", "nowhere"), ("enp2", "../../../0000:zz:00.0"), ("mgmt", "/etc/shadow")):
        link = tmp_path / f"sys/class/net/{name}/device"
        link.unlink()
        link.symlink_to(target)
    slots = {
        names[1]: value
        for names, value in values(host).items()
        if names[-1] == "pci_address" and names[0] == "interfaces"
    }
    assert all(isinstance(slot, Gap) for slot in slots.values())


def test_a_table_without_end_is_read_up_to_a_bound(tmp_path: Path) -> None:
    port = "/sys/class/infiniband/mlx5_0/ports/1"
    more = {f"{port}/pkeys/{at}": "0x8001\n" for at in range(140)}
    more |= {f"{port}/gids/{at}": f"fe80:{at:04x}\n" for at in range(20)}
    more |= {f"{port}/hw_counters/error_{at}": "1\n" for at in range(270)}
    found = network(machine(tmp_path, more))
    one = msgspec.to_builtins(found)["rdma"]["items"]["mlx5_0"]["ports"]["items"]["1"]
    assert (len(one["pkeys"]), len(one["gids"]["items"])) == (128, 16)
    assert len(one["hw_errors"]["items"]) <= 256
