"""Another process's files: its own root, no way out of it, and nothing but regular files."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fingerprint.testing import Recorder, Replay, load, save
from probes.kit.answers import Elf, Stat
from probes.kit.facts import Gap
from probes.kit.host import Host
from probes.kit.within import FILES
from tests.kit.test_host import plain_user

root = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="only root may change a root")]
CHROOTED = """
import os, sys, time
os.chroot(sys.argv[1])
os.chdir("/")
print("there", flush=True)
time.sleep(600)
"""
MOUNTED = 'mount -t tmpfs none "$0" && echo theirs > "$0/file" && echo there && exec sleep 600'


def started(argv: list[str]) -> Iterator[int]:
    """The pid of a process that has said that it is there; ended afterwards."""
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert child.stdout
        assert child.stdout.readline() == b"there\n"
        yield child.pid
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a process has as its root."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/file").write_text("theirs")
    return tmp_path


@pytest.fixture
def caged(folder: Path) -> Iterator[int]:
    yield from started([sys.executable, "-c", CHROOTED, str(folder)])


@pytest.fixture
def beside() -> Iterator[int]:
    """A process that shares our files."""
    yield from started(["sh", "-c", "echo there; exec sleep 600"])


def gap(seen: object) -> str:
    assert isinstance(seen, Gap), seen
    return seen.code


def test_a_process_that_shares_our_files_is_read_by_the_same_host(beside: int) -> None:
    host = Host()
    assert host.within(beside) is host
    assert host.within(os.getpid()) is host


class TestAnotherRoot:
    pytestmark = root

    def test_paths_begin_at_its_root(self, caged: int) -> None:
        host = Host().within(caged)
        assert host.text("/etc/file") == "theirs"
        assert host.names("/") == ("etc",)
        assert isinstance(host.stat("/etc/file"), Stat)

    def test_what_it_lacks_is_absent_although_we_have_it(self, caged: int) -> None:
        assert gap(Host().within(caged).text("/etc/passwd")) == "absent"

    @pytest.mark.parametrize("target", ["/etc/shadow", "../../../../../etc/shadow", "/proc/1/root/etc/shadow"])
    def test_a_link_to_what_is_ours_reads_nothing_of_it(self, folder: Path, caged: int, target: str) -> None:
        (folder / "etc/link").symlink_to(target)
        host = Host().within(caged)
        assert gap(host.text("/etc/link")) == "absent"
        assert gap(host.sha256("/etc/link")) == "absent"
        assert host.link("/etc/link") == target

    def test_a_fifo_and_a_device_are_refused_without_being_opened(self, folder: Path, caged: int) -> None:
        os.mkfifo(folder / "fifo")
        os.mknod(folder / "zero", 0o20644, os.makedev(1, 5))
        (folder / "to-zero").symlink_to("zero")
        host = Host().within(caged)
        for path in ("/fifo", "/zero", "/to-zero"):
            assert gap(host.text(path)) == "unsupported"
            assert gap(host.head(path, 10)) == "unsupported"
            assert gap(host.elf(path)) == "unsupported"
        assert isinstance(host.stat("/zero"), Stat)

    def test_a_mount_namespace_of_its_own_is_another_root(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("ours")
        for pid in started(["unshare", "-m", "sh", "-c", MOUNTED, str(tmp_path)]):
            assert Host().within(pid).line(f"{tmp_path}/file") == "theirs"
            assert Host().line(f"{tmp_path}/file") == "ours"

    def test_no_program_is_run_there_and_no_pid_is_asked_for(self, caged: int) -> None:
        host = Host().within(caged)
        assert gap(host.command(["true"])) == "not_observable"
        assert gap(host.environ(caged)) == "not_observable"
        assert gap(host.pids("sh")) == "not_observable"

    def test_one_process_is_not_read_within_another(self, caged: int, beside: int) -> None:
        host = Host()
        assert host.within(caged).within(beside) is host

    def test_a_recording_answers_as_the_process_did_and_knows_ours_apart(self, caged: int, tmp_path: Path) -> None:
        recorder = Recorder(Host())
        ours = recorder.names("/etc")
        theirs = recorder.within(caged).names("/etc")
        save(recorder.answers, tmp_path / "recording")
        replay = Replay(load(tmp_path / "recording"))
        assert replay.within(caged).names("/etc") == theirs == ("file",)
        assert replay.names("/etc") == ours != theirs
        assert gap(replay.within(caged).text("/etc/file")) == "not_read"

    def test_who_may_not_look_is_denied_and_reads_nothing_of_ours_instead(self, caged: int) -> None:
        with plain_user():
            assert gap(Host().within(caged).text("/etc/passwd")) == "denied"

    def test_an_elf_file_is_read_there(self, folder: Path, caged: int) -> None:
        (folder / "etc/program").write_bytes(Path(sys.executable).read_bytes())
        assert isinstance(Host().within(caged).elf("/etc/program"), Elf)


def test_of_a_process_that_ended_each_file_is_absent() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    host = Host().within(child.pid)
    assert gap(host.text("/etc/passwd")) == "absent"
    assert gap(host.names("/")) == "absent"


def test_a_tree_of_files_has_one_root_only(tmp_path: Path) -> None:
    host = Host(str(tmp_path))
    assert host.within(7) is host


def test_each_question_is_one_of_files_or_is_refused() -> None:
    """A new question of Host takes its place here: what is not about files must not be answered from a process's."""
    public = {name for name, value in vars(Host).items() if callable(value) and not name.startswith("_")}
    derived = {"line", "number", "within", "begin_moment"}
    machine = {
        "environ", "arguments", "io_priority", "pids", "opened", "kernel_log", "command", "cpuid", "pci_config",
        "nvml", "nvml_devices", "nvml_sample", "ethtool", "netlink", "routes", "http",
    }  # fmt: skip
    assert public - derived == FILES | machine
    assert not FILES & machine


def test_what_was_read_once_is_remembered_for_each_process_alike() -> None:
    host = Host()
    child = subprocess.Popen(["true"])
    child.wait()
    assert host.within(child.pid)._told is host._told
