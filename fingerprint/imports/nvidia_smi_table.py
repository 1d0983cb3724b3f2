"""Which element of `nvidia-smi -q -x` tells which fact: drivers 384 to 610, nvsmi_device_v9.dtd to v13.

A test holds the table against logs of real drivers, and names the reason for each element that no fact is made of.

Memory is printed in MiB and power in hundredths of W: what NVML told finer is lost.
"""

from collections.abc import Mapping
from typing import NamedTuple

from fingerprint.imports.printed import Decoder, atomics, kinds, names, number, one_of, pci_id, word, worded


class Told(NamedTuple):
    """elements: below `gpu`, the newest name first; the first that is there tells the fact."""

    read: Decoder
    elements: tuple[str, ...]


def told(read: Decoder, elements: str) -> Told:
    """elements: by white space."""
    return Told(read, tuple(elements.split()))


count = number()
percent = number("%")
mhz = number("MHz")
celsius = number("C")
milliwatts = number("W", 1000)
mib = number("MiB", 1 << 20)
banks = number("bank(s)")
microseconds = number("us")
lanes = number("x")
yes_no = one_of(no="no", yes="yes")
true_false = one_of(false="no", true="yes")
flag = one_of(not_active=0, active=1)
on_off = worded(on="enabled", off="disabled")
text = str

UNIT = {
    "name": told(text, "product_name"),
    "brand": told(word, "product_brand"),
    "architecture": told(worded(ada_lovelace="ada"), "product_architecture"),
    "uuid": told(text, "uuid"),
    "serial": told(text, "serial"),
    "board_part_number": told(text, "board_part_number"),
    "vbios_version": told(text, "vbios_version"),
    "minor_number": told(count, "minor_number"),
    "multi_gpu_board": told(one_of(no=0, yes=1), "multigpu_board"),
    # Told on boards that are in no rack, too: it is the GPU's own, which moved here with R550.
    "module_id": told(count, "platformInfo/module_id gpu_module_id"),
    "pci_device_id": told(pci_id, "pci/pci_device_id"),
    "pci_sub_system_id": told(pci_id, "pci/pci_sub_system_id"),
    "platform/chassis_serial_number": told(text, "platformInfo/chassis_serial_number"),
    "platform/slot_number": told(count, "platformInfo/slot_number"),
    "platform/tray_index": told(count, "platformInfo/tray_index"),
    "platform/host_id": told(count, "platformInfo/host_id"),
    "platform/peer_type": told(one_of(direct_connected=0, switch_connected=1), "platformInfo/peer_type"),
    "inforom/img": told(text, "inforom_version/img_version"),
    "inforom/oem": told(text, "inforom_version/oem_object"),
    "inforom/ecc": told(text, "inforom_version/ecc_object"),
    "inforom/pwr": told(text, "inforom_version/pwr_object"),
    "gsp/version": told(text, "gsp_firmware_version"),
}

SETTINGS = {
    "persistence_mode": told(word, "persistence_mode"),
    "compute_mode": told(word, "compute_mode"),
    "addressing_mode": told(word, "addressing_mode"),
    "accounting_mode": told(word, "accounting_mode"),
    "driver_model": told(word, "driver_model/current_dm"),
    "driver_model_pending": told(word, "driver_model/pending_dm"),
    "gom": told(worded(low_double_precision="low_dp"), "gpu_operation_mode/current_gom"),
    "gom_pending": told(worded(low_double_precision="low_dp"), "gpu_operation_mode/pending_gom"),
    "display_active": told(word, "display_active"),
    "performance_state": told(text, "performance_state"),
    "virtualization/mode": told(word, "gpu_virtualization_mode/virtualization_mode"),
    "virtualization/host_vgpu_mode": told(word, "gpu_virtualization_mode/host_vgpu_mode"),
    "mig/mode_current": told(word, "mig_mode/current_mig"),
    "mig/mode_pending": told(word, "mig_mode/pending_mig"),
    "confidential/dram_encryption_current": told(word, "dram_encryption_mode/current_dram_encryption"),
    "confidential/dram_encryption_pending": told(word, "dram_encryption_mode/pending_dram_encryption"),
    "confidential/protected_used": told(mib, "cc_protected_memory_usage/used"),
    "nvlink/c2c_mode": told(word, "c2c_mode"),
}

_CEILING = "gpu_power_readings/gpu_ceiling_power_limit"
"""R610 has a group for limits that R535 to R595 print beside the draw."""

POWER = {
    "power_limit": told(
        milliwatts,
        f"{_CEILING}/requested_power_limit gpu_power_readings/requested_power_limit power_readings/power_limit",
    ),
    "enforced_power_limit": told(
        milliwatts,
        f"{_CEILING}/current_power_limit gpu_power_readings/current_power_limit power_readings/enforced_power_limit",
    ),
    "power_default_limit": told(
        milliwatts,
        f"{_CEILING}/default_power_limit gpu_power_readings/default_power_limit power_readings/default_power_limit",
    ),
    "power_min_limit": told(milliwatts, "gpu_power_readings/min_power_limit power_readings/min_power_limit"),
    "power_max_limit": told(milliwatts, "gpu_power_readings/max_power_limit power_readings/max_power_limit"),
    "power/draw": told(milliwatts, "gpu_power_readings/power_draw power_readings/power_draw"),
    "power/draw_average": told(milliwatts, "gpu_power_readings/average_power_draw"),
    "power/draw_instant": told(milliwatts, "gpu_power_readings/instant_power_draw"),
    "power/memory_draw": told(milliwatts, "gpu_memory_power_readings/average_power_draw"),
    "power/module/draw": told(milliwatts, "module_power_readings/instant_power_draw"),
    "power/module/power_limit": told(milliwatts, "module_power_readings/requested_power_limit"),
    "power/module/enforced_power_limit": told(milliwatts, "module_power_readings/current_power_limit"),
    "power/module/power_default_limit": told(milliwatts, "module_power_readings/default_power_limit"),
    "power/module/power_min_limit": told(milliwatts, "module_power_readings/min_power_limit"),
    "power/module/power_max_limit": told(milliwatts, "module_power_readings/max_power_limit"),
    # One word for all of it, where it is not told.
    "power/smoothing/enabled": told(word, "power_smoothing"),
    "power/smoothing/profile": told(count, "power_smoothing"),
    "power/requested_profiles": told(names, "power_profiles/power_profile_requested_profiles"),
    "power/enforced_profiles": told(names, "power_profiles/power_profile_enforced_profiles"),
}

CLOCKS = {
    **{f"clocks/{clock}": told(mhz, f"clocks/{clock}_clock") for clock in ("graphics", "sm", "mem", "video")},
    **{f"clocks/max/{clock}": told(mhz, f"max_clocks/{clock}_clock") for clock in ("graphics", "sm", "mem", "video")},
    "clocks/applications/graphics": told(mhz, "applications_clocks/graphics_clock"),
    "clocks/applications/mem": told(mhz, "applications_clocks/mem_clock"),
    "clocks/default_applications/graphics": told(mhz, "default_applications_clocks/graphics_clock"),
    "clocks/default_applications/mem": told(mhz, "default_applications_clocks/mem_clock"),
    "clocks/max_customer_boost/graphics": told(mhz, "max_customer_boost_clocks/graphics_clock"),
    "clocks/auto_boost/enabled": told(on_off, "clock_policy/auto_boost"),
    "clocks/auto_boost/default": told(on_off, "clock_policy/auto_boost_default"),
    "utilization/gpu": told(percent, "utilization/gpu_util"),
    "utilization/memory": told(percent, "utilization/memory_util"),
}

_REASONS = {
    **{
        name: name
        for name in (
            "gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost",
            "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown",
        )
    },
    "display_clock_setting": "display_clocks_setting",
}  # fmt: skip
"""By their bits. `throttle` became `event` with R535."""
EVENTS = {
    f"clocks_event_reasons/{name}": told(
        flag,
        f"clocks_event_reasons/clocks_event_reason_{printed} clocks_throttle_reasons/clocks_throttle_reason_{printed}",
    )
    for name, printed in _REASONS.items()
}
_HELD = {
    "sw_power_cap": "sw_power_cap",
    "sync_boost": "sync_boost",
    "sw_thermal_slowdown": "sw_therm_slowdown",
    "hw_thermal_slowdown": "hw_therm_slowdown",
    "hw_power_brake_slowdown": "hw_power_brake",
}
"""As `--query-gpu` calls them, and as XML does."""
EVENT_COUNTERS = {
    f"clocks_event_reasons_counters/{name}": told(
        microseconds, f"clocks_event_reasons_counters/clocks_event_reasons_counters_{printed}"
    )
    for name, printed in _HELD.items()
}

THERMAL = {
    "temperature/gpu": told(celsius, "temperature/gpu_temp"),
    "temperature/memory": told(celsius, "temperature/memory_temp"),
    "temperature/margin": told(celsius, "temperature/gpu_temp_tlimit"),
    "temperature/thresholds/shutdown": told(celsius, "temperature/gpu_temp_max_threshold"),
    "temperature/thresholds/slowdown": told(celsius, "temperature/gpu_temp_slow_threshold"),
    "temperature/thresholds/gpu_max": told(celsius, "temperature/gpu_temp_max_gpu_threshold"),
    "temperature/thresholds/mem_max": told(celsius, "temperature/gpu_temp_max_mem_threshold"),
    "temperature/thresholds/gpu_target": told(celsius, "temperature/gpu_target_temperature"),
    "temperature/margins/shutdown": told(celsius, "temperature/gpu_temp_max_tlimit_threshold"),
    "temperature/margins/slowdown": told(celsius, "temperature/gpu_temp_slow_tlimit_threshold"),
    "temperature/margins/gpu_max": told(celsius, "temperature/gpu_temp_max_gpu_tlimit_threshold"),
    "temperature/margins/mem_max": told(celsius, "temperature/gpu_temp_max_mem_tlimit_threshold"),
    "fan/speed": told(percent, "fan_speed"),
}

MEMORY = {
    "memory/total": told(mib, "fb_memory_usage/total"),
    "memory/reserved": told(mib, "fb_memory_usage/reserved"),
    "memory/used": told(mib, "fb_memory_usage/used"),
    "memory/free": told(mib, "fb_memory_usage/free"),
    "memory/bar1_total": told(mib, "bar1_memory_usage/total"),
    "memory/bar1_used": told(mib, "bar1_memory_usage/used"),
}


def _errors(scope: str) -> dict[str, Told]:
    """Boards before Turing count single and double bits, by where they arose; later ones SRAM and DRAM."""
    facts = {
        "corrected": "single_bit/total",
        "uncorrected": "double_bit/total",
        "dram_corrected": "dram_correctable single_bit/device_memory",
        "dram_uncorrected": "dram_uncorrectable double_bit/device_memory",
        "sram_corrected": "sram_correctable",
        "sram_uncorrected": "sram_uncorrectable",
        "sram_uncorrected_parity": "sram_uncorrectable_parity",
        "sram_uncorrected_secded": "sram_uncorrectable_secded",
    }
    return {
        f"ecc/{scope}/{fact}": told(count, " ".join(f"ecc_errors/{scope}/{name}" for name in names.split()))
        for fact, names in facts.items()
    }


_SOURCES = ("l2", "sm", "microcontroller", "pcie", "other")
ECC = {
    "ecc/mode_current": told(word, "ecc_mode/current_ecc"),
    "ecc/mode_pending": told(word, "ecc_mode/pending_ecc"),
    **_errors("volatile"),
    **_errors("aggregate"),
    "ecc/sram_threshold_exceeded": told(yes_no, "ecc_errors/aggregate/sram_threshold_exceeded"),
    **{
        f"ecc/sram_sources/{source}": told(count, f"ecc_errors/aggregate_uncorrectable_sram_sources/sram_{source}")
        for source in _SOURCES
    },
}

_ROWS = "remapped_rows/remapped_row"
_HISTOGRAM = "remapped_rows/row_remapper_histogram/row_remapper_histogram"
HEALTH = {
    "health/recovery_action": told(worded(reset="gpu_reset", reboot="node_reboot"), "gpu_recovery_action"),
    "health/unrepairable_memory": told(yes_no, "ecc_errors/unrepairable_memory"),
    "health/channel_repair_pending": told(yes_no, "ecc_errors/channel_repair_pending"),
    "health/tpc_repair_pending": told(yes_no, "ecc_errors/tpc_repair_pending"),
    "health/remapped_rows/correctable": told(count, f"{_ROWS}_corr"),
    "health/remapped_rows/uncorrectable": told(count, f"{_ROWS}_unc"),
    "health/remapped_rows/pending": told(yes_no, f"{_ROWS}_pending"),
    "health/remapped_rows/failure": told(yes_no, f"{_ROWS}_failure"),
    "health/remapped_rows/correctable_inactive": told(count, f"{_ROWS}_corr_inactive"),
    "health/remapped_rows/uncorrectable_inactive": told(count, f"{_ROWS}_unc_inactive"),
    **{
        f"health/remapped_rows/histogram/{left}": told(banks, f"{_HISTOGRAM}_{left}")
        for left in ("max", "high", "partial", "low", "none")
    },
    "health/retired_pages/single_bit_ecc": told(count, "retired_pages/multiple_single_bit_retirement/retired_count"),
    "health/retired_pages/double_bit": told(count, "retired_pages/double_bit_retirement/retired_count"),
    "health/retired_pages/pending": told(yes_no, "retired_pages/pending_retirement retired_pages/pending_blacklist"),
}

PCIE = {
    "pcie/link_gen_current": told(count, "pci/pci_gpu_link_info/pcie_gen/current_link_gen"),
    "pcie/link_gen_max": told(count, "pci/pci_gpu_link_info/pcie_gen/max_link_gen"),
    "pcie/link_gen_gpumax": told(count, "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen"),
    "pcie/link_width_current": told(lanes, "pci/pci_gpu_link_info/link_widths/current_link_width"),
    "pcie/link_width_max": told(lanes, "pci/pci_gpu_link_info/link_widths/max_link_width"),
    "pcie/errors/replay_counter": told(count, "pci/replay_counter"),
    "pcie/errors/replay_rollover_counter": told(count, "pci/replay_rollover_counter"),
    "pcie/atomics_outbound": told(atomics, "pci/atomic_caps_outbound"),
    "pcie/atomics_inbound": told(atomics, "pci/atomic_caps_inbound"),
}

FABRIC = {
    "fabric/state": told(word, "fabric/state"),
    "fabric/status": told(word, "fabric/status"),
    "fabric/clique_id": told(count, "fabric/cliqueId"),
    "fabric/cluster_uuid": told(text, "fabric/clusterUuid"),
    "fabric/health/summary": told(word, "fabric/health/summary"),
    "fabric/health/bandwidth": told(word, "fabric/health/bandwidth"),
    "fabric/health/route_recovery_in_progress": told(true_false, "fabric/health/route_recovery_in_progress"),
    "fabric/health/route_unhealthy": told(true_false, "fabric/health/route_unhealthy"),
    "fabric/health/access_timeout_recovery": told(true_false, "fabric/health/access_timeout_recovery"),
    "fabric/health/incorrect_configuration": told(word, "fabric/health/incorrect_configuration"),
    "fabric/health/partition_assigned": told(true_false, "fabric/health/partition_assigned"),
}

GPU: Mapping[str, Told] = {
    **UNIT, **SETTINGS, **POWER, **CLOCKS, **EVENTS, **EVENT_COUNTERS, **THERMAL, **MEMORY, **ECC, **HEALTH, **PCIE,
    **FABRIC,
}  # fmt: skip
"""Fact, by its path below the GPU -> who tells it."""

PROCESS: Mapping[str, Told] = {
    "type": told(kinds, "type"),
    "used_memory": told(mib, "used_memory"),
}
"""Of a `process_info`, whose key is its pid."""

INSTANCE: Mapping[str, Told] = {
    "multiprocessors": told(count, "device_attributes/shared/multiprocessor_count"),
    "copy_engines": told(count, "device_attributes/shared/copy_engine_count"),
    "memory_used": told(mib, "fb_memory_usage/used"),
}
"""Of a `mig_device`, whose key is GPU instance and compute instance."""

DRIVER: Mapping[str, Told] = {
    "nvml/driver_version": told(text, "kmd_version driver_version"),
    "nvml/cuda_version": told(text, "cuda_umd_version cuda_version"),
}
"""Of the log itself."""

_BEFORE_NVML = {"addressing_mode": 580, "health/unrepairable_memory": 590}


def told_before_nvml(driver_version: str) -> frozenset[str]:
    """Facts of a GPU that nvidia-smi of this driver tells by means of its own: NVML's getter came with a later one."""
    major = int(driver_version.partition(".")[0])
    return frozenset(fact for fact, since in _BEFORE_NVML.items() if major < since)
