"""What somebody set on a GPU as a whole: modes and power limits."""

from collections.abc import Mapping
from typing import Any

from probes.gpu.asking import ENABLED, Device, Words
from probes.gpu.machine import Machine
from probes.gpu.unit import Unit
from probes.kit.facts import Gap, Seen, config, identity, state, telemetry, then

COMPUTE_MODES: Words = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}
ADDRESSING_MODES: Words = {0: "none", 1: "hmm", 2: "ats"}
DRIVER_MODELS: Words = {0: "wddm", 1: "wdm", 2: "mcdm"}
OPERATION_MODES: Words = {0: "all_on", 1: "compute", 2: "low_dp"}
POWER_MIZER_MODES: Words = {
    0: "adaptive", 1: "prefer_maximum_performance", 2: "auto", 3: "prefer_consistent_performance",
}  # fmt: skip
"""NVML_POWER_MIZER_MODE_*."""
RESTRICTIONS: Words = {0: "unrestricted", 1: "restricted"}  # to root

_SMI = "nvidia-smi -i {key}"
_WORD = "$(echo {value} | tr a-z A-Z)"  # as nvidia-smi writes its choices
NO_SOCKET = Gap(
    "not_observable", "reads as off in a container into which the socket of nvidia-persistenced is not mounted"
)


class Settings(Unit):
    persistence_mode: Seen[str] = config(
        "Without it the driver shuts the GPU down when its last user leaves: each start waits 2 to 3 s, and limits, "
        "application clocks and compute mode are lost",
        "nvmlDeviceGetPersistenceMode",
        restore=f"{_SMI} -pm {_WORD}",
    )
    compute_mode: Seen[str] = config(
        "Under `exclusive_process` a second process fails to start; under `prohibited` every one does",
        "nvmlDeviceGetComputeMode",
        restore=f"{_SMI} -c {_WORD}",
    )
    power_mizer_mode: Seen[str] = config(
        "Consistent performance is a lock to the base clocks; under maximum performance they do not fall between steps",
        "nvmlDeviceGetPowerMizerMode_v1.currentMode",
    )
    addressing_mode: Seen[str] = config(
        "With HMM or ATS a GPU reads pageable memory of the host in place: other faults, other bandwidth",
        "nvmlDeviceGetAddressingMode",
    )
    accounting_mode: Seen[str] = config(
        "Statistics for each process are kept, at no cost that anybody measured",
        "nvmlDeviceGetAccountingMode",
        restore=f"{_SMI} -am {_WORD}",
        context=True,
    )
    driver_model: Seen[str] = config(
        "Under WDDM the operating system pages and schedules the GPU's memory", "nvmlDeviceGetDriverModel_v2.0"
    )
    driver_model_pending: Seen[str] = config(
        "Takes effect at the next boot, and moves nothing before",
        "nvmlDeviceGetDriverModel_v2.1",
        follows=("gpu/*/driver_model",),
    )
    gom: Seen[str] = config(
        "Kepler boards can switch parts of the chip off",
        "nvmlDeviceGetGpuOperationMode.0",
        restore=f"{_SMI} --gom={_WORD}",
    )
    gom_pending: Seen[str] = config(
        "Takes effect at the next boot, and moves nothing before",
        "nvmlDeviceGetGpuOperationMode.1",
        follows=("gpu/*/gom",),
    )
    display_active: Seen[str] = telemetry(
        "A desktop on this GPU takes memory and time of it", "nvmlDeviceGetDisplayActive", context=True
    )
    application_clocks_restriction: Seen[str] = config(
        "Whether any user may set the application clocks: then a neighbour may. What is set is a fact of its own",
        "nvmlDeviceGetAPIRestriction(0)",
        context=True,
    )
    auto_boost_restriction: Seen[str] = config(
        "Whether any user may switch auto boost. Whether it is on is a fact of its own",
        "nvmlDeviceGetAPIRestriction(1)",
        context=True,
    )
    performance_state: Seen[str] = state(
        "P0 is full speed; a state that stays higher under load is a stuck or limited GPU: 1.35x to 3x slower",
        "nvmlDeviceGetPerformanceState",
        settled="gpu busy",
    )
    power_limit: Seen[int] = config(
        "Once the draw reaches it the clocks fall: 1.1x to 1.6x, most in prefill; "
        "it is lost at reboot, and without persistence at the last close",
        "nvmlDeviceGetPowerManagementLimit, or NVML_FI_DEV_POWER_REQUESTED_LIMIT",
        "mW",
        restore=f"{_SMI} -pl $(({{value}} / 1000))",
    )
    enforced_power_limit: Seen[int] = state(
        "The least of all limiters: below what was asked for, a BMC, a power brake or heat holds the GPU down",
        "nvmlDeviceGetEnforcedPowerLimit, or NVML_FI_DEV_POWER_CURRENT_LIMIT",
        "mW",
        settled="always",
        follows=("gpu/*/power_limit", "gpu/*/power/source", "gpu/*/power/module/power_limit"),
    )
    power_default_limit: Seen[int] = identity(
        "What the limit falls back to at reboot; another VBIOS has another one",
        "nvmlDeviceGetPowerManagementDefaultLimit, or NVML_FI_DEV_POWER_DEFAULT_LIMIT",
        "mW",
        follows=("gpu/*/vbios_version",),
    )
    power_min_limit: Seen[int] = identity(
        "The lowest limit that can be set",
        "nvmlDeviceGetPowerManagementLimitConstraints, or NVML_FI_DEV_POWER_MIN_LIMIT", "mW", context=True,
    )  # fmt: skip
    power_max_limit: Seen[int] = identity(
        "The highest limit that can be set: boards of one name differ in it",
        "nvmlDeviceGetPowerManagementLimitConstraints, or NVML_FI_DEV_POWER_MAX_LIMIT", "mW", context=True,
    )  # fmt: skip


SETTING_WORDS: Mapping[str, Words] = {
    "compute_mode": COMPUTE_MODES,
    "power_mizer_mode": POWER_MIZER_MODES,
    "addressing_mode": ADDRESSING_MODES,
    "accounting_mode": ENABLED,
    "driver_model": DRIVER_MODELS,
    "driver_model_pending": DRIVER_MODELS,
    "gom": OPERATION_MODES,
    "gom_pending": OPERATION_MODES,
    "display_active": ENABLED,
    "application_clocks_restriction": RESTRICTIONS,
    "auto_boost_restriction": RESTRICTIONS,
}


def setting_facts(device: Device, machine: Machine) -> Mapping[str, Seen[Any]]:
    """Those of Settings that are neither an answer nor its word."""
    return {
        "persistence_mode": persistence(device, machine),
        "performance_state": performance_state(device),
        **_limits(device),
    }


def persistence(device: Device, machine: Machine) -> Seen[str]:
    """A container without the daemon's socket sees it off whatever it is (NVIDIA/dgx-selinux#3)."""
    mode = device.word("nvmlDeviceGetPersistenceMode", ENABLED)
    return NO_SOCKET if mode == "disabled" and machine.contained and not machine.daemon_socket else mode


def performance_state(device: Device) -> Seen[str]:
    """NVML_PSTATE_UNKNOWN is 32."""
    return then(device.answer("nvmlDeviceGetPerformanceState"), lambda n: Gap("unsupported") if n == 32 else f"P{n}")


def _limits(device: Device) -> Mapping[str, Seen[int]]:
    constraints = "nvmlDeviceGetPowerManagementLimitConstraints"
    sources = {
        "power_limit": ("nvmlDeviceGetPowerManagementLimit", "NVML_FI_DEV_POWER_REQUESTED_LIMIT"),
        "enforced_power_limit": ("nvmlDeviceGetEnforcedPowerLimit", "NVML_FI_DEV_POWER_CURRENT_LIMIT"),
        "power_default_limit": ("nvmlDeviceGetPowerManagementDefaultLimit", "NVML_FI_DEV_POWER_DEFAULT_LIMIT"),
        "power_min_limit": (f"{constraints}.0", "NVML_FI_DEV_POWER_MIN_LIMIT"),
        "power_max_limit": (f"{constraints}.1", "NVML_FI_DEV_POWER_MAX_LIMIT"),
    }
    return {fact: device.first(*both) for fact, both in sources.items()}
