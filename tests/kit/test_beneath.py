"""A tree's links stay inside the tree, as in a chroot."""

import os
from pathlib import Path

import pytest

from probes.kit.facts import Gap
from probes.kit.host import Host


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
