"""The configuration space of a PCI function: the registers of the capabilities that are asked for, and nothing else.

The rest holds serial numbers and addresses, which no recording shall have; and each word that is read is a request that
the device answers, in about a microsecond. Layout: PCI Local Bus Specification 3.0, 6.7; PCI Express Base Specification
6.0, 7.5 to 7.9; offsets as in include/uapi/linux/pci_regs.h.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import msgspec

from probes.kit.facts import Gap, Seen
from probes.kit.regular import open_regular

_HEADER, _BASIC = 64, 256
_STATUS, _LISTED, _TYPE = 0x06, 0x10, 0x0E
_FIRST: Mapping[int, int] = {0: 0x34, 1: 0x34, 2: 0x14}  # of the list, by type of header
_NOWHERE = -1
_MOST, _MOST_EXTENDED = 48, 480  # capabilities that there is room for

BASIC: Mapping[int, tuple[str, int]] = {0x10: ("express", 0x3C)}
"""By the capability's number: what it is called here, and how many bytes of it are kept."""
EXTENDED: Mapping[int, tuple[str, int]] = {
    0x0D: ("acs", 8),
    0x0F: ("ats", 8),
    0x15: ("resizable_bar", 52),
    0x1B: ("pasid", 8),
}

Size = Literal["header", "basic", "extended"]
Read = Callable[[int, int], bytes]
"""So many bytes from a place on; fewer where the space ends."""


class PciConfig(msgspec.Struct, frozen=True):
    """size      how much could be read: the kernel gives the header alone to whom has no CAP_SYS_ADMIN
    gone      it reads as all ones: nothing answers there
    damaged   a list of capabilities does not end, or leads nowhere
    found     the first bytes of capabilities, in hexadecimal, by name
    """

    size: Size
    gone: bool = False
    damaged: bool = False
    found: Mapping[str, str] = {}


def registers_of(path: str) -> Seen[PciConfig]:
    """Of a function that sleeps the kernel wakes it for this (drivers/pci/pci-sysfs.c, pci_read_config)."""
    fd = open_regular(path)
    try:
        return _told(lambda at, size: os.pread(fd, size, at))
    finally:
        os.close(fd)


def read_pci_config(octets: bytes) -> Seen[PciConfig]:
    """octets: the first 64 of a configuration space, or more, as `lspci -xxxx` prints them."""
    return _told(lambda at, size: octets[at : at + size])


def _told(read: Read) -> Seen[PciConfig]:
    basic = read(0, _BASIC)
    if len(basic) < _HEADER:
        return Gap("failed", f"a configuration space has {_HEADER} bytes and more, not {len(basic)}")
    is_extended = len(basic) == _BASIC and read(_BASIC, 4) != b""
    size: Size = "extended" if is_extended else "basic" if len(basic) == _BASIC else "header"
    if basic[:4] == b"\xff" * 4:
        return PciConfig(size, gone=True)
    found: dict[str, str] = {}
    damaged = False
    for known, walk in ((BASIC, _basic(basic)), (EXTENDED, _extended(read) if is_extended else ())):
        for number, at in walk:
            damaged |= number == _NOWHERE
            name, length = known.get(number, ("", 0))
            if name and name not in found:
                found[name] = read(at, length).hex()
    return PciConfig(size, damaged=damaged, found=found)


def _basic(octets: bytes) -> Iterator[tuple[int, int]]:
    """Number and place of each capability, in order; at last _NOWHERE if the list does not end."""
    start = _FIRST.get(octets[_TYPE] & 0x7F)
    if len(octets) < _BASIC or start is None or not octets[_STATUS] & _LISTED:
        return
    at, left = octets[start] & ~3, _MOST
    while at:
        if at < _HEADER or not left:
            yield _NOWHERE, at
            return
        yield octets[at], at
        at, left = octets[at + 1] & ~3, left - 1


def _extended(read: Read) -> Iterator[tuple[int, int]]:
    at, left = _BASIC, _MOST_EXTENDED
    while at:
        octets = read(at, 4)
        header = int.from_bytes(octets, "little")
        if header in (0, 0xFFFFFFFF) and at == _BASIC:
            return
        if at < _BASIC or len(octets) < 4 or header == 0xFFFFFFFF or not left:
            yield _NOWHERE, at
            return
        yield header & 0xFFFF, at
        at, left = header >> 20 & ~3, left - 1
