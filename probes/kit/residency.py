"""How much of a file lies in memory, and on which nodes: mincore(2), move_pages(2).

Since Linux 5.2 mincore tells of a file's pages only its owner and who may write it; to others all of them seem to be
there (mm/mincore.c, can_do_mincore). So it is not asked where it would say that.
"""

import ctypes
import mmap
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from probes.kit.answers import OWNERS_ALONE, Resident
from probes.kit.capabilities import effective
from probes.kit.facts import Seen
from probes.kit.regular import open_regular

WINDOW = 4 << 20
ASKED_FOR_NODES = 64
"""Pages of one file: where those lie that nobody looks at is taken from these."""
_FOWNER = 1 << 3  # include/uapi/linux/capability.h
_POPULATE_READ = 22  # since Linux 5.14
_MOVE_PAGES = {"x86_64": 279, "aarch64": 239}
_FAILED = ctypes.c_void_p(-1).value
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
_libc.munmap.argtypes = _libc.mmap.argtypes[:2]
_libc.mincore.argtypes = (*_libc.munmap.argtypes, ctypes.c_char_p)
_libc.madvise.argtypes = (*_libc.munmap.argtypes, ctypes.c_int)


def resident(path: str, most: int) -> Seen[Resident]:
    """most: bytes to look at, in windows spread evenly over the file. Raises OSError.

    It is opened with the rights that are in force. Where these are a user's, whom root acts as (kit/user.py), and are
    not enough to be told, root looks at what that user could open.
    """
    fd = open_regular(path)
    try:
        if _may_be_told(fd):
            return _looked_at(fd, most)
        with _ourselves():
            return _looked_at(fd, most) if _may_be_told(fd) else OWNERS_ALONE
    finally:
        os.close(fd)


@contextmanager
def _ourselves() -> Iterator[None]:
    real, effective_id, _ = os.getresuid()
    os.seteuid(real)
    try:
        yield
    finally:
        os.seteuid(effective_id)


def _may_be_told(fd: int) -> bool:
    if os.fstat(fd).st_uid == os.geteuid() or effective() & _FOWNER:
        return True
    return os.access(f"/proc/self/fd/{fd}", os.W_OK, effective_ids=True)


def _looked_at(fd: int, most: int) -> Resident:
    asked, there, nodes = 0, 0, Counter[str]()
    for offset, length in _windows(os.fstat(fd).st_size, most):
        with _mapped(fd, offset, length) as address:
            pages = _pages_there(address, length)
            asked += len(pages)
            there += len(here := [number for number, page in enumerate(pages) if page & 1])
            nodes.update(_nodes(address, here[: ASKED_FOR_NODES - nodes.total()]))
    return Resident(asked * mmap.PAGESIZE, there * mmap.PAGESIZE, dict(nodes))


def _windows(size: int, most: int) -> Iterator[tuple[int, int]]:
    """Offset and length."""
    if size <= most:
        number, step = -(-size // WINDOW), WINDOW
    else:
        number = max(1, most // WINDOW)
        step = size // number // mmap.PAGESIZE * mmap.PAGESIZE
    return ((place * step, min(WINDOW, size - place * step)) for place in range(number))


@contextmanager
def _mapped(fd: int, offset: int, length: int) -> Iterator[int]:
    address = _libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, fd, offset)
    if address == _FAILED:
        raise _error()
    try:
        yield address
    finally:
        _libc.munmap(address, length)


def _pages_there(address: int, length: int) -> bytes:
    told = ctypes.create_string_buffer(-(-length // mmap.PAGESIZE))
    if _libc.mincore(address, length, told):
        raise _error()
    return told.raw


def _nodes(address: int, numbers: list[int]) -> Iterator[str]:
    """The nodes of those that could be told. A page is mapped first, by a call that reports what has gone meanwhile: to
    touch it would be a signal where the file was cut."""
    call = _MOVE_PAGES.get(os.uname().machine)
    places = [address + number * mmap.PAGESIZE for number in numbers]
    mapped = [place for place in places if not _libc.madvise(place, mmap.PAGESIZE, _POPULATE_READ)]
    if call is None or not mapped:
        return
    count = len(mapped)
    told = (ctypes.c_int * count)()
    if not _libc.syscall(call, 0, ctypes.c_ulong(count), (ctypes.c_void_p * count)(*mapped), None, told, 0):
        yield from (str(node) for node in told if node >= 0)


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
