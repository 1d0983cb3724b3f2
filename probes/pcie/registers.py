"""What the registers of a PCI function say: fields by their place in a capability, as lspci names them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from probes.kit.facts import Gap, Seen, seen_or, then
from probes.kit.pci_config import BASIC, PciConfig

DENIED = Gap("denied", "of a configuration space the kernel shows 64 bytes to whom has no CAP_SYS_ADMIN")
GONE = Gap("lost", "its registers read as all ones: nothing answers at this address")
DAMAGED = Gap("failed", "a list of capabilities leads nowhere or has no end")
NO_EXTENDED = Gap("unsupported", "it has no extended configuration space, or the way to it has none")
LACKS = Gap("unsupported", "it does not have this capability")
NO_LINK = Gap("unsupported", "no link leads to it, as to a part of the CPU or the chipset")

ACS = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
ASPM = ("disabled", "L0s", "L1", "L0s L1")
LEAST_PAYLOAD = 128
INTEGRATED = (9, 10)  # types of functions that are part of the root complex: their registers of a link mean nothing
REBAR_ENTRY, MOST_BARS = 8, 6


class Field(NamedTuple):
    """Of a capability: where it begins, in bytes; how many of its bits, from which on."""

    capability: str
    at: int
    first: int
    bits: int = 1


VERSION = Field("express", 0x02, 0, 4)
TYPE = Field("express", 0x02, 4, 4)
MAX_PAYLOAD_SUPPORTED = Field("express", 0x04, 0, 3)
EXTENDED_TAGS_SUPPORTED = Field("express", 0x04, 5)
RELAXED_ORDERING = Field("express", 0x08, 4)
MAX_PAYLOAD = Field("express", 0x08, 5, 3)
EXTENDED_TAGS = Field("express", 0x08, 8)
MAX_READ_REQUEST = Field("express", 0x08, 12, 3)
MAX_LINK_SPEED = Field("express", 0x0C, 0, 4)
MAX_LINK_WIDTH = Field("express", 0x0C, 4, 6)
ASPM_SUPPORTED = Field("express", 0x0C, 10, 2)
ASPM_CONTROL = Field("express", 0x10, 0, 2)
LINK_SPEED = Field("express", 0x12, 0, 4)
LINK_WIDTH = Field("express", 0x12, 4, 6)
LINK_SPEEDS = Field("express", 0x2C, 1, 7)
ACS_CAPABILITY = Field("acs", 0x04, 0, 7)
ACS_CONTROL = Field("acs", 0x06, 0, 7)
ATS = Field("ats", 0x06, 15)
PASID = Field("pasid", 0x06, 0)
BARS_LISTED = Field("resizable_bar", 0x08, 5, 3)

Registers = Seen[PciConfig]


def field(registers: Registers, what: Field) -> Seen[int]:
    """Its bits as a number, or why they could not be read."""
    return then(registers, lambda found: _field(found, what))


def flag(registers: Registers, what: Field) -> Seen[bool]:
    return then(field(registers, what), bool)


def size(registers: Registers, what: Field) -> Seen[int]:
    """Bytes of a payload or a read request: 128 shifted; 6 and 7 are reserved."""
    return then(field(registers, what), lambda code: LEAST_PAYLOAD << code if code < 6 else _reserved(code))


def of_link(registers: Registers, what: Field) -> Seen[int]:
    """Of a field about the link that leads to it, or away from it."""
    return NO_LINK if field(registers, TYPE) in INTEGRATED else field(registers, what)


def aspm(registers: Registers, what: Field) -> Seen[str]:
    return then(of_link(registers, what), lambda code: ASPM[code])


def acs(registers: Registers, what: Field) -> Seen[tuple[str, ...]]:
    bits = field(registers, what)
    return then(bits, lambda mask: tuple(word for bit, word in enumerate(ACS) if mask >> bit & 1))


def max_generation(registers: Registers) -> Seen[int]:
    """The highest bit of the speeds that are listed, as the kernel has it; old devices list none, and those of version
    1 have something else there."""
    is_listed = seen_or(field(registers, VERSION), 0) > 1
    listed = seen_or(of_link(registers, LINK_SPEEDS), 0) if is_listed else 0
    return listed.bit_length() or of_link(registers, MAX_LINK_SPEED)


def bar_sizes(registers: Registers) -> Seen[Mapping[int, int]]:
    """MiB to which each resizable BAR could grow, by its number."""
    return then(field(registers, BARS_LISTED), lambda count: _sizes(registers, min(count, MOST_BARS)))


def _sizes(registers: Registers, count: int) -> Seen[Mapping[int, int]]:
    found: dict[int, int] = {}
    for entry in range(0, count * REBAR_ENTRY, REBAR_ENTRY):
        mask = field(registers, Field("resizable_bar", 0x04 + entry, 4, 28))
        bar = field(registers, Field("resizable_bar", 0x08 + entry, 0, 3))
        if isinstance(mask, Gap) or isinstance(bar, Gap):
            return DAMAGED
        found[bar] = 1 << max(mask.bit_length() - 1, 0)
    return found


def _field(found: PciConfig, what: Field) -> Seen[int]:
    octets = found.found.get(what.capability, "")
    first = 8 * what.at + what.first
    if found.gone:
        return GONE
    if not octets:
        return _missing(found, what.capability)
    if 4 * len(octets) < first + what.bits:
        return DAMAGED
    return _number(octets) >> first & (1 << what.bits) - 1


@lru_cache(maxsize=64)
def _number(octets: str) -> int:
    return int.from_bytes(bytes.fromhex(octets), "little")


def _missing(found: PciConfig, capability: str) -> Gap:
    if found.size == "header":
        return DENIED
    if found.damaged:
        return DAMAGED
    is_basic = any(name == capability for name, _ in BASIC.values())
    return NO_EXTENDED if found.size == "basic" and not is_basic else LACKS


def _reserved(code: int) -> Gap:
    return Gap("failed", f"a size of code {code} is reserved")
