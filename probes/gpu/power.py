"""What a GPU draws and from where, and how its power is steered beside the limits."""

from collections.abc import Iterator, Mapping
from typing import Any

from probes.gpu.asking import ENABLED, Device, Words
from probes.gpu.worded import read_worded
from probes.kit.facts import Section, Seen, config, counter, identity, state, telemetry, then
from probes.kit.knobs import read_each

SOURCES: Words = {0: "ac", 1: "battery", 2: "undersized"}
PROFILES: Words = {
    0: "max_p", 1: "max_q", 2: "compute", 3: "memory_bound", 4: "network", 5: "balanced", 6: "llm_inference",
    7: "llm_training", 8: "rbm", 9: "dcpcie", 10: "hmma_sparse", 11: "hmma_dense", 12: "sync_balanced", 13: "hpc",
    14: "mig", 15: "max_q_1", 16: "network_bound", 17: "high_throughput_inference", 18: "medium_throughput_inference",
    19: "low_latency_inference", 20: "training", 21: "inference", 22: "max_q_2", 23: "max_q_3",
    24: "low_priority_background",
}  # fmt: skip
"""nvmlPowerProfileType_t."""

_PROFILES = "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles"


class Module(Section):
    """The module of a GPU and its CPU (GB200, GB300), which share one supply."""

    draw: Seen[int] = telemetry(
        "CPU and GPU together: the CPU's share is taken from the GPU", "NVML_FI_DEV_POWER_INSTANT(1)", "mW"
    )
    power_limit: Seen[int] = config(
        "As the GPU's own; reached, it lowers the GPU's clocks though that one is not",
        "NVML_FI_DEV_POWER_REQUESTED_LIMIT(1)",
        "mW",
        restore="nvidia-smi -i {key} -sc 1 -pl $(({value} / 1000))",
    )
    enforced_power_limit: Seen[int] = state(
        "Below what was asked for, something outside NVML holds the module down",
        "NVML_FI_DEV_POWER_CURRENT_LIMIT(1)",
        "mW",
        settled="always",
        follows=("gpu/*/power/module/power_limit",),
    )
    power_default_limit: Seen[int] = identity(
        "What the limit falls back to", "NVML_FI_DEV_POWER_DEFAULT_LIMIT(1)", "mW", follows=("gpu/*/vbios_version",)
    )
    power_min_limit: Seen[int] = identity(
        "The lowest that can be set", "NVML_FI_DEV_POWER_MIN_LIMIT(1)", "mW", context=True
    )
    power_max_limit: Seen[int] = identity(
        "The highest that can be set", "NVML_FI_DEV_POWER_MAX_LIMIT(1)", "mW", context=True
    )


class Smoothing(Section):
    """Ramps that spare the grid the steps of synchronous work; Blackwell and later, for privileged readers."""

    enabled: Seen[str] = config(
        "Clocks rise slowly after each pause, and idle time burns power", "NVML_FI_PWR_SMOOTHING_ENABLED"
    )  # fmt: skip
    profile: Seen[int] = config("How slowly, by the number of a preset", "NVML_FI_PWR_SMOOTHING_ACTIVE_PRESET_PROFILE")


class Power(Section):
    draw: Seen[int] = telemetry(
        "A limit counts only where the draw reaches it: 92.09 and 91.86 tok/s at 290 and 450 W, at a draw of 163 W",
        "nvmlDeviceGetPowerUsage",
        "mW",
        settled="gpu busy",
    )
    draw_average: Seen[int] = telemetry(
        "Over the last second", "NVML_FI_DEV_POWER_AVERAGE", "mW", settled="gpu busy", context=True
    )
    draw_instant: Seen[int] = telemetry(
        "Of this moment: its peaks trip power brakes", "NVML_FI_DEV_POWER_INSTANT", "mW", settled="gpu busy",
        context=True,
    )  # fmt: skip
    memory_draw: Seen[int] = telemetry(
        "The share of the memory", "NVML_FI_DEV_POWER_AVERAGE(2)", "mW", settled="gpu busy", context=True
    )
    energy: Seen[int] = counter(
        "Energy since the driver was loaded: its growth in a run is the exact mean draw, load or not",
        "nvmlDeviceGetTotalEnergyConsumption",
        "mJ",
    )
    source: Seen[str] = state(
        "On battery or an undersized supply the limit falls: 175 to 80 W were seen",
        "nvmlDeviceGetPowerSource",
        settled="always",
    )
    requested_profiles: Seen[tuple[str, ...]] = config(
        "A profile made for another workload moves clocks and limits of core and memory together",
        f"{_PROFILES}.requestedProfilesMask",
    )
    enforced_profiles: Seen[tuple[str, ...]] = state(
        "What is left of the profiles that were asked for once they are weighed against each other",
        f"{_PROFILES}.enforcedProfilesMask",
        settled="always",
        follows=("gpu/*/power/requested_profiles",),
    )
    smoothing: Smoothing = Smoothing()
    module: Module = Module()


def read_power(device: Device) -> Power:
    return read_worded(
        Power,
        device,
        {"source": SOURCES},
        requested_profiles=_profiles(device, "requestedProfilesMask"),
        enforced_profiles=_profiles(device, "enforcedProfilesMask"),
        smoothing=read_worded(Smoothing, device, {"enabled": ENABLED}),
        module=read_each(Module, device.answer),
    )


def sample_power(device: Device) -> Power:
    return Power(
        draw=device.answer("nvmlDeviceGetPowerUsage"),
        draw_average=device.answer("NVML_FI_DEV_POWER_AVERAGE"),
        draw_instant=device.answer("NVML_FI_DEV_POWER_INSTANT"),
        energy=device.answer("nvmlDeviceGetTotalEnergyConsumption"),
    )


def _profiles(device: Device, which: str) -> Seen[tuple[str, ...]]:
    return then(device.answer(f"{_PROFILES}.{which}"), lambda mask: tuple(_names(mask)))


def _names(mask: Mapping[str, Any]) -> Iterator[str]:
    """nvmlMask255_t: eight words of 32 bits, the lowest first."""
    for at, word in enumerate(mask["mask"]):
        numbers = (32 * at + bit for bit in range(32) if word >> bit & 1)
        yield from (PROFILES.get(number, f"unknown ({number})") for number in numbers)
