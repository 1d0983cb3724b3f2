"""What is mounted where: the table of a process as it is told, and file systems that do not answer."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from probes.kit.answering import PATIENCE, Answering, answering, stuck_at
from probes.kit.disks import disk_of, key_of
from probes.kit.facts import Gap
from probes.kit.filepaths import real
from probes.kit.host import Host
from probes.kit.mounts import Mount, holding, remote, upwards
from tests.kit.standing_still import standing_still
from tests.probes.tree import tree

root = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")]

TABLE = r"""
21 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw
30 21 0:44 /export /models rw,noatime shared:9 - nfs4 10.0.0.5:/export/models rw,vers=4.2,rsize=1048576,nconnect=8
31 30 0:50 / /models/fast rw - xfs /dev/md0 rw,inode64
32 30 0:51 / /models rw - tmpfs none rw
40 21 8:1 / /data\040of\040mine rw - btrfs /dev/sda1 rw,space_cache=v2
41 21 0:60 / /home rw - fuse.sshfs user@there:/home rw,user_id=0
42 21 0:61 / /proc/stat rw - fuse.lxcfs lxcfs rw
43 21 0:62 / /auto rw - autofs systemd-1 rw,fd=1
"""


def machine(folder: Path, table: str = TABLE) -> Host:
    return tree(folder, {"/proc/7/mountinfo": table.lstrip()})


def on(host: Host, *paths: str) -> dict[str, str]:
    found = holding(host, 7, paths)
    assert not isinstance(found, Gap), found
    return {path: mount.type for path, mount in found.items()}


def test_a_path_lies_on_the_mount_that_hides_the_others(tmp_path: Path) -> None:
    host = machine(tmp_path)
    assert on(host, "/", "/models", "/models/fast/x", "/home/me") == {
        "/": "ext4", "/models": "tmpfs", "/models/fast/x": "tmpfs", "/home/me": "fuse.sshfs",
    }  # fmt: skip


def test_a_line_of_the_table_is_told_in_full(tmp_path: Path) -> None:
    host = machine(tmp_path, "\n".join(line for line in TABLE.splitlines() if " - tmpfs " not in line))
    found = holding(host, 7, ["/models/m"])
    options = ("rw", "noatime", "vers=4.2", "rsize=1048576", "nconnect=8")
    assert found == {"/models/m": Mount(30, 21, "0:44", "/models", "nfs4", "10.0.0.5:/export/models", options)}
    assert on(host, "/models/fast/m", "/models/faster") == {"/models/fast/m": "xfs", "/models/faster": "nfs4"}


def test_blanks_in_names_are_written_as_the_kernel_writes_them(tmp_path: Path) -> None:
    assert on(machine(tmp_path), "/data of mine/m") == {"/data of mine/m": "btrfs"}


def test_those_that_another_program_or_host_answers_for_are_known_by_their_type(tmp_path: Path) -> None:
    found = remote(machine(tmp_path), 7)
    assert not isinstance(found, Gap), found
    types = {point: mount.type for point, mount in found.items()}
    assert types == {"/models": "nfs4", "/home": "fuse.sshfs", "/auto": "autofs"}


@pytest.mark.parametrize("table", ["", "no table\n", "\n\n", "1 2 3\n" * 1000, "\x00\xff" * 99])
def test_a_table_that_makes_no_sense_has_no_mounts(tmp_path: Path, table: str) -> None:
    assert holding(machine(tmp_path, table), 7, ["/x"]) == {}
    assert remote(machine(tmp_path, table), 7) == {}


def test_of_who_ended_there_is_no_table() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert holding(Host(), child.pid, ["/"]) == Gap("absent")


def test_the_way_to_a_path_begins_at_the_root() -> None:
    assert [*upwards("/a/b")] == ["/", "/a", "/a/b"]
    assert [*upwards("/")] == ["/"]


def test_the_table_of_this_process_is_that_which_findmnt_reads() -> None:
    found = holding(Host(), os.getpid(), ["/proc/self", "/dev/null"])
    assert not isinstance(found, Gap)
    told = subprocess.run(["stat", "-f", "-c", "%T", "/proc/self"], capture_output=True, text=True, check=True)
    assert found["/proc/self"].type == told.stdout.strip() == "proc"


@pytest.mark.parametrize(
    ("target", "key"),
    [
        ("../devices/pci0000:00/0000:00:1d.0/0000:01:00.0/nvme/nvme3/nvme3n1", "nvme-0000:01:00.0-n1"),
        ("../devices/pci10000:e0/10000:e0:06.0/10000:e1:00.0/nvme/nvme0/nvme0n2", "nvme-10000:e1:00.0-n2"),
        ("../devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "nvme0n1"),
        ("../devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda", "sda"),
        ("../devices/virtual/block/md0", "md0"),
    ],
)
def test_a_disk_goes_by_its_place_where_its_number_is_an_accident(target: str, key: str) -> None:
    assert key_of(Host(), target) == key


def test_a_partition_is_told_by_its_disk(tmp_path: Path) -> None:
    nvme = "../../devices/pci0000:00/0000:01:00.0/nvme/nvme3/nvme3n1"
    blocks = tmp_path / "sys/dev/block"
    blocks.mkdir(parents=True)
    host = tree(tmp_path, {"/sys/devices/pci0000:00/0000:01:00.0/nvme/nvme3/nvme3n1/nvme3n1p2/partition": "2\n"})
    (blocks / "259:0").symlink_to(nvme)
    (blocks / "259:2").symlink_to(f"{nvme}/nvme3n1p2")
    assert disk_of(host, "259:2") == disk_of(host, "259:0") == "nvme-0000:01:00.0-n1"
    assert disk_of(host, "0:44") == Gap("unsupported")


class TestWithoutAnAnswer:
    pytestmark = root

    def test_what_lies_behind_it_is_given_up_once_and_the_rest_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text("{}")
        (tmp_path / "link").symlink_to("mounted/model/config.json")
        with standing_still(tmp_path / "mounted") as mounted:
            files, began = answering(Host(), os.getpid()), time.monotonic()
            assert isinstance(files, Answering)
            for path in (mounted, mounted / "model/config.json", tmp_path / "link", mounted / "other"):
                assert files.text(str(path)) == files.stat(str(path)) == files.names(str(path)) == Gap("timed_out")
                assert real(files, str(path)) == Gap("timed_out")
                assert stuck_at(files, str(path)) == str(mounted)
            assert PATIENCE <= time.monotonic() - began < 10 * PATIENCE
            assert files.text(str(tmp_path / "config.json")) == "{}"
            assert files.text(str(tmp_path / "nothing")) == Gap("absent")
            assert stuck_at(files, str(tmp_path)) is None

    def test_where_every_file_system_is_local_the_files_are_the_hosts_own(self, tmp_path: Path) -> None:
        host = Host()
        if remote(host, os.getpid()) == {}:
            assert answering(host, os.getpid()) is host
