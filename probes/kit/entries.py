"""What folders, links, files and file systems tell of themselves, by the calls of the kernel."""

import os
from collections.abc import Mapping

from probes.kit.answers import Space, Stat


def names(path: str) -> tuple[str, ...]:
    """Sorted."""
    return tuple(sorted(_printable(name) for name in os.listdir(os.fsencode(path))))


def link(path: str) -> str:
    return _printable(os.readlink(os.fsencode(path)))


def stat(path: str) -> Stat:
    return _as_stat(os.stat(path))


def stats(path: str) -> Mapping[str, Stat]:
    """By descriptor, so that the kernel does not walk the path again for each name."""
    fd = os.open(os.fsencode(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    found: dict[str, Stat] = {}
    try:
        with os.scandir(fd) as entries:
            for entry in entries:
                try:
                    info = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # it vanished meanwhile
                    continue
                found[entry.name if entry.name.isascii() else _printable(os.fsencode(entry.name))] = _as_stat(info)
    finally:
        os.close(fd)
    return found


def space(path: str) -> Space:
    info = os.statvfs(path)
    return Space(info.f_blocks * info.f_frsize, info.f_bfree * info.f_frsize, info.f_files, info.f_ffree)


def _as_stat(info: os.stat_result) -> Stat:
    times = info.st_mtime_ns, info.st_ctime_ns
    return Stat(info.st_dev, info.st_ino, info.st_size, times[0], info.st_uid, info.st_mode, times[1], info.st_nlink)


def _printable(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
