"""A path of another root, held open: its symbolic links kept beneath that root, whatever changes meanwhile.

Each name is opened in the folder that was opened before it, without following it, and a link's text is walked in the
same way. So what is found is what is read: who may write beneath the root can swap names as fast as he likes and
gets nothing read from outside of it. openat2(2) with RESOLVE_IN_ROOT does as much, where neither the kernel is older
than 5.6 nor a seccomp filter refuses it.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

MOST_LINKS = 40  # as the kernel's MAXSYMLINKS
_HELD = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC  # opens no device and waits for no FIFO


@contextmanager
def followed(root: str, path: str) -> Iterator[str]:
    """A path that means what `path` means after a chroot to `root`, and goes on meaning the same: an absolute link
    starts again at `root`, and `..` does not lead above it.

    Raises OSError: ELOOP, and what open(2) raises.
    """
    with _held(root, path) as fd:
        yield f"/proc/self/fd/{fd}"


@contextmanager
def beneath(root: str, path: str) -> Iterator[str]:
    """As `followed`, but for the last name, which is not followed."""
    folders, _, name = path.rstrip("/").rpartition("/")
    with _held(root, folders) as fd:
        yield f"/proc/self/fd/{fd}/{name}"


@contextmanager
def _held(root: str, path: str) -> Iterator[int]:
    way = [os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        _walk(way, path)
        yield way[-1]
    finally:
        _back(way, 0)


def _walk(way: list[int], path: str) -> None:
    """way: the folders that are open, from the root to where the path starts; to where it leads in the end."""
    links = MOST_LINKS
    names = _names(path)
    while names:
        name = names.pop()
        if name == "..":
            _back(way, max(len(way) - 1, 1))
            continue
        way.append(os.open(name, _HELD, dir_fd=way[-1]))
        if not stat.S_ISLNK(os.fstat(way[-1]).st_mode):
            continue
        links -= 1
        if links < 0:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = os.readlink("", dir_fd=way[-1])
        _back(way, 1 if target.startswith("/") else len(way) - 1)
        names += _names(target)


def _names(path: str) -> list[str]:
    """The last one first."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _back(way: list[int], length: int) -> None:
    while len(way) > length:
        os.close(way.pop())
