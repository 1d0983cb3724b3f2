"""What an ELF file tells of itself, read in a few bounded pieces: its names, its build, its versions.

Of 64-bit little-endian objects (x86-64, aarch64), after the System V gABI and the Linux extensions of elf(5).
Everything comes from the file and may be wrong by malice: each offset is read anew, each chain is counted.
"""

import os
import re
import struct
from collections.abc import Iterator
from struct import unpack_from
from typing import NamedTuple

from probes.kit.answers import Elf

HEADER = 64
MOST_HEADERS = 4096
PIECE_CAP = 1 << 16  # of a dynamic section, of notes, of version definitions
NAME_CAP = 256
READ_ONLY_CAP = 64 << 20  # of .rodata, which is 0.1 MB of libnccl's 219 MB
WINDOW = 1 << 20
OVERLAP = 512  # longer than what is looked for

PT_LOAD, PT_DYNAMIC, PT_NOTE = 1, 2, 4
DT_STRTAB, DT_SONAME, DT_VERDEF, DT_VERDEFNUM = 5, 14, 0x6FFFFFFC, 0x6FFFFFFD
NT_GNU_BUILD_ID = 3


class _Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    size: int


def read_elf(fd: int, pattern: str = "") -> Elf:
    """pattern: looked for in `.rodata`; its first group counts, where it has one. Raises ValueError for what is no
    such file, OSError."""
    try:
        return _File(fd).told(pattern)
    except (struct.error, IndexError, OverflowError) as error:
        raise ValueError(f"no ELF file that makes sense: {error}") from error


class _File:
    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._header = self._at(0, HEADER)
        if self._header[:6] != b"\x7fELF\x02\x01":
            raise ValueError("no ELF file of 64 bits, little-endian")
        self._segments = tuple(self._program_headers())
        self._dynamic = self._dynamic_entries()

    def told(self, pattern: str) -> Elf:
        return Elf(
            soname=self._name(self._dynamic[DT_SONAME]) if DT_SONAME in self._dynamic else "",
            build_id=next(self._build_ids(), ""),
            defines=tuple(self._defines()),
            told=self._found(pattern) if pattern else "",
            size=os.fstat(self._fd).st_size,
        )

    def _at(self, offset: int, size: int) -> bytes:
        return os.pread(self._fd, size, offset)

    def _program_headers(self) -> Iterator[_Segment]:
        (start,) = unpack_from("<Q", self._header, 32)
        each, number = unpack_from("<HH", self._header, 54)
        table = self._at(start, each * min(number, MOST_HEADERS))
        for at in range(0, len(table) - 55, each or HEADER):
            kind, _flags, offset, address, _, size = unpack_from("<IIQQQQ", table, at)
            yield _Segment(kind, offset, address, size)

    def _pieces(self, kind: int) -> Iterator[bytes]:
        return (self._at(s.offset, min(s.size, PIECE_CAP)) for s in self._segments if s.kind == kind)

    def _dynamic_entries(self) -> dict[int, int]:
        table = next(self._pieces(PT_DYNAMIC), b"")
        return dict(unpack_from("<qQ", table, at) for at in range(0, len(table) - 15, 16))

    def _offset(self, address: int) -> int:
        """Where in the file lies what is loaded there."""
        loaded = (s for s in self._segments if s.kind == PT_LOAD and s.address <= address < s.address + s.size)
        segment = next(loaded, None)
        if segment is None:
            raise ValueError("an address that no segment holds")
        return segment.offset + address - segment.address

    def _name(self, index: int) -> str:
        if DT_STRTAB not in self._dynamic:
            raise ValueError("no table of names")
        return _text(self._at(self._offset(self._dynamic[DT_STRTAB]) + index, NAME_CAP))

    def _build_ids(self) -> Iterator[str]:
        for notes in self._pieces(PT_NOTE):
            at = 0
            while at + 12 <= len(notes):
                named, described, kind = unpack_from("<III", notes, at)
                owner, at = at + 12, at + 12 + _aligned(named)
                if kind == NT_GNU_BUILD_ID and notes[owner : owner + named] == b"GNU\0":
                    yield notes[at : at + described].hex()
                at += _aligned(described)

    def _defines(self) -> Iterator[str]:
        if DT_VERDEF not in self._dynamic:
            return
        table, at = self._at(self._offset(self._dynamic[DT_VERDEF]), PIECE_CAP), 0
        for _ in range(min(self._dynamic.get(DT_VERDEFNUM, 0), MOST_HEADERS)):
            first, following = unpack_from("<II", table, at + 12)
            yield self._name(unpack_from("<I", table, at + first)[0])
            at += following

    def _found(self, pattern: str) -> str:
        wanted = re.compile(pattern.encode())
        matches = (wanted.search(window) for window in self._read_only())
        match = next(filter(None, matches), None)
        return _text(match[match.lastindex or 0]) if match else ""

    def _read_only(self) -> Iterator[bytes]:
        """`.rodata`, window by window; nothing where the section headers were stripped."""
        offset, size = self._section(b".rodata\0")
        for at in range(0, min(size, READ_ONLY_CAP), WINDOW):
            yield self._at(offset + at, min(WINDOW + OVERLAP, size - at))

    def _section(self, name: bytes) -> tuple[int, int]:
        """Offset and size; (0, 0) where there is none."""
        (start,) = unpack_from("<Q", self._header, 40)
        each, number, names_at = unpack_from("<HHH", self._header, 58)
        table = self._at(start, each * min(number, MOST_HEADERS)) if start and each >= HEADER else b""
        sections = [unpack_from("<I20xQQ", table, at) for at in range(0, len(table) - 39, each or HEADER)]
        names = self._at(sections[names_at][1], PIECE_CAP) if sections else b""
        found = ((offset, size) for named, offset, size in sections if names[named:].startswith(name))
        return next(found, (0, 0))


def _aligned(size: int) -> int:
    return size + 3 & ~3


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode("utf-8", "backslashreplace")
