"""A tree's links stay inside the tree, as in a chroot."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from probes.kit.facts import Gap
from probes.kit.host import Host
from tests.waiting import until


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "sys/devices/cpu0").mkdir(parents=True)
    (tmp_path / "sys/devices/cpu0/model").write_text("inside")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hostname").write_text("inside")
    return tmp_path


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("sys/absolute", "/etc/hostname"),
        ("sys/relative", "../etc/hostname"),
        ("sys/above", "../../../../../etc/hostname"),
        ("sys/chain", "absolute-2"),
    ],
)
def test_a_link_is_followed_inside(tree: Path, link: str, target: str) -> None:
    (tree / "sys/absolute-2").symlink_to("/etc/hostname")
    (tree / link).symlink_to(target)
    assert Host(str(tree)).text(f"/{link}") == "inside"


def test_a_linked_folder_is_followed_inside_and_listed(tree: Path) -> None:
    (tree / "sys/bus").symlink_to("/sys/devices")
    host = Host(str(tree))
    assert host.names("/sys/bus") == ("cpu0",)
    assert host.text("/sys/bus/cpu0/model") == "inside"


def test_a_link_to_what_only_this_machine_has_is_not_read(tree: Path) -> None:
    (tree / "sys/out").symlink_to("/proc/version")
    answer = Host(str(tree)).text("/sys/out")
    assert isinstance(answer, Gap)
    assert answer.code == "not_read"


def test_the_link_itself_is_told_as_written(tree: Path) -> None:
    (tree / "sys/driver").symlink_to("/proc/version")
    assert Host(str(tree)).link("/sys/driver") == "/proc/version"


def test_links_in_a_circle_fail_and_end(tree: Path) -> None:
    os.symlink("b", tree / "a")
    os.symlink("a", tree / "b")
    answer = Host(str(tree)).text("/a")
    assert isinstance(answer, Gap)
    assert answer.code == "failed"


def test_a_path_that_leads_above_the_root_stays_in_it(tree: Path) -> None:
    assert Host(str(tree)).text("/../../sys/../etc/./hostname") == "inside"


def test_a_magic_link_of_the_kernel_is_a_text_like_any_other(tree: Path) -> None:
    """/proc/self/root leads to our own root, whatever its text."""
    (tree / "proc").mkdir()
    (tree / "proc/jump").symlink_to("/proc/self/root/etc/hostname")
    assert isinstance(Host(str(tree)).text("/proc/jump"), Gap)


def test_names_that_are_swapped_while_they_are_walked_let_nothing_out(
    tree: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "model").write_text("outside")
    swapping = subprocess.Popen([sys.executable, "-c", SWAPPING, str(tree / "sys/devices"), str(outside)])
    try:
        until((tree / "sys/devices/spare").is_symlink)
        host = Host(str(tree))
        seen = {host.text("/sys/devices/cpu0/model") for _ in range(3000)}
    finally:
        swapping.kill()
        swapping.wait()
    assert "inside" in seen
    assert "outside" not in seen


SWAPPING = """
import ctypes, os, sys
folder, outside = sys.argv[1:]
os.chdir(folder)
os.symlink(outside, "spare")
exchange = ctypes.CDLL(None).renameat2
while True:
    exchange(-100, b"cpu0", -100, b"spare", 2)  # AT_FDCWD, RENAME_EXCHANGE
"""


def test_nothing_stays_open(tree: Path) -> None:
    (tree / "sys/out").symlink_to("/nowhere/at/all")
    before = len(os.listdir("/proc/self/fd"))
    for path in ("/sys/out", "/etc/hostname", "/sys/devices/../devices/cpu0/model", "/etc/hostname/below"):
        Host(str(tree)).text(path)
        Host(str(tree)).link(path)
    assert len(os.listdir("/proc/self/fd")) == before
