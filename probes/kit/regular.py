"""Regular files, whoever put them there: opened without waiting, read to the end or a cap."""

import errno
import os
import stat
from typing import Any

from probes.kit.facts import Gap, Seen

Identity = tuple[int, int, int, int, int]
"""Device, inode, mtime and ctime in ns, and size in bytes: while these are the same, so is the content, whose time of
modification alone anybody may set back."""


def identity(fd: int) -> Identity:
    info = os.fstat(fd)
    return info.st_dev, info.st_ino, info.st_mtime_ns, info.st_ctime_ns, info.st_size


def open_regular(path: str, flags: int = os.O_RDONLY) -> int:
    """Opens without blocking (a FIFO would) and refuses what is not a regular file: a device is not even opened,
    which may wake or rewind it."""
    _refuse_special(os.stat(path))
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        _refuse_special(os.fstat(fd))
    except OSError:
        os.close(fd)
        raise
    return fd


def _refuse_special(info: os.stat_result) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")


def whole(path: str, cap: int) -> Seen[str]:
    fd = open_regular(path)
    try:
        chunks: list[bytes] = []
        size = 0
        # seq_file hands out about a page a call, whatever the buffer: only an empty read is the end.
        while chunk := os.read(fd, 65536):
            chunks.append(chunk)
            size += len(chunk)
            if size > cap:
                return Gap("failed", f"longer than {cap} bytes")
    finally:
        os.close(fd)
    return b"".join(chunks).decode("utf-8", "backslashreplace")


def beginning(path: str, size: int) -> str:
    fd = open_regular(path)
    try:
        return os.read(fd, size).decode("utf-8", "backslashreplace")
    finally:
        os.close(fd)


def sha256_of(file: Any) -> str:
    import hashlib

    digest = hashlib.sha256()
    while chunk := file.read(1 << 20):
        digest.update(chunk)
    return digest.hexdigest()
