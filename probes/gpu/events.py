"""What holds a GPU's clocks down, now and since the driver was loaded; and whether the GPU works at all."""

from collections.abc import Mapping
from typing import Any

import msgspec

from probes.gpu.asking import Device
from probes.kit.facts import Section, Seen, counter, identity, seen_or, state, telemetry, then

CURRENT = "nvmlDeviceGetCurrentClocksEventReasons"
REASONS: Mapping[int, str] = {
    0x001: "gpu_idle",
    0x002: "applications_clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
    0x200: "board_limit",
    0x400: "reliability",
}
"""nvmlClocksEventReason*: bit -> name."""

GPU_IDLE = 0x001
BUSY_PERCENT = 20


def _reason(why: str, bit: int) -> Seen[int]:
    """0 or 1, so that its mean over samples is the share of the time."""
    fact: Seen[int] = telemetry(why, f"{CURRENT}, {bit:#05x}", settled="gpu busy")
    return fact


class EventReasons(Section):
    """Each 1 while it holds. A driver that does not know a reason never tells it: see `supported`."""

    active: Seen[str] = state(
        "All that holds at once, an unknown bit as its number; `none` is a GPU at the clock that it was asked for",
        CURRENT,
        settled="gpu busy",
        context=True,
        follows=("gpu/*/power_limit", "gpu/*/enforced_power_limit", "gpu/*/clocks/applications/*"),
    )
    supported: Seen[tuple[str, ...]] = identity(
        "A reason that is missing here is unknown, not absent", "nvmlDeviceGetSupportedClocksEventReasons",
        context=True, follows=("driver/module/version",),
    )  # fmt: skip
    # Not counted when busy alone: this is how a GPU says that it is not.
    gpu_idle: Seen[int] = telemetry("Nothing runs, and the clocks fall", f"{CURRENT}, 0x001")
    applications_clocks_setting: Seen[int] = _reason("Held by application clocks; newer drivers do not use it", 0x002)
    sw_power_cap: Seen[int] = _reason("The draw reached the power limit, and the driver lowers the clocks", 0x004)
    hw_slowdown: Seen[int] = _reason(
        "Clocks are halved or less by heat or a power brake; a moment of it belongs to each change of clocks", 0x008
    )
    sync_boost: Seen[int] = _reason("Held to the slowest GPU of its group", 0x010)
    sw_thermal_slowdown: Seen[int] = _reason(
        "Core or memory reached its highest operating temperature: one such GPU of 16 slowed all fivefold",
        0x020,
    )
    hw_thermal_slowdown: Seen[int] = _reason("Too hot for software to help: clocks are halved or less", 0x040)
    hw_power_brake_slowdown: Seen[int] = _reason(
        "The chassis pulls the brake: a power supply failed, or its budget is spent", 0x080
    )
    display_clock_setting: Seen[int] = _reason("Held by what the display needs", 0x100)
    board_limit: Seen[int] = _reason("The board's own limit of power or current holds", 0x200)
    reliability: Seen[int] = _reason("Held by the voltage that the chip ages well at", 0x400)


class EventCounters(Section):
    """Time held, since the driver was loaded. nvml.h counts ns; nvidia-smi, as here, tells us."""

    sw_power_cap: Seen[int] = counter(
        "How long the power limit held the clocks: it says whether the limit binds",
        "NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP",
        "us",
    )
    sync_boost: Seen[int] = counter(
        "How long a slower GPU of the group did", "NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST", "us"
    )
    sw_thermal_slowdown: Seen[int] = counter(
        "How long heat did", "NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN", "us", trouble=True
    )
    hw_thermal_slowdown: Seen[int] = counter(
        "How long the hardware halved the clocks for heat",
        "NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN",
        "us",
        trouble=True,
    )
    hw_power_brake_slowdown: Seen[int] = counter(
        "How long the chassis held the brake",
        "NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN",
        "us",
        trouble=True,
    )
    thermal: Seen[int] = counter(
        "How long heat did, by drivers that do not tell soft from hard",
        "NVML_FI_DEV_PERF_POLICY_THERMAL",
        "us",
        trouble=True,
    )
    board_limit: Seen[int] = counter("How long the board's limit did", "NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT", "us")
    reliability: Seen[int] = counter("How long the voltage limit did", "NVML_FI_DEV_PERF_POLICY_RELIABILITY", "us")


class Utilization(Section):
    """Percent of the last 1/6 to 1 s; not told while MIG is on."""

    gpu: Seen[int] = telemetry(
        "The time in which any kernel ran: idle gaps are launches, waits and communication",
        "nvmlDeviceGetUtilizationRates.gpu",
        "%",
    )
    memory: Seen[int] = telemetry(
        "The time in which memory was read or written", "nvmlDeviceGetUtilizationRates.memory", "%", settled="gpu busy"
    )


def mask(device: Device) -> Seen[int]:
    return device.answer(CURRENT)


def read_event_reasons(device: Device) -> EventReasons:
    supported = then(device.answer("nvmlDeviceGetSupportedClocksEventReasons"), names_of)
    return msgspec.structs.replace(sample_event_reasons(device), supported=supported)


def sample_event_reasons(device: Device) -> EventReasons:
    now = mask(device)
    each: Mapping[str, Any] = {name: _holds(now, bit) for bit, name in REASONS.items()}
    return EventReasons(active=then(now, lambda bits: " ".join(names_of(bits)) or "none"), **each)


def _holds(now: Seen[int], bit: int) -> Seen[int]:
    return then(now, lambda bits: int(bits & bit != 0))


def names_of(bits: int) -> tuple[str, ...]:
    """In the order of their bits; one that nvml.h did not have yet is `0x800`."""
    return tuple(REASONS.get(1 << at, f"{1 << at:#x}") for at in range(bits.bit_length()) if bits >> at & 1)


def read_event_counters(device: Device) -> EventCounters:
    facts = EventCounters.__facts__.items()
    return EventCounters(**{name: then(device.answer(fact.source), lambda ns: ns // 1000) for name, fact in facts})


def read_utilization(device: Device) -> Utilization:
    return Utilization(
        gpu=device.answer("nvmlDeviceGetUtilizationRates.gpu"),
        memory=device.answer("nvmlDeviceGetUtilizationRates.memory"),
    )


def busy(device: Device) -> Seen[int]:
    """1 where kernels ran in a fifth of the time and the GPU does not call itself idle, else 0.

    A fifth: under serving a decode step leaves gaps, while a desktop, a health check or a monitor stay below it.
    """
    idle = seen_or(mask(device), 0) & GPU_IDLE
    return then(
        device.answer("nvmlDeviceGetUtilizationRates.gpu"), lambda percent: int(percent >= BUSY_PERCENT and not idle)
    )
