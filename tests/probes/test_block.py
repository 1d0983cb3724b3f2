"""Disks: by their place, as sysfs tells of them, on made-up machines, on this one and on recorded trees."""

import os
import runpy
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.block import IN_MEMORY, MOST
from probes.block.sections import Disk
from probes.kit.facts import Gap, Map, Redacted
from probes.kit.host import Host
from tests.probes.tree import read, tree

NVME = "/sys/devices/pci0000:00/0000:00:1d.0/0000:01:00.0/nvme/nvme3"
STAT = "100 5 2048 300 10 1 4096 40 0 250 340 0 0 0 0 3 2\n"
FILES = {
    f"{NVME}/model": "Samsung SSD 990 PRO 4TB            \n",
    f"{NVME}/firmware_rev": "4B2QJXD7\n",
    f"{NVME}/serial": "S7KGNU0X123456\n",
    f"{NVME}/transport": "pcie\n",
    f"{NVME}/nvme3n1/size": "8001573552\n",
    f"{NVME}/nvme3n1/stat": STAT,
    f"{NVME}/nvme3n1/queue/scheduler": "[none] mq-deadline kyber\n",
    f"{NVME}/nvme3n1/queue/read_ahead_kb": "128\n",
    f"{NVME}/nvme3n1/queue/nr_requests": "1023\n",
    f"{NVME}/nvme3n1/queue/rotational": "0\n",
    f"{NVME}/nvme3n1/queue/wbt_lat_usec": "2000\n",
    "/sys/devices/virtual/block/md0/size": "16003147104\n",
    "/sys/devices/virtual/block/md0/md/level": "raid0\n",
    "/sys/devices/virtual/block/md0/md/degraded": "0\n",
    "/sys/devices/virtual/block/loop0/size": "100\n",
    "/sys/devices/virtual/block/nbd0/size": "0\n",
    "/sys/devices/virtual/block/dm-0/size": "10\n",
    "/sys/devices/virtual/block/dm-0/dm/name": "vg-root\n",
}


def machine(root: Path, files: Mapping[str, str] = FILES) -> Host:
    host = tree(root, {**FILES, **files})
    blocks, slaves = root / "sys/block", root / "sys/devices/virtual/block/md0/slaves"
    blocks.mkdir(exist_ok=True)
    slaves.mkdir(exist_ok=True)
    (blocks / "nvme3n1").symlink_to(f"..{NVME.removeprefix('/sys')}/nvme3n1")
    for name in ("md0", "loop0", "nbd0", "dm-0"):
        (blocks / name).symlink_to(f"../devices/virtual/block/{name}")
    (root / f"{NVME[1:]}/nvme3n1/device").symlink_to("..")
    (slaves / "nvme3n1").symlink_to(f"../../../../../..{NVME}/nvme3n1")
    return host


def disks(host: Host) -> Mapping[str, Disk]:
    found = read("block", host).disks
    assert isinstance(found, Map), found
    return found.items


def test_a_disk_is_told_by_its_place_whatever_number_it_has(tmp_path: Path) -> None:
    found = disks(machine(tmp_path))
    assert found.keys() == {"nvme-0000:01:00.0-n1", "md0", "vg-root"}
    one = found["nvme-0000:01:00.0-n1"]
    assert (one.name, one.model, one.firmware) == ("nvme3n1", "Samsung SSD 990 PRO 4TB", "4B2QJXD7")
    assert (one.size, one.transport, one.rotational) == (8001573552 * 512, "pcie", False)
    assert (one.scheduler, one.read_ahead_kb, one.nr_requests, one.wbt_lat_usec) == ("none", 128, 1023, 2000)
    assert one.members == Gap("unsupported")


def test_a_serial_number_is_a_digest(tmp_path: Path) -> None:
    host = machine(tmp_path)
    assert disks(host)["nvme-0000:01:00.0-n1"].serial == host.redactor.redacted("S7KGNU0X123456")
    assert isinstance(disks(host)["nvme-0000:01:00.0-n1"].serial, Redacted)


def test_what_was_read_and_written_is_counted_in_bytes(tmp_path: Path) -> None:
    counters = disks(machine(tmp_path))["nvme-0000:01:00.0-n1"].counters
    assert (counters.reads, counters.read_bytes, counters.read_time) == (100, 2048 * 512, 300)
    assert (counters.writes, counters.written_bytes, counters.write_time) == (10, 4096 * 512, 40)
    assert counters.busy_time == 250


def test_an_array_names_its_members_by_their_place(tmp_path: Path) -> None:
    array = disks(machine(tmp_path))["md0"]
    assert (array.members, array.raid_level, array.degraded) == (("nvme-0000:01:00.0-n1",), "raid0", 0)


@pytest.mark.parametrize("text", ["", "1 2 3\n", "none at all\n", "\x00\x01", "9" * 5000])
def test_a_file_that_makes_no_sense_is_a_gap(tmp_path: Path, text: str) -> None:
    nonsense = {path: text for path in FILES if path.startswith(f"{NVME}/nvme3n1/") and not path.endswith("/size")}
    one = disks(machine(tmp_path, nonsense))["nvme-0000:01:00.0-n1"]
    assert isinstance(one.counters.reads, Gap)
    assert isinstance(one.nr_requests, Gap) or text == "9" * 5000
    assert one.model == "Samsung SSD 990 PRO 4TB"


@given(text=st.binary(max_size=60))
@settings(max_examples=15, deadline=None)
def test_whatever_a_file_holds_a_section_is_read(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    root = tmp_path_factory.mktemp("machine")
    host = machine(root)
    for path in FILES:
        (root / path[1:]).write_bytes(text)
    read("block", host)


def test_of_thousands_of_devices_none_is_told_in_part(tmp_path: Path) -> None:
    host = tree(tmp_path, {f"/sys/block/rbd{number}/size": "1\n" for number in range(MOST + 1)})
    assert read("block", host).disks == Gap("failed")


def test_the_disks_of_this_machine_are_those_that_it_lists() -> None:
    names = {disk.name for disk in disks(Host()).values()}
    listed = {name for name in os.listdir("/sys/block") if not name.startswith(("loop", "ram", "zram", "fd", "sr"))}
    assert names == {name for name in listed if Path(f"/sys/block/{name}/size").read_text().strip() != "0"}


def test_a_recorded_machine_is_read_as_its_files_say(tmp_path: Path) -> None:
    """Of procfs' tests: the tree holds folders in place of links."""
    archive = next(Path(os.environ.get("FINGERPRINT_CORPUS", "/nonexistent")).rglob("procfs_fixtures.ttar"), None)
    if archive is None:
        pytest.skip("FINGERPRINT_CORPUS holds no procfs_fixtures.ttar")
    script: Any = runpy.run_path(str(Path(__file__).parents[2] / "scripts/record_hosts.py"))
    files = script["ttar_files"](archive.read_text())
    blocks = {path.removeprefix("fixtures"): told.decode() for path, told in files if "/sys/block/" in path}
    found = disks(tree(tmp_path, blocks))
    assert {"sda", "md0"} <= found.keys()
    sda = found["sda"]
    assert (sda.scheduler, sda.counters.reads, sda.counters.written_bytes) == ("bfq", 9652963, 286915323 * 512)
    assert found["md1"].degraded == 0


@pytest.mark.long
def test_of_every_recorded_tree_the_disks_are_those_that_it_lists(tmp_path: Path) -> None:
    """Of hwloc's tests, most of which were taken without disks."""
    archives = sorted(Path(os.environ.get("FINGERPRINT_CORPUS", "/nonexistent")).rglob("hwloc/*.tar.bz2"))
    if not archives:
        pytest.skip("FINGERPRINT_CORPUS holds no trees of hwloc")
    told = 0
    for archive in archives:
        with tarfile.open(archive) as tar:
            tar.extractall(tmp_path / archive.name, filter="data")
        for root in (tmp_path / archive.name).iterdir():
            section = read("block", Host(str(root)))
            names = {disk.name for disk in section.disks.items.values()} if isinstance(section.disks, Map) else set()
            listed = {path.name for path in root.glob("sys/block/*") if not path.name.startswith(IN_MEMORY)}
            assert names == {name for name in listed if not _is_empty(root / "sys/block" / name / "size")}
            told += len(names)
    print(f"{len(archives)} trees, {told} disks")
    assert told >= 2


def _is_empty(size: Path) -> bool:
    return size.exists() and size.read_text().strip() == "0"
