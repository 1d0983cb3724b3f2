"""The variables of a process that has moved them elsewhere, read from its memory.

setproctitle copies them before it overwrites what the kernel shows (spt_status.c), and `environ` of the C library leads
to the copies. It is looked up in the tables of the loader, which lie in memory as well; of processes of 64 bits,
little-endian. Everything comes from the process and may be wrong by malice: each read and each table is bounded.
"""

import os
import re
import struct
from collections.abc import Iterator

from probes.kit.lazy import lazy_regex

MAPS_CAP = 32 << 20
TABLE_CAP = 1 << 20  # of symbols, or of their names: 0.1 MB in glibc 2.36
MOST = 4096  # variables
LONGEST = 128 << 10  # bytes of one (MAX_ARG_STRLEN)
WHOLE = 4 << 20
FIRST = 512  # bytes, of which most variables take less

HEADER, SYMBOL = 64, 24
PT_DYNAMIC, ET_DYN = 2, 3
DT_STRTAB, DT_SYMTAB, DT_STRSZ = 5, 6, 10
_START = lazy_regex(rb"^([0-9a-f]+)-\S+ \S+ 0+ \S+ \d+ +(/[^\n]*)$", re.MULTILINE)
_C_LIBRARY = lazy_regex(rb"/(?:libc\.so\.6|libc-2\.\d+\.so|ld-musl-[^/]+\.so\.1|libc\.musl-[^/]+)$")


def moved(folder: str) -> str:
    """As /proc/PID/environ would have it. folder: /proc/PID. Raises OSError, and ValueError where it is not found."""
    with open(f"{folder}/maps", "rb") as file:
        maps = file.read(MAPS_CAP)
    program = os.readlink(os.fsencode(f"{folder}/exe"))
    fd = os.open(f"{folder}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _moved(_Memory(fd), [*_objects(maps, program)])
    except (struct.error, OverflowError) as error:
        raise ValueError(f"its memory makes no sense: {error}") from error
    finally:
        os.close(fd)


def _objects(maps: bytes, program: bytes) -> Iterator[int]:
    """Where they begin: the program, which has the variable itself where it was linked so, then the C library."""
    found = [(int(start, 16), path) for start, path in _START.findall(maps)]
    yield from [start for start, path in found if path == program][:1]
    yield from [start for start, path in found if _C_LIBRARY.search(path)][:1]


def _moved(memory: "_Memory", objects: list[int]) -> str:
    places = (memory.symbol(start, (b"environ", b"__environ")) for start in objects)
    place = next(filter(None, places), None)
    if place is None:
        raise ValueError("nothing tells where it has its variables")
    return b"\0".join(memory.variables(place)).decode("utf-8", "backslashreplace")


class _Memory:
    """Of one process, by address."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def _at(self, address: int, size: int) -> bytes:
        return os.pread(self._fd, size, address)

    def _number(self, address: int) -> int:
        return int(struct.unpack("<Q", self._at(address, 8))[0])

    def variables(self, place: int) -> Iterator[bytes]:
        """place: of the pointer to their table, which ends with a zero."""
        table, left = self._at(self._number(place), MOST * 8), WHOLE
        for (address,) in struct.iter_unpack("<Q", table[: len(table) & ~7]):
            if not address or left <= 0:
                return
            variable = self._string(address)
            if b"=" not in variable:
                raise ValueError("its variables changed while they were read")
            left -= len(variable)
            yield variable

    def _string(self, address: int) -> bytes:
        for size in (FIRST, LONGEST):
            text, end, _ = self._at(address, size).partition(b"\0")
            if end:
                break
        return text

    def symbol(self, start: int, names: tuple[bytes, ...]) -> int | None:
        """Its address, in the object that begins at `start`; None where that does not define it."""
        header = self._at(start, HEADER)
        if header[:6] != b"\x7fELF\x02\x01":
            return None
        moved_by = start if struct.unpack_from("<H", header, 16)[0] == ET_DYN else 0
        told = self._dynamic(start, header, moved_by)
        if not {DT_STRTAB, DT_SYMTAB, DT_STRSZ} <= told.keys():
            return None
        # The loader has added where the object lies to these addresses, but not in each C library.
        symbols, texts = (told[tag] if told[tag] >= start else told[tag] + moved_by for tag in (DT_SYMTAB, DT_STRTAB))
        known = self._at(texts, min(told[DT_STRSZ], TABLE_CAP))
        table = self._at(symbols, min(texts - symbols, TABLE_CAP) if texts > symbols else TABLE_CAP)
        for name, _, _, defined, value, _ in struct.iter_unpack("<IBBHQQ", table[: len(table) // SYMBOL * SYMBOL]):
            if defined and known[name : known.find(b"\0", name)] in names:
                return int(value) + moved_by
        return None

    def _dynamic(self, start: int, header: bytes, moved_by: int) -> dict[int, int]:
        (headers,), (each, number) = struct.unpack_from("<Q", header, 32), struct.unpack_from("<HH", header, 54)
        table = self._at(start + headers, each * min(number, HEADER))
        for at in range(0, len(table) - 55, each or HEADER):
            kind, _, _, address, _, size = struct.unpack_from("<IIQQQQ", table, at)
            if kind == PT_DYNAMIC:
                entries = self._at(address + moved_by, min(size, TABLE_CAP) & ~15)
                return dict(struct.iter_unpack("<qQ", entries[: len(entries) & ~15]))
        return {}
