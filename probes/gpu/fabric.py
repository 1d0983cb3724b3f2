"""Whether the GPU has joined the NVLink fabric (Hopper and later with NVSwitch), and how well it is joined."""

import re
from collections.abc import Mapping
from typing import Any

from probes.gpu.asking import UNSUPPORTED, Device, Words, told_of
from probes.kit.facts import Gap, Section, Seen, config, seen_or, state, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex

INFO = "nvmlDeviceGetGpuFabricInfoV"
SETTLING_SECONDS = 120
"""Since boot, or since the driver was loaded: until then a GPU that is still being registered has not failed to be."""

STATES: Words = {0: "not_supported", 1: "not_started", 2: "in_progress", 3: "completed"}  # NVML_GPU_FABRIC_STATE_*
SUMMARIES: Words = {1: "healthy", 2: "unhealthy", 3: "limited_capacity"}  # NVML_GPU_FABRIC_HEALTH_SUMMARY_*
YES_NO: Words = {1: "yes", 2: "no"}  # _TRUE, _FALSE of the health mask
BANDWIDTHS: Words = {1: "degraded", 2: "full"}
CONFIGURATIONS: Words = {
    1: "none",
    2: "incorrect_sysguid",
    3: "incorrect_chassis_sn",
    4: "no_partition",
    5: "insufficient_nvlinks",
    6: "incompatible_gpu_fw",
    7: "invalid_location",
    8: "gpu_state_invalid",
}
MANAGERS: Words = {1: "connected", 2: "disconnected"}

RETURNS = (
    "success", "uninitialized", "invalid_argument", "not_supported", "no_permission", "already_initialized",
    "not_found", "insufficient_size", "insufficient_power", "driver_not_loaded", "timeout", "irq_issue",
    "library_not_found", "function_not_found", "corrupted_inforom", "gpu_is_lost", "reset_required",
    "operating_system", "lib_rm_version_mismatch", "in_use", "memory", "no_data", "vgpu_ecc_not_supported",
    "insufficient_resources", "freq_not_supported", "argument_version_mismatch", "deprecated", "not_ready",
    "gpu_not_found", "invalid_state", "reset_type_not_supported",
)  # fmt: skip
"""nvmlReturn_t, by number."""
UNKNOWN = 999  # NVML_ERROR_UNKNOWN
_LOADED = lazy_regex(r"^\d+,(\d+);NVRM: loading NVIDIA UNIX", re.MULTILINE)

MASK: Mapping[str, tuple[int, int, Words]] = {
    "bandwidth": (0, 0x3, BANDWIDTHS),
    "route_recovery_in_progress": (2, 0x3, YES_NO),
    "route_unhealthy": (4, 0x3, YES_NO),
    "access_timeout_recovery": (6, 0x3, YES_NO),
    "incorrect_configuration": (8, 0xF, CONFIGURATIONS),
    "partition_assigned": (12, 0x3, YES_NO),
    "global_fabric_manager": (14, 0x3, MANAGERS),
}
"""Part of the health mask -> shift, width and words (NVML_GPU_FABRIC_HEALTH_MASK_*); 0 is "not supported" in all."""


class FabricHealth(Section):
    summary: Seen[str] = state("All of the below in one word", f"{INFO}.healthSummary", settled="always")
    bandwidth: Seen[str] = state(
        "Degraded: the GPU has fewer links into the fabric than it should, and collectives run at its pace",
        f"{INFO}.healthMask",
        settled="always",
    )
    route_recovery_in_progress: Seen[str] = state(
        "Routes are being made anew: traffic between GPUs waits", f"{INFO}.healthMask", settled="always"
    )
    route_unhealthy: Seen[str] = state(
        "A route is not to be trusted: peers may not be reached", f"{INFO}.healthMask", settled="always"
    )
    access_timeout_recovery: Seen[str] = state(
        "An access to another GPU's memory was not answered in time", f"{INFO}.healthMask", settled="always"
    )
    incorrect_configuration: Seen[str] = state(
        "Why the fabric manager does not count this GPU in: wrong place, firmware, partition or too few links",
        f"{INFO}.healthMask",
        settled="always",
    )
    partition_assigned: Seen[str] = state(
        "Without a partition there are no peers over NVLink", f"{INFO}.healthMask", settled="always"
    )
    global_fabric_manager: Seen[str] = state(
        "Without the rack's manager no new connections are made", f"{INFO}.healthMask", settled="always"
    )


class Fabric(Section):
    status: Seen[str] = state(
        "How registration ended; NVML's return code where it failed",
        f"{INFO}.status",
        settled="always",
        follows=("gpu/*/fabric/state",),
    )
    clique_id: Seen[int] = config(
        "GPUs of other cliques are not reached over NVLink", f"{INFO}.cliqueId", follows=("gpu/*/fabric/state",)
    )
    cluster_uuid: Seen[str] = config(
        "The NVLink domain: another one is another rack, or the same set up anew",
        f"{INFO}.clusterUuid",
        follows=("gpu/*/fabric/state",),
    )
    state: Seen[str] = state(
        "Until it is `completed` CUDA does not start (error 802) or peers go over PCIe: fabric manager and driver "
        "must be of one version",
        f"{INFO}.state",
        settled="always",
    )
    health: FabricHealth = FabricHealth()


def read_fabric(device: Device) -> Fabric:
    info = then(device.answer(INFO), lambda told: _joined(device.host, told))
    completed = then(info, _completed)
    return Fabric(
        state=then(info, lambda told: _word(told["state"], STATES)),
        status=then(completed, lambda told: _status(told["status"])),
        clique_id=then(completed, lambda told: told_of(told["cliqueId"])),
        cluster_uuid=then(completed, lambda told: _uuid(told["clusterUuid"])),
        health=_health(info),
    )


def _joined(host: Host, info: Mapping[str, Any]) -> Seen[Mapping[str, Any]]:
    if info["state"] == 0:
        return UNSUPPORTED
    if info["state"] != 3 and _is_young(host):
        return Gap("settling", f"registration with the fabric is {STATES.get(info['state'], info['state'])}")
    return info


def _is_young(host: Host) -> bool:
    uptime = then(host.line("/proc/uptime"), lambda line: float(line.split()[0]))
    return not isinstance(uptime, Gap) and uptime - _loaded_at(host) < SETTLING_SECONDS


def _loaded_at(host: Host) -> float:
    """Seconds from boot until the driver was loaded last; 0 where the kernel's log does not tell it to this reader."""
    loads = _LOADED.findall(seen_or(host.kernel_log(), ""))
    return int(loads[-1]) / 1e6 if loads else 0.0


def _completed(info: Mapping[str, Any]) -> Seen[Mapping[str, Any]]:
    """What nvml.h gives a meaning only once registration is completed."""
    return info if info["state"] == 3 else Gap("not_observable", "registration with the fabric is not completed")


def _health(info: Seen[Mapping[str, Any]]) -> FabricHealth:
    parts = {name: _part(info, *place) for name, place in MASK.items()}
    return FabricHealth(summary=then(info, lambda told: _word(told.get("healthSummary", 0), SUMMARIES)), **parts)


def _part(info: Seen[Mapping[str, Any]], shift: int, width: int, words: Words) -> Seen[str]:
    """Version 1 of the answer has no health at all."""
    mask = then(info, lambda told: told_of(told.get("healthMask", 0)))
    return then(mask, lambda bits: _word(bits >> shift & width, words))


def _word(number: int, words: Words) -> Seen[str]:
    if number == 0 and 0 not in words:
        return UNSUPPORTED
    return words.get(number, f"unknown ({number})")


def _status(code: int) -> str:
    if code == UNKNOWN:
        return "unknown"
    return RETURNS[code] if 0 <= code < len(RETURNS) else f"unknown ({code})"


def _uuid(octets: list[int]) -> str:
    text = bytes(octets).hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
