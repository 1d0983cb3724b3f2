"""Which label of `nvidia-smi -q` tells which fact: drivers 440 to 610.

What is printed beside a label is what the XML of the same driver holds, so the readers of values are those of
`nvidia_smi_table`. Labels stand in lower case, with `_` for what is no letter or digit.
"""

from collections.abc import Iterator, Mapping

from fingerprint.imports import nvidia_smi_table as xml
from fingerprint.imports.nvidia_smi_table import Told

_POWER = {
    "power_limit": "requested_power_limit",
    "enforced_power_limit": "current_power_limit",
    "power_default_limit": "default_power_limit",
    "power_min_limit": "min_power_limit",
    "power_max_limit": "max_power_limit",
}
_REASONS = {
    "gpu_idle": "idle",
    **{
        name: name
        for name in (
            "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal_slowdown",
            "hw_thermal_slowdown", "hw_power_brake_slowdown", "display_clock_setting",
        )
    },
}  # fmt: skip
_HELD = {
    "sw_power_cap": "sw_power_capping",
    "sync_boost": "sync_boost",
    "sw_thermal_slowdown": "sw_thermal_slowdown",
    "hw_thermal_slowdown": "hw_thermal_slowdown",
    "hw_power_brake_slowdown": "hw_power_braking",
}
_CEILING = "gpu_power_readings/gpu_ceiling_power_limit"
_LINK = "pci/gpu_link_info"
_ROWS = "remapped_rows"

_LABELS: Mapping[str, str] = {
    **{
        name: name
        for name in (
            "persistence_mode", "addressing_mode", "accounting_mode", "display_active", "performance_state",
            "compute_mode", "minor_number", "vbios_version", "board_part_number",
        )
    },
    "name": "product_name",
    "brand": "product_brand",
    "architecture": "product_architecture",
    "uuid": "gpu_uuid",
    "serial": "serial_number",
    "multi_gpu_board": "multigpu_board",
    "module_id": "platform_info/module_id module_id",
    "pci_device_id": "pci/device_id",
    "pci_sub_system_id": "pci/sub_system_id",
    "platform/chassis_serial_number": "platform_info/chassis_serial_number platform_info/rack_serial_number",
    "platform/slot_number": "platform_info/slot_number platform_info/chassis_physical_slot_number",
    "platform/tray_index": "platform_info/tray_index platform_info/compute_slot_index",
    "platform/host_id": "platform_info/host_id platform_info/node_index",
    "platform/peer_type": "platform_info/peer_type",
    "inforom/img": "inforom_version/image_version",
    "inforom/oem": "inforom_version/oem_object",
    "inforom/ecc": "inforom_version/ecc_object",
    "inforom/pwr": "inforom_version/power_management_object",
    "gsp/version": "gsp_firmware_version",
    "driver_model": "driver_model/current",
    "driver_model_pending": "driver_model/pending",
    "gom": "gpu_operation_mode/current",
    "gom_pending": "gpu_operation_mode/pending",
    "virtualization/mode": "gpu_virtualization_mode/virtualization_mode",
    "virtualization/host_vgpu_mode": "gpu_virtualization_mode/host_vgpu_mode",
    "mig/mode_current": "mig_mode/current",
    "mig/mode_pending": "mig_mode/pending",
    "confidential/dram_encryption_current": "dram_encryption_mode/current",
    "confidential/dram_encryption_pending": "dram_encryption_mode/pending",
    "confidential/protected_used": "conf_compute_protected_memory_usage/used",
    "nvlink/c2c_mode": "gpu_c2c_mode",
    **{f"power/module/{fact}": f"module_power_readings/{label}" for fact, label in _POWER.items()},
    "power_limit": (
        f"{_CEILING}/requested_power_limit gpu_power_readings/requested_power_limit power_readings/power_limit"
    ),
    "enforced_power_limit": (
        f"{_CEILING}/current_power_limit gpu_power_readings/current_power_limit power_readings/enforced_power_limit"
    ),
    "power_default_limit": (
        f"{_CEILING}/default_power_limit gpu_power_readings/default_power_limit power_readings/default_power_limit"
    ),
    "power_min_limit": "gpu_power_readings/min_power_limit power_readings/min_power_limit",
    "power_max_limit": "gpu_power_readings/max_power_limit power_readings/max_power_limit",
    "power/draw": "gpu_power_readings/power_draw power_readings/power_draw",
    "power/draw_average": "gpu_power_readings/average_power_draw",
    "power/draw_instant": "gpu_power_readings/instantaneous_power_draw",
    "power/memory_draw": "gpu_memory_power_readings/average_power_draw",
    "power/module/draw": "module_power_readings/instantaneous_power_draw",
    "power/smoothing/enabled": "power_smoothing",
    "power/smoothing/profile": "power_smoothing",
    "power/requested_profiles": "workload_power_profiles/requested_profiles",
    "power/enforced_profiles": "workload_power_profiles/enforced_profiles",
    **{f"clocks/{name}": f"clocks/{name}" for name in ("graphics", "sm", "video")},
    **{f"clocks/max/{name}": f"max_clocks/{name}" for name in ("graphics", "sm", "video")},
    "clocks/mem": "clocks/memory",
    "clocks/max/mem": "max_clocks/memory",
    "clocks/applications/graphics": "applications_clocks/graphics",
    "clocks/applications/mem": "applications_clocks/memory",
    "clocks/default_applications/graphics": "default_applications_clocks/graphics",
    "clocks/default_applications/mem": "default_applications_clocks/memory",
    "clocks/max_customer_boost/graphics": "max_customer_boost_clocks/graphics",
    "clocks/auto_boost/enabled": "clock_policy/auto_boost",
    "clocks/auto_boost/default": "clock_policy/auto_boost_default",
    "utilization/gpu": "utilization/gpu",
    "utilization/memory": "utilization/memory",
    **{
        f"clocks_event_reasons/{name}": f"clocks_event_reasons/{label} clocks_throttle_reasons/{label}"
        for name, label in _REASONS.items()
    },
    **{
        f"clocks_event_reasons_counters/{name}": f"clocks_event_reasons_counters/{label}"
        for name, label in _HELD.items()
    },
    "temperature/gpu": "temperature/gpu_current_temp",
    "temperature/memory": "temperature/memory_current_temp",
    "temperature/margin": "temperature/gpu_current_t_limit_temp temperature/gpu_t_limit_temp",
    "temperature/thresholds/shutdown": "temperature/gpu_shutdown_temp",
    "temperature/thresholds/slowdown": "temperature/gpu_slowdown_temp",
    "temperature/thresholds/gpu_max": "temperature/gpu_max_operating_temp",
    "temperature/thresholds/mem_max": "temperature/memory_max_operating_temp",
    "temperature/thresholds/gpu_target": (
        "temperature/gpu_target_temperature_specification temperature/gpu_target_temperature"
    ),
    "temperature/margins/shutdown": "temperature/gpu_shutdown_t_limit_temp",
    "temperature/margins/slowdown": "temperature/gpu_slowdown_t_limit_temp",
    "temperature/margins/gpu_max": "temperature/gpu_max_operating_t_limit_temp",
    "temperature/margins/mem_max": "temperature/memory_max_operating_t_limit_temp",
    "fan/speed": "fan_speed",
    **{f"memory/{name}": f"fb_memory_usage/{name}" for name in ("total", "reserved", "used", "free")},
    "memory/bar1_total": "bar1_memory_usage/total",
    "memory/bar1_used": "bar1_memory_usage/used",
    "ecc/mode_current": "ecc_mode/current",
    "ecc/mode_pending": "ecc_mode/pending",
    **{
        f"ecc/{scope}/{fact}": " ".join(f"ecc_errors/{scope}/{label}" for label in labels.split())
        for scope in ("volatile", "aggregate")
        for fact, labels in {
            "corrected": "single_bit/total",
            "uncorrected": "double_bit/total",
            "dram_corrected": "dram_correctable single_bit/device_memory",
            "dram_uncorrected": "dram_uncorrectable double_bit/device_memory",
            "sram_corrected": "sram_correctable",
            "sram_uncorrected": "sram_uncorrectable",
            "sram_uncorrected_parity": "sram_uncorrectable_parity",
            "sram_uncorrected_secded": "sram_uncorrectable_sec_ded",
        }.items()
    },
    "ecc/sram_threshold_exceeded": "ecc_errors/aggregate/sram_threshold_exceeded",
    **{
        f"ecc/sram_sources/{source}": f"ecc_errors/aggregate_uncorrectable_sram_sources/sram_{source}"
        for source in ("l2", "sm", "microcontroller", "pcie", "other")
    },
    "health/recovery_action": "gpu_recovery_action",
    "health/unrepairable_memory": "ecc_errors/unrepairable_memory",
    "health/channel_repair_pending": "ecc_errors/channel_repair_pending",
    "health/tpc_repair_pending": "ecc_errors/tpc_repair_pending",
    "health/remapped_rows/correctable": f"{_ROWS}/correctable_error",
    "health/remapped_rows/uncorrectable": f"{_ROWS}/uncorrectable_error",
    "health/remapped_rows/pending": f"{_ROWS}/pending",
    "health/remapped_rows/failure": f"{_ROWS}/remapping_failure_occurred",
    **{
        f"health/remapped_rows/histogram/{left}": f"{_ROWS}/bank_remap_availability_histogram/{left}"
        for left in ("max", "high", "partial", "low", "none")
    },
    "health/retired_pages/single_bit_ecc": "retired_pages/single_bit_ecc",
    "health/retired_pages/double_bit": "retired_pages/double_bit_ecc",
    "health/retired_pages/pending": "retired_pages/pending_page_blacklist",
    "pcie/link_gen_current": f"{_LINK}/pcie_generation/current",
    "pcie/link_gen_max": f"{_LINK}/pcie_generation/max",
    "pcie/link_gen_gpumax": f"{_LINK}/pcie_generation/device_max",
    "pcie/link_width_current": f"{_LINK}/link_width/current",
    "pcie/link_width_max": f"{_LINK}/link_width/max",
    "pcie/errors/replay_counter": "pci/replays_since_reset",
    "pcie/errors/replay_rollover_counter": "pci/replay_number_rollovers",
    "pcie/atomics_outbound": "pci/atomic_caps_outbound",
    "pcie/atomics_inbound": "pci/atomic_caps_inbound",
    "fabric/state": "fabric/state",
    "fabric/status": "fabric/status",
    "fabric/clique_id": "fabric/cliqueid",
    "fabric/cluster_uuid": "fabric/clusteruuid",
    **{
        f"fabric/health/{name}": f"fabric/health/{name}"
        for name in (
            "summary", "bandwidth", "route_recovery_in_progress", "route_unhealthy", "access_timeout_recovery",
            "incorrect_configuration", "partition_assigned",
        )
    },
}  # fmt: skip
"""Fact, by its path below the GPU -> labels by white space, the newest first."""


def _told(labels: Mapping[str, str], table: Mapping[str, Told]) -> Iterator[tuple[str, Told]]:
    for fact, names in labels.items():
        yield fact, Told(table[fact].read, tuple(names.split()))


GPU: Mapping[str, Told] = dict(_told(_LABELS, xml.GPU))
INSTANCE: Mapping[str, Told] = dict(
    _told(
        {
            "multiprocessors": "device_attributes/shared/multiprocessor_count",
            "copy_engines": "device_attributes/shared/copy_engine_count",
            "memory_used": "shared_fb_memory_usage/used fb_memory_usage/used",
        },
        xml.INSTANCE,
    )
)
PROCESS: Mapping[str, Told] = dict(_told({"type": "type", "used_memory": "used_gpu_memory"}, xml.PROCESS))
DRIVER: Mapping[str, Told] = dict(
    _told(
        {
            "nvml/driver_version": "kmd_version driver_version",
            "nvml/cuda_version": "cuda_umd_version cuda_version",
        },
        xml.DRIVER,
    )
)
