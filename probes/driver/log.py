"""What the kernel's log tells of GPUs, switches and their links since boot."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from probes.kit.facts import Gap, Map, Section, Seen, counter, state, telemetry, then

if TYPE_CHECKING:
    from probes.driver.lines import Event, Log

SOURCE = "/dev/kmsg"


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
    # Whether they are trouble is told device by device and number by number.
    xids: Seen[int] = counter("Xids of all GPUs together", f"{SOURCE}, NVRM: Xid")
    sxids: Seen[int] = counter("SXids of all NVSwitches together", f"{SOURCE}, nvidia-nvswitch: SXid")
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


def read_kernel_log(log: Seen["Log"]) -> KernelLog:
    return KernelLog(
        oldest_record=then(log, lambda it: it.oldest),
        xids=then(log, lambda it: len(it.xids)),
        sxids=then(log, lambda it: len(it.sxids)),
        aer_errors=then(log, lambda it: len(it.aer)),
        api_mismatches=then(log, lambda it: it.api_mismatches),
        peermem_errors=then(log, lambda it: it.peermem_errors),
        driver_loads=then(log, lambda it: len(it.loads)),
        driver_loaded_at=then(log, _last_load),
    )


def _last_load(log: "Log") -> Seen[int]:
    return log.loads[-1] if log.loads else Gap("not_observable", "the log does not hold it, or no longer")


def read_devices(log: "Log") -> Map[DeviceLog]:
    """Those of which anything was said."""
    told = {event.device for group in (log.xids, log.sxids, log.aer, log.fallen, log.init_failed) for event in group}
    return Map({device: _device(log, device) for device in sorted(told)})


def _device(log: "Log", device: str) -> DeviceLog:
    xids = [event for event in log.xids if event.device == device]
    severities = Counter(event.what for event in log.aer if event.device == device)
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


def _by_number(events: Iterable["Event"]) -> Map[Seen[int]]:
    counts: Mapping[str, int] = Counter(event.what for event in events)
    return Map({number: counts[number] for number in sorted(counts, key=int)})
