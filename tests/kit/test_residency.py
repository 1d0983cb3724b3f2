"""How much of a file is in memory: real files, dropped from the page cache and read again."""

import mmap
import os
import subprocess
from pathlib import Path

import pytest

from probes.kit.answers import Resident
from probes.kit.facts import Gap
from probes.kit.host import Host
from probes.kit.residency import WINDOW
from tests.kit.test_host import plain_user

SIZE = 3 * WINDOW


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Written to a disk."""
    told = subprocess.run(["stat", "-f", "-c", "%T", tmp_path], capture_output=True, text=True, check=True)
    if told.stdout.strip() in ("tmpfs", "ramfs"):
        pytest.skip("what lies in memory alone cannot be dropped from it")
    path = tmp_path / "weights"
    path.write_bytes(os.urandom(SIZE))
    with path.open("rb") as opened:
        os.fsync(opened.fileno())
    return path


def dropped(path: Path) -> None:
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read(path: Path, start: int, length: int) -> None:
    """Exactly this, without what the kernel would read ahead."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(file.fileno(), length, start)


def resident(path: Path, most: int = SIZE) -> Resident:
    seen = Host().resident(str(path), most)
    assert isinstance(seen, Resident), seen
    return seen


def test_what_was_written_is_there_what_was_dropped_is_not_and_what_was_read_is_again(file: Path) -> None:
    assert resident(file).there == SIZE
    dropped(file)
    assert resident(file) == Resident(SIZE, 0, {})
    read(file, WINDOW, WINDOW // 2)
    seen = resident(file)
    assert (seen.looked_at, seen.there) == (SIZE, WINDOW // 2)


def test_the_pages_that_are_there_lie_on_a_node_of_this_host(file: Path) -> None:
    nodes = resident(file).nodes
    assert sum(nodes.values()) == 64
    assert {f"node{node}" for node in nodes} <= set(os.listdir("/sys/devices/system/node"))


def test_to_look_brings_nothing_into_memory(file: Path) -> None:
    dropped(file)
    read(file, 0, mmap.PAGESIZE)
    assert resident(file).there == resident(file).there == mmap.PAGESIZE


def test_of_a_large_file_windows_over_all_of_it_are_looked_at(file: Path) -> None:
    dropped(file)
    read(file, 2 * WINDOW, WINDOW)
    assert resident(file, WINDOW) == Resident(WINDOW, 0, {})
    seen = resident(file, 2 * WINDOW)
    assert seen.looked_at == 2 * WINDOW
    assert 0 < seen.there < 2 * WINDOW


def test_an_empty_file_has_no_pages(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert resident(tmp_path / "empty") == Resident(0, 0, {})


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="of root's files")
def test_of_another_users_file_it_is_denied_and_never_said_to_be_there(file: Path) -> None:
    file.chmod(0o644)
    for folder in file.parents:
        if folder.owner() == "root" and str(folder) not in ("/", "/tmp"):
            folder.chmod(folder.stat().st_mode | 0o005)
    dropped(file)
    with plain_user():
        assert Host().resident(str(file), SIZE) == Gap("denied")


def test_what_is_no_file_has_none(tmp_path: Path) -> None:
    assert Host().resident("/dev/null", SIZE) == Gap("unsupported")
    assert Host().resident(str(tmp_path / "nothing"), SIZE) == Gap("absent")
