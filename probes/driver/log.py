"""What the kernel's log tells of GPUs, switches and their links since boot."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from probes.kit.facts import Gap, Map, Section, Seen, counter, state, telemetry, then

SOURCE = "/dev/kmsg"
_ADDRESS = r"(?P<slot>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)"
# With MIG, ` GPU-I:05` and ` GPU-CI:00` follow the address; the oldest drivers leave out `PCI:`.
_XID = re.compile(rf"NVRM: (?:GPU\d+ )?Xid \((?:PCI:)?{_ADDRESS}[^)\n]*\): (?P<what>\d+)\b,? ?(?P<text>[^\n]*)")
_SXID = re.compile(rf"nvidia-nvswitch\d*:? SXid \((?:PCI:)?{_ADDRESS}\): (?P<what>\d+)\b,? ?(?P<text>[^\n]*)")
# drivers/pci/pcie/aer.c; the words for severities changed with Linux 6.16.
_AER = re.compile(rf"\b{_ADDRESS}: (?:AER: )?PCIe Bus Error: severity=(?P<what>Correct|Uncorrect\w+ \(\w)")
_FALLEN = re.compile(rf"NVRM: GPU (?:at )?{_ADDRESS}:?(?: GPU)? has fallen off the bus")
_GONE = re.compile(
    rf"NVRM: The NVIDIA GPU {_ADDRESS}\s[^.]*\binstalled in this system has\s+(?:NVRM: )?fallen off the bus"
)
_INIT_FAILED = re.compile(rf"NVRM: GPU {_ADDRESS}: RmInitAdapter failed!")
_LOADED = re.compile(r"NVRM: loading NVIDIA UNIX .*?Kernel Module")
_MISMATCH = re.compile(r"NVRM: API mismatch: the client has the version")
_PEERMEM = re.compile(r"nvidia[-_]peermem \S+ ERROR ")
_SEVERITY = {"Correct": "corrected", "(N": "nonfatal", "(F": "fatal"}


class DeviceLog(Section):
    """What was said of one device. Repeated lines may be left out by the kernel: every count is at least that."""

    xid: Seen[Map[Seen[int]]] = counter(
        "By number: 79 fell off the bus, 119 and 120 are a GSP that does not answer, 48, 63, 64, 92, 94 and 95 are "
        "memory, 45 is work cut off, 154 asks for a reset; after 31 matrices were multiplied at 21 of 50 TFLOPS",
        f"{SOURCE}, NVRM: Xid",
        trouble=True,
    )
    last_xid: Seen[str] = state(
        "The driver's own words for the latest Xid: the process, the engine, the address",
        f"{SOURCE}, NVRM: Xid",
        settled="always",
        context=True,
        follows=("driver/log/*/xid/*",),
    )
    sxid: Seen[Map[Seen[int]]] = counter(
        "Errors of an NVSwitch by number: a link that fails there slows or stops whoever talks across it",
        f"{SOURCE}, nvidia-nvswitch: SXid",
        trouble=True,
    )
    aer_corrected: Seen[int] = counter(
        "Transfers that had to be repeated: a bad riser or slot costs bandwidth long before it fails",
        f"{SOURCE}, PCIe Bus Error: severity=Corrected",
        trouble=True,
    )
    aer_nonfatal: Seen[int] = counter(
        "Transfers that were lost: whoever waited for them saw an error",
        f"{SOURCE}, PCIe Bus Error: severity=Uncorrected (Non-Fatal)",
        trouble=True,
    )
    aer_fatal: Seen[int] = counter(
        "The link itself failed and was reset", f"{SOURCE}, PCIe Bus Error: severity=Uncorrected (Fatal)", trouble=True
    )
    fallen_off_bus: Seen[int] = counter(
        "The GPU no longer answers at all: power, heat or the slot; only a reset brings it back",
        f"{SOURCE}, fallen off the bus",
        trouble=True,
    )
    init_failed: Seen[int] = counter(
        "The driver tried to bring the GPU up and could not: each try takes seconds, for every process that asks",
        f"{SOURCE}, RmInitAdapter failed!",
        trouble=True,
    )


class KernelLog(Section):
    """Of the whole host."""

    oldest_record: Seen[int] = telemetry(
        "Above 0, older lines were overwritten: what is counted in the log is a lower bound, and may fall",
        SOURCE,
        context=True,
    )
    xids: Seen[int] = counter("Xids of all GPUs together", f"{SOURCE}, NVRM: Xid", trouble=True)
    sxids: Seen[int] = counter("SXids of all NVSwitches together", f"{SOURCE}, nvidia-nvswitch: SXid", trouble=True)
    aer_errors: Seen[int] = counter(
        "PCI Express errors of all devices together, bridges and NICs among them",
        f"{SOURCE}, PCIe Bus Error",
        trouble=True,
    )
    api_mismatches: Seen[int] = counter(
        "Programs with a library of another version than the module were turned away: a reboot is pending",
        f"{SOURCE}, NVRM: API mismatch",
        trouble=True,
    )
    peermem_errors: Seen[int] = counter(
        "The module that lets NICs write to GPU memory lost track of a buffer: transfers go through the host instead",
        f"{SOURCE}, nvidia-peermem ERROR",
        trouble=True,
    )
    driver_loads: Seen[int] = counter(
        "The driver was loaded again within one boot: limits, locks and counters since load are gone",
        f"{SOURCE}, NVRM: loading NVIDIA UNIX Kernel Module",
        context=True,
    )
    driver_loaded_at: Seen[int] = state(
        "When the driver was loaded last: what it forgets with that is at its default since then",
        f"{SOURCE}, NVRM: loading NVIDIA UNIX Kernel Module",
        "s since boot",
        settled="always",
        context=True,
    )


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
    """The records, and what they hold. log: as Host.kernel_log gives it."""

    def __init__(self, log: str) -> None:
        self.records = tuple(_records(log))
        text = "\n".join(record.text for record in self.records)
        self.text = text
        self.xids = tuple(_events(_XID, text))
        self.sxids = tuple(_events(_SXID, text))
        self.aer = tuple(_events(_AER, text))
        self.fallen = (*_events(_FALLEN, text), *_events(_GONE, text))
        self.init_failed = tuple(_events(_INIT_FAILED, text))

    def count(self, pattern: re.Pattern[str]) -> int:
        return sum(1 for _ in pattern.finditer(self.text))


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


def read_kernel_log(log: Seen[Log]) -> KernelLog:
    return KernelLog(
        oldest_record=then(log, lambda it: it.records[0].sequence if it.records else 0),
        xids=then(log, lambda it: len(it.xids)),
        sxids=then(log, lambda it: len(it.sxids)),
        aer_errors=then(log, lambda it: len(it.aer)),
        api_mismatches=then(log, lambda it: it.count(_MISMATCH)),
        peermem_errors=then(log, lambda it: it.count(_PEERMEM)),
        driver_loads=then(log, lambda it: it.count(_LOADED)),
        driver_loaded_at=then(log, lambda it: _loaded_at(it.records)),
    )


def _loaded_at(records: Iterable[Record]) -> Seen[int]:
    times = [record.microseconds // 1_000_000 for record in records if _LOADED.search(record.text)]
    return times[-1] if times else Gap("not_observable", "the log does not hold it, or no longer")


def read_devices(log: Log) -> Map[DeviceLog]:
    """Those of which anything was said."""
    told = {event.device for group in (log.xids, log.sxids, log.aer, log.fallen, log.init_failed) for event in group}
    return Map({device: _device(log, device) for device in sorted(told)})


def _device(log: Log, device: str) -> DeviceLog:
    xids = [event for event in log.xids if event.device == device]
    severities = Counter(_severity(event.what) for event in log.aer if event.device == device)
    return DeviceLog(
        xid=_by_number(xids),
        last_xid=f"{xids[-1].what}, {xids[-1].text}" if xids else Gap("absent", "none since boot"),
        sxid=_by_number(event for event in log.sxids if event.device == device),
        aer_corrected=severities["corrected"],
        aer_nonfatal=severities["nonfatal"],
        aer_fatal=severities["fatal"],
        fallen_off_bus=sum(event.device == device for event in log.fallen),
        init_failed=sum(event.device == device for event in log.init_failed),
    )


def _severity(what: str) -> str:
    return next(name for end, name in _SEVERITY.items() if what.endswith(end))


def _by_number(events: Iterable[Event]) -> Map[Seen[int]]:
    counts: Mapping[str, int] = Counter(event.what for event in events)
    return Map({number: counts[number] for number in sorted(counts, key=int)})
