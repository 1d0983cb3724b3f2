"""The lock that whoever calls NVML holds: between processes, users, and files that somebody prepared."""

import fcntl
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from probes.kit.nvml.lock import Held, Mark, acquire, read_mark, usual_place

HOLD = """
import fcntl, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o666)
fcntl.flock(fd, fcntl.LOCK_EX)
print("held", flush=True)
for call in sys.argv[2:]:
    os.pwrite(fd, f"{os.getpid()} {time.time()} {call} 0000:17:00.0".ljust(159).encode() + b"\\n", 0)
    print(call, flush=True)
    time.sleep(0.2)
sys.stdin.read()
"""


@contextmanager
def held(path: Path, *calls: str) -> Iterator[subprocess.Popen[str]]:
    """Another process holds the lock, makes these calls for 0.2 s each, and stays in the last one."""
    argv = [sys.executable, "-c", HOLD, str(path), *calls]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        try:
            yield holder
        finally:
            holder.kill()


def test_who_holds_the_lock_in_one_call_is_named_with_its_call(tmp_path: Path) -> None:
    with held(tmp_path / "lock", "nvmlDeviceGetSerial") as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(Held) as refused:
            acquire(str(tmp_path / "lock"), 0.3)
        assert refused.value.mark is not None
        assert (refused.value.mark.pid, refused.value.mark.call) == (holder.pid, "nvmlDeviceGetSerial")
        assert "in nvmlDeviceGetSerial on 0000:17:00.0" in str(refused.value)


def test_a_call_that_began_long_ago_is_not_waited_for_again(tmp_path: Path) -> None:
    with held(tmp_path / "lock", "nvmlDeviceGetSerial"):
        time.sleep(0.6)
        began = time.monotonic()
        with pytest.raises(Held):
            acquire(str(tmp_path / "lock"), 0.5)
        assert time.monotonic() - began < 0.4


def test_who_goes_from_call_to_call_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with held(path, "nvmlDeviceGetName", "nvmlDeviceGetUUID") as holder:
        assert holder.stdin is not None
        holder.stdin.close()  # it ends after its last call
        os.close(acquire(str(path), 0.35))


def test_who_goes_on_for_ever_is_waited_for_twice_as_long_as_one_call_may_take(tmp_path: Path) -> None:
    with held(tmp_path / "lock", *(f"call{i}" for i in range(100))), pytest.raises(Held):
        acquire(str(tmp_path / "lock"), 0.4)


def test_the_lock_ends_with_its_holder_though_it_was_killed(tmp_path: Path) -> None:
    with held(tmp_path / "lock") as holder:
        holder.kill()
        holder.wait()
        os.close(acquire(str(tmp_path / "lock"), 0.1))


def test_every_user_may_open_it_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        os.close(acquire(str(tmp_path / "lock"), 0.1))
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o666


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"1 2", b"x y z", b"a" * 10_000, b"7 1e999 call device"])
def test_nothing_in_the_file_is_trusted(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "lock"
    path.write_bytes(content)
    fd = os.open(path, os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        with pytest.raises(Held, match=r"."):
            acquire(str(path), 0.05)
    finally:
        os.close(fd)


def test_the_mark_that_was_written_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("12 1700000000.5 nvmlDeviceGetP2PStatus(0000:65:00.0,1) 0000:17:00.0   \n")
    fd = os.open(tmp_path / "lock", os.O_RDONLY)
    try:
        assert read_mark(fd) == Mark(12, 1700000000.5, "nvmlDeviceGetP2PStatus(0000:65:00.0,1)", "0000:17:00.0")
    finally:
        os.close(fd)


@pytest.mark.parametrize("make", [lambda p: p.symlink_to("/etc/passwd"), Path.mkdir, os.mkfifo])
def test_a_prepared_link_folder_or_pipe_is_refused(tmp_path: Path, make: object) -> None:
    make(tmp_path / "lock")  # type: ignore[operator]
    with pytest.raises(OSError, match=r"."):
        acquire(str(tmp_path / "lock"), 0.1)


def test_the_usual_place_is_a_folder_for_everybody() -> None:
    assert Path(usual_place()).parent.stat().st_mode & 0o1002 == 0o1002


@pytest.mark.root
@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
def test_another_user_waits_for_the_same_lock(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o1777)
    folder.chmod(0o1777)
    for parent in folder.parents:
        if parent.stat().st_uid == 0 and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    os.close(acquire(str(folder / "lock"), 0.1))
    script = "import os; from probes.kit.nvml.lock import acquire; os.setuid(65534); acquire(os.environ['LOCK'], 0.1)"
    env = {**os.environ, "LOCK": str(folder / "lock")}
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[2], env=env)
