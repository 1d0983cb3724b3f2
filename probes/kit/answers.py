"""What a Host answers where it is more than a text or a number."""

from collections.abc import Mapping

import msgspec

from probes.kit.facts import Gap

_REGULAR, _TYPE = 0o100000, 0o170000  # inode(7)


class Stat(msgspec.Struct, frozen=True):
    """What tells whether a file is the same: device, inode, size in bytes, mtime and ctime in ns; owner, mode and how
    many names it has. No program can set the ctime. A recording of before it was read has 0."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    uid: int
    mode: int
    ctime_ns: int = 0
    links: int = 1

    @property
    def is_regular(self) -> bool:
        return self.mode & _TYPE == _REGULAR


class Space(msgspec.Struct, frozen=True):
    """Of a file system: bytes, and how many files it may hold and may hold yet. A file system without a limit says 0
    of those, as a recording of before they were read does."""

    size: int
    free: int
    files: int = 0
    files_free: int = 0


OWNERS_ALONE = Gap("denied", "what of a file is in memory is told to its owner and to who may write it (mincore(2))")


class Resident(msgspec.Struct, frozen=True):
    """Of a file, in bytes: how much was looked at, how much of that was in memory. nodes: of some of those pages, how
    many lay on each memory node."""

    looked_at: int
    there: int
    nodes: Mapping[str, int]


class Elf(msgspec.Struct, frozen=True):
    """Of an ELF file (kit/elf.py). Empty where it does not say.

    soname   what others that need it call it
    build_id  in hexadecimal
    defines  names of the symbol versions that it defines, the file's own name first
    told     the first match of what was looked for in its read-only data
    size     of the file, in bytes
    """

    soname: str
    build_id: str
    defines: tuple[str, ...]
    told: str
    size: int
