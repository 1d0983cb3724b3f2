"""Lines of the kernel's log about GPUs, switches and their links, in every form that drivers gave them.

Imported only where there is a driver or a device: its expressions take a millisecond to compile.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from probes.kit.lazy import lazy_regex

_ADDRESS = r"(?P<slot>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)"
# With MIG, ` GPU-I:05` and ` GPU-CI:00` follow the address; the oldest drivers leave out `PCI:`.
_XID = lazy_regex(rf"NVRM: (?:GPU\d+ )?Xid \((?:PCI:)?{_ADDRESS}[^)\n]*\): (?P<what>\d+)\b,? ?(?P<text>[^\n]*)")
_SXID = lazy_regex(rf"nvidia-nvswitch\d*:? SXid \((?:PCI:)?{_ADDRESS}\): (?P<what>\d+)\b,? ?(?P<text>[^\n]*)")
# drivers/pci/pcie/aer.c; the words for severities changed with Linux 6.16.
_AER = lazy_regex(rf"\b{_ADDRESS}: (?:AER: )?PCIe Bus Error: severity=(?P<what>Correct|Uncorrect\w+ \(\w)")
_FALLEN = lazy_regex(rf"NVRM: GPU (?:at )?{_ADDRESS}:?(?: GPU)? has fallen off the bus")
_GONE = lazy_regex(
    rf"NVRM: The NVIDIA GPU {_ADDRESS}\s[^.]*\binstalled in this system has\s+(?:NVRM: )?fallen off the bus"
)
_INIT_FAILED = lazy_regex(rf"NVRM: GPU {_ADDRESS}: RmInitAdapter failed!")
_LOADED = lazy_regex(r"NVRM: loading NVIDIA UNIX .*?Kernel Module")
_MISMATCH = lazy_regex(r"NVRM: API mismatch: the client has the version")
_PEERMEM = lazy_regex(r"nvidia[-_]peermem \S+ ERROR ")
_SEVERITY = {"Correct": "corrected", "(N": "nonfatal", "(F": "fatal"}


class Record(NamedTuple):
    sequence: int
    microseconds: int
    text: str


class Event(NamedTuple):
    """device: its PCI address. what: an Xid's or SXid's number, a severity, or nothing."""

    device: str
    what: str = ""
    text: str = ""


class Log:
    """What the records hold. log: as Host.kernel_log gives it.

    oldest  number of the oldest record there is; 0 where nothing was overwritten
    loads   when the driver was loaded, in seconds since boot
    """

    def __init__(self, log: str) -> None:
        records = tuple(_records(log))
        text = "\n".join(record.text for record in records)
        self.oldest = records[0].sequence if records else 0
        self.xids = tuple(_events(_XID, text))
        self.sxids = tuple(_events(_SXID, text))
        self.aer = tuple(event._replace(what=_severity(event.what)) for event in _events(_AER, text))
        self.fallen = (*_events(_FALLEN, text), *_events(_GONE, text))
        self.init_failed = tuple(_events(_INIT_FAILED, text))
        self.api_mismatches = len(_MISMATCH.findall(text))
        self.peermem_errors = len(_PEERMEM.findall(text))
        self.loads = tuple(record.microseconds // 1_000_000 for record in records if _LOADED.search(record.text))


def _records(log: str) -> Iterator[Record]:
    """One record of the kernel may hold several lines: their ends are escaped."""
    for line in log.splitlines():
        head, _, text = line.partition(";")
        sequence, _, microseconds = head.partition(",")
        yield Record(int(sequence), int(microseconds), text.replace("\\x0a", "\n"))


def _events(pattern: re.Pattern[str], text: str) -> Iterator[Event]:
    for match in pattern.finditer(text):
        found = match.groupdict()
        yield Event(slot(match["slot"]), found.get("what", ""), found.get("text", ""))


def slot(written: str) -> str:
    """The kernel's name of a PCI address: drivers leave out function or domain, or write the domain with 8 digits."""
    *domain, bus, device = written.lower().split(":")
    return f"{int(domain[0], 16) if domain else 0:04x}:{bus}:{device if '.' in device else device + '.0'}"


def _severity(what: str) -> str:
    return next(name for end, name in _SEVERITY.items() if what.endswith(end))
