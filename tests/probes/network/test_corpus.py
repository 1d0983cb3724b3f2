"""Trees and texts of real adapters: FINGERPRINT_CORPUS names the folder.

Each fact is held against what another reader finds in the same file.
"""

import os
import re
import runpy
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fingerprint.sections import leaves
from probes.kit.facts import Gap
from probes.kit.host import Host
from probes.network.ports import megabits
from tests.probes.network.machine import items, network

CORPUS = Path(os.environ.get("FINGERPRINT_CORPUS", "/nonexistent"))
ADAPTERS = "sysfs/gpud_sys-class-infiniband.tar.gz"
FIXTURES = "sysfs/procfs_fixtures.ttar"
SCRIPT = Path(__file__).parents[3] / "scripts" / "record_hosts.py"
PARTS = ("counters", "hw_counters", "state", "phys_state", "rate", "link_layer")
NOT_READ = re.compile(r"^lifespan$|cast_(?:rcv|xmit)_packets$")
MAPS = ("hw_errors", "hw_congestion", "hw_counters")

pytestmark = pytest.mark.skipif(not (CORPUS / "raw" / ADAPTERS).exists(), reason="FINGERPRINT_CORPUS holds no adapters")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """By archive, the folder that stands for the root of the machine."""
    script = runpy.run_path(str(SCRIPT))
    folders = {archive: tmp_path_factory.mktemp("corpus") for archive in (ADAPTERS, FIXTURES)}
    script["unpack"](CORPUS / "raw" / ADAPTERS, folders[ADAPTERS])
    for path, content in script["ttar_files"]((CORPUS / "raw" / FIXTURES).read_text()):
        if path.startswith("fixtures/sys/class/"):
            file = folders[FIXTURES] / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    adapters = folders[ADAPTERS] / "sys/class"
    adapters.mkdir(parents=True)
    (found,) = folders[ADAPTERS].rglob("sys-class-infiniband-*")
    found.rename(adapters / "infiniband")
    folders[FIXTURES] /= "fixtures"
    (folders[FIXTURES] / "sys/class/net/eth0/device").mkdir(exist_ok=True)  # the archive has it, and nothing in it
    return folders


@pytest.mark.parametrize(("archive", "devices", "least"), [(ADAPTERS, 9, 400), (FIXTURES, 3, 75)])
def test_each_file_of_each_port_is_told_as_it_stands(
    unpacked: Mapping[str, Path], archive: str, devices: int, least: int
) -> None:
    root = unpacked[archive]
    found = network(Host(str(root))).rdma
    compared: Counter[bool] = Counter()
    for path, text in of_ports(root):
        told = told_of(items(found), path)
        compared[told == expected(path, text)] += 1
        assert told == expected(path, text), path
    print(f"{archive}: {len(items(found))} devices, {compared[True]} facts compared, {compared[False]} unlike")
    assert (len(items(found)), compared[False]) == (devices, 0)
    assert compared[True] >= least


def of_ports(root: Path) -> Iterator[tuple[tuple[str, ...], str]]:
    """(device, port, file ...) and its text, of what is read."""
    folder = root / "sys/class/infiniband"
    for file in sorted(folder.glob("*/ports/*/**/*")):
        device, _, port, *names = file.relative_to(folder).parts
        if file.is_file() and names[0] in PARTS and not NOT_READ.search(names[-1]):
            yield (device, port, *names), file.read_text().strip()


def told_of(devices: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    device, port, *names = path
    one = items(devices[device].ports)[port]
    if names[0] == "hw_counters":
        (value,) = (found[names[1]] for kind in MAPS if names[1] in (found := items(getattr(one, kind))))
        return value
    return getattr(one.counters, names[1]) if names[0] == "counters" else getattr(one, names[0])


def expected(path: tuple[str, ...], text: str) -> Any:
    if path[-1] == "rate":
        return round(float(text.partition(" ")[0]) * 1000)
    if path[-1] in ("state", "phys_state", "link_layer"):
        return text.rpartition(": ")[2]
    if text == "N/A (no PMA)":
        return Gap("unsupported")
    return int(text) * (4 if path[-1].endswith("_data") else 1)


def test_a_card_is_told_as_its_files_stand(unpacked: Mapping[str, Path]) -> None:
    root = unpacked[FIXTURES]
    one = items(network(Host(str(root))).interfaces)["eth0"]
    folder = root / "sys/class/net/eth0"

    def number(name: str) -> int:
        return int((folder / name).read_text())

    names = ("mtu", "tx_queue_len", "carrier_changes", "speed")
    assert [getattr(one, name) for name in names] == [number(name) for name in names]
    assert (one.operstate, one.duplex) == tuple((folder / name).read_text().strip() for name in ("operstate", "duplex"))
    marks = [file for part in ("roce_np", "roce_rp") for file in (folder / "ecn" / part).rglob("*") if file.is_file()]
    told = items(one.ecn)
    assert {name: int(value) for name, value in told.items()} == {
        ".".join(file.relative_to(folder / "ecn").parts): int(file.read_text()) for file in marks
    }
    print(f"{FIXTURES}: {len(names) + 2 + len(marks)} facts of eth0 compared, none unlike")
    assert len(marks) >= 30


def test_rates_that_ibstatus_prints_are_those_of_its_ports() -> None:
    """ibstatus prints the file `rate` as it is."""
    told: Counter[int] = Counter()
    for file in sorted((CORPUS / "raw/ib").glob("ibstatus*.txt")):
        for rate in re.findall(r"rate:\s+(.+)", file.read_text()):
            told[megabits(rate) == round(float(rate.partition(" ")[0]) * 1000)] += 1
    print(f"ibstatus: {told[True]} rates, {told[False]} unlike")
    assert told[True] >= 8
    assert not told[False]


def test_nothing_that_was_read_of_real_adapters_makes_no_sense(unpacked: Mapping[str, Path]) -> None:
    for root in unpacked.values():
        failed = {
            leaf.names: leaf.value.detail
            for leaf in leaves(network(Host(str(root))))
            if isinstance(leaf.value, Gap) and leaf.value.code == "failed"
        }
        assert failed == {}
