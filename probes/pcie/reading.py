"""One PCI function, read: each file once, and no register of what sleeps."""

from collections.abc import Mapping
from typing import Any

from probes.kit.facts import Gap, Seen, then
from probes.kit.host import Host
from probes.kit.lanes import SPEEDS, speed_of
from probes.pcie import registers as r
from probes.pcie.sections import Aer, Power
from probes.pcie.tree import DEVICES

ASLEEP = Gap("asleep", "it is suspended, and to read its registers would wake it")
AT_THE_OTHER_END = Gap("unsupported", "of the link below a port the device at its other end tells")
SLOWS_AT_REST = Gap("unsupported", "it is on a GPU's board and slows with it: how fast it is at rest tells nothing")
_UNKNOWN = 255  # PCIE_LNK_WIDTH_UNKNOWN, where there is no link
_SLEEPS = ("suspended", "suspending")
_CORRECTABLE = {
    "correctable": "TOTAL_ERR_COR",
    "rx_err": "RxErr",
    "bad_tlp": "BadTLP",
    "bad_dllp": "BadDLLP",
    "rollover": "Rollover",
    "timeout": "Timeout",
}

Facts = Mapping[str, Any]


class Reader:
    """What one function is asked, by its address."""

    def __init__(self, host: Host, address: str) -> None:
        self.host = host
        self.folder = f"{DEVICES}/{address}"
        self.runtime_status = self._line("power/runtime_status")
        asleep = self.runtime_status in _SLEEPS
        self.registers: r.Registers = ASLEEP if asleep else host.pci_config(f"{self.folder}/config")

    def power(self) -> Power:
        return Power(
            runtime_status=self.runtime_status,
            control=self._line("power/control"),
            power_state=self._line("power_state"),
            d3cold_allowed=self.number("d3cold_allowed"),
        )

    def number(self, name: str) -> Seen[int]:
        return self.host.number(f"{self.folder}/{name}")

    def _line(self, name: str) -> Seen[str]:
        return self.host.line(f"{self.folder}/{name}")

    def numa_node(self) -> Seen[int]:
        return then(self.number("numa_node"), _node)

    def capabilities(self) -> Facts:
        """What every function has."""
        return {
            "max_link_speed": self._link("max_link_speed", r.max_generation(self.registers)),
            "max_link_width": self._lanes("max_link_width", r.MAX_LINK_WIDTH),
            "aspm": r.aspm(self.registers, r.ASPM_CONTROL),
            "max_payload": r.size(self.registers, r.MAX_PAYLOAD),
            "max_payload_supported": r.size(self.registers, r.MAX_PAYLOAD_SUPPORTED),
            "aer": self._aer(),
        }

    def link(self) -> Facts:
        """What the link above it does now."""
        return {
            "current_link_speed": self._link("current_link_speed", r.of_link(self.registers, r.LINK_SPEED)),
            "current_link_width": self._lanes("current_link_width", r.LINK_WIDTH),
        }

    def requests(self) -> Facts:
        """How it asks for memory."""
        return {
            "max_read_request": r.size(self.registers, r.MAX_READ_REQUEST),
            "relaxed_ordering": r.flag(self.registers, r.RELAXED_ORDERING),
            "extended_tags": r.flag(self.registers, r.EXTENDED_TAGS),
            "ats": r.flag(self.registers, r.ATS),
            "pasid": r.flag(self.registers, r.PASID),
        }

    def _link(self, name: str, generation: Seen[int]) -> Seen[int]:
        """From the registers, or from the kernel where these are not for us."""
        if generation == r.DENIED:
            return _lacking(then(self._line(name), speed))
        return then(generation, lambda number: speed_of(number) if number else r.NO_LINK)

    def _lanes(self, name: str, field: r.Field) -> Seen[int]:
        width = r.of_link(self.registers, field)
        lanes = _lacking(self.number(name)) if width == r.DENIED else width
        return then(lanes, lambda number: number if number not in (0, _UNKNOWN) else r.NO_LINK)

    def _aer(self) -> Aer:
        """A function without this capability has none of the files."""
        corrected = self._table("aer_dev_correctable")
        if isinstance(corrected, Gap):
            return Aer(**dict.fromkeys((*_CORRECTABLE, "nonfatal", "fatal"), corrected))
        return Aer(
            **{name: _of(corrected, word) for name, word in _CORRECTABLE.items()},
            nonfatal=_of(self._table("aer_dev_nonfatal"), "TOTAL_ERR_NONFATAL"),
            fatal=_of(self._table("aer_dev_fatal"), "TOTAL_ERR_FATAL"),
        )

    def _table(self, name: str) -> Seen[Mapping[str, int]]:
        return then(self.host.text(f"{self.folder}/{name}"), _table)

    def bars(self) -> Seen[tuple[int, ...]]:
        return then(self.host.text(f"{self.folder}/resource"), _bars)


def _lacking(seen: Seen[int]) -> Seen[int]:
    """The kernel has files of a link for those functions alone that have the capability."""
    return r.LACKS if isinstance(seen, Gap) and seen.code == "absent" else seen


def speed(text: str) -> Seen[int]:
    """`8.0 GT/s PCIe` -> 8000; the kernel says `Unknown` where no link is up."""
    if text.startswith("Unknown"):
        return Gap("unsupported", "the kernel does not know it")
    number = round(float(text.split(maxsplit=1)[0]) * 1000)
    if number not in SPEEDS:
        raise ValueError(f"no speed of a link: {text!r}")
    return number


def _node(number: int) -> Seen[int]:
    return Gap("unsupported", "the firmware names no node") if number < 0 else number


def _table(text: str) -> Mapping[str, int]:
    return {name: int(count) for name, count in (line.split() for line in text.splitlines())}


def _of(table: Seen[Mapping[str, int]], name: str) -> Seen[int]:
    return then(table, lambda found: found.get(name, Gap("unsupported", f"this kernel does not tell {name}")))


def _bars(text: str) -> tuple[int, ...]:
    """Sizes of the six regions in bytes, 0 of those that are not there: lines of first and last address and flags."""
    rows = [[int(word, 16) for word in line.split()] for line in text.splitlines()[:6]]
    return tuple(last - first + 1 if flags else 0 for first, last, flags in rows)
