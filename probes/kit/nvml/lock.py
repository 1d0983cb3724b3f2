"""The lock that whoever calls NVML holds, so that nobody starts a second process on a driver that hangs.

It is flock(2) on a file that every user can open. The descriptor is handed to the child, so that the lock lives
exactly as long as the process that may be stuck. The file's first line says which call is under way since when.
"""

import fcntl
import os
import stat
import time
from typing import NamedTuple

FOLDERS = ("/run/lock", "/dev/shm", "/tmp")  # noqa: S108  # the first that every user may write to
NAME = "fingerprint-nvml.lock"
MARK_BYTES = 160
IDLE = "-"
LATEST = 1 << 40  # seconds: a later time is no time
POLL_SECONDS = 0.01


class Mark(NamedTuple):
    """What the holder does. since: seconds since 1970. call: `-` for none."""

    pid: int
    since: float
    call: str
    device: str

    def __str__(self) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(self.since))
        return f"unresponsive since {clock} {self.doing} (pid {self.pid})"

    @property
    def doing(self) -> str:
        about = f" on {self.device}" if self.device else ""
        return "between two calls" if self.call == IDLE else f"in {self.call}{about}"


class Held(Exception):
    """Somebody else holds the lock, and was not done in time. mark: None where the file tells nothing."""

    def __init__(self, mark: Mark | None) -> None:
        super().__init__(str(mark or "another process holds the lock and tells no call"))
        self.mark = mark


def acquire(path: str, seconds: float) -> int:
    """A descriptor that holds the lock. Raises Held; OSError where no file can be had.

    Whoever holds it may be well: it is waited for as long as it goes from call to call, and `seconds` for one call.
    """
    fd = _open(path or usual_place())
    try:
        _wait(fd, seconds)
    except BaseException:
        os.close(fd)
        raise
    return fd


def read_mark(fd: int) -> Mark | None:
    """What the holder wrote last; None for what is no mark. The file is everybody's: nothing in it is trusted."""
    words = os.pread(fd, MARK_BYTES, 0).partition(b"\n")[0].decode("ascii", "replace").split()
    try:
        mark = Mark(int(words[0]), float(words[1]), words[2][:80], " ".join(words[3:])[:40])
    except (IndexError, ValueError):
        return None
    return mark if 0 < mark.since < LATEST else None


def usual_place() -> str:
    return os.path.join(next((folder for folder in FOLDERS if _is_everybodys(folder)), FOLDERS[-1]), NAME)


def _is_everybodys(folder: str) -> bool:
    everybody = stat.S_ISVTX | stat.S_IWOTH
    try:
        return os.stat(folder).st_mode & everybody == everybody and os.access(folder, os.W_OK)
    except OSError:
        return False


def _open(path: str) -> int:
    """Without O_CREAT where it exists: fs.protected_regular refuses that in sticky folders to all but the owner."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return _regular(os.open(path, flags))
    except FileNotFoundError:
        try:
            fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            return _regular(os.open(path, flags))
    os.fchmod(fd, 0o666)  # whatever the umask
    return fd


def _regular(fd: int) -> int:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(22, "the lock is no regular file")
    return fd


def _wait(fd: int, seconds: float) -> None:
    last, deadline = None, time.monotonic() + seconds
    latest = deadline + seconds  # even of one who goes on and on
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            pass
        mark, now = read_mark(fd), time.monotonic()
        if mark != last and now < latest:
            last, deadline = mark, min(latest, now + seconds - _age(mark, seconds))
        if now >= deadline:
            raise Held(mark)
        time.sleep(POLL_SECONDS)


def _age(mark: Mark | None, most: float) -> float:
    """How long the call has been under way already."""
    return min(max(0.0, time.time() - mark.since), most) if mark else 0.0
