"""A scenario in which NVML answers what a log of `nvidia-smi -q -x` printed: the way back, by nvml.h alone.

It shares nothing with the reader of such logs in the product: what both make of one log is compared.
"""

import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree.ElementTree import Element, fromstring

from tests.nvml.scenario import Answers, Scenario, error, pci_info

MIB = 1 << 20
UNKNOWN_MEMORY = (1 << 64) - 1  # NVML_VALUE_NOT_AVAILABLE
NO_TEXT = ("", "N/A", "[N/A]")
ERRORS = {
    "GPU is lost": 15, "Insufficient Permissions": 4, "Requested functionality has been deprecated": 26,
    "Unknown Error": 999,
}  # fmt: skip

SWITCHED = {"Disabled": 0, "Enabled": 1}
SAID = {"No": 0, "Yes": 1}
BRANDS = {"Quadro": 1, "Tesla": 2, "GeForce": 5, "Titan": 6, "NVIDIA RTX": 13, "NVIDIA": 14}
ARCHITECTURES = {
    "Kepler": 2, "Maxwell": 3, "Pascal": 4, "Volta": 5, "Turing": 6, "Ampere": 7, "Ada Lovelace": 8, "Hopper": 9,
    "Blackwell": 10,
}  # fmt: skip
COMPUTE_MODES = {"Default": 0, "Exclusive_Thread": 1, "Prohibited": 2, "Exclusive_Process": 3}
ADDRESSING = {"None": 0, "HMM": 1, "ATS": 2}
VIRTUAL = {"None": 0, "Pass-Through": 1, "VGPU": 2, "Host VGPU": 3, "Host VSGA": 4}
FABRIC_STATES = {"Not Started": 1, "In Progress": 2, "Completed": 3}
# The bits of nvmlClocksEventReasons, by the ends of the elements' names.
REASONS = {
    "gpu_idle": 0x1, "applications_clocks_setting": 0x2, "sw_power_cap": 0x4, "hw_slowdown": 0x8, "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20, "hw_thermal_slowdown": 0x40, "hw_power_brake_slowdown": 0x80,
    "display_clocks_setting": 0x100,
}  # fmt: skip
HELD = {
    "sw_power_cap": 74, "sync_boost": 76, "sw_therm_slowdown": 269, "hw_therm_slowdown": 270, "hw_power_brake": 271,
}  # fmt: skip
ATOMICS = "FETCHADD_32 FETCHADD_64 SWAP_32 SWAP_64 CAS_32 CAS_64 CAS_128".split()

Reading = Callable[[str], Any]


def whole(text: str) -> int:
    """The digits before the unit."""
    found = re.match(r"-?\d+", text)
    assert found, text
    return int(found[0])


def milli(text: str) -> int:
    return round(float(text.split(maxsplit=1)[0]) * 1000)


def mebi(text: str) -> int:
    return whole(text) * MIB


def atomics(text: str) -> int:
    return sum(1 << ATOMICS.index(name) for name in text.split())


def by(choices: dict[str, int]) -> Reading:
    return lambda text: choices[text]


PLAIN: dict[str, tuple[Reading, str]] = {
    "nvmlDeviceGetName": (str, "product_name"),
    "nvmlDeviceGetBrand": (by(BRANDS), "product_brand"),
    "nvmlDeviceGetArchitecture": (by(ARCHITECTURES), "product_architecture"),
    "nvmlDeviceGetUUID": (str, "uuid"),
    "nvmlDeviceGetSerial": (str, "serial"),
    "nvmlDeviceGetBoardPartNumber": (str, "board_part_number"),
    "nvmlDeviceGetVbiosVersion": (str, "vbios_version"),
    "nvmlDeviceGetMinorNumber": (whole, "minor_number"),
    "nvmlDeviceGetMultiGpuBoard": (by(SAID), "multigpu_board"),
    "nvmlDeviceGetModuleId": (whole, "platformInfo/module_id|gpu_module_id"),
    "nvmlDeviceGetInforomImageVersion": (str, "inforom_version/img_version"),
    "nvmlDeviceGetInforomVersion(0)": (str, "inforom_version/oem_object"),
    "nvmlDeviceGetInforomVersion(1)": (str, "inforom_version/ecc_object"),
    "nvmlDeviceGetInforomVersion(2)": (str, "inforom_version/pwr_object"),
    "nvmlDeviceGetGspFirmwareVersion": (str, "gsp_firmware_version"),
    "nvmlDeviceGetPersistenceMode": (by(SWITCHED), "persistence_mode"),
    "nvmlDeviceGetComputeMode": (by(COMPUTE_MODES), "compute_mode"),
    "nvmlDeviceGetAddressingMode": (by(ADDRESSING), "addressing_mode"),
    "nvmlDeviceGetAccountingMode": (by(SWITCHED), "accounting_mode"),
    "nvmlDeviceGetDisplayActive": (by(SWITCHED), "display_active"),
    "nvmlDeviceGetPerformanceState": (lambda text: int(text[1:]), "performance_state"),
    "nvmlDeviceGetVirtualizationMode": (by(VIRTUAL), "gpu_virtualization_mode/virtualization_mode"),
    "nvmlDeviceGetHostVgpuMode": (by({"Non SR-IOV": 0, "SR-IOV": 1}), "gpu_virtualization_mode/host_vgpu_mode"),
    "nvmlDeviceGetPowerManagementLimit": (
        milli, "gpu_power_readings/requested_power_limit|power_readings/power_limit"
    ),
    "nvmlDeviceGetEnforcedPowerLimit": (
        milli, "gpu_power_readings/current_power_limit|power_readings/enforced_power_limit"
    ),
    "nvmlDeviceGetPowerManagementDefaultLimit": (
        milli, "gpu_power_readings/default_power_limit|power_readings/default_power_limit"
    ),
    "nvmlDeviceGetPowerUsage": (milli, "gpu_power_readings/power_draw|power_readings/power_draw"),
    "nvmlDeviceGetFieldValues(185)": (milli, "gpu_power_readings/average_power_draw"),
    "nvmlDeviceGetFieldValues(186)": (milli, "gpu_power_readings/instant_power_draw"),
    "nvmlDeviceGetFieldValues(185,2)": (milli, "gpu_memory_power_readings/average_power_draw"),
    "nvmlDeviceGetFieldValues(186,1)": (milli, "module_power_readings/instant_power_draw"),
    "nvmlDeviceGetFieldValues(187,1)": (milli, "module_power_readings/min_power_limit"),
    "nvmlDeviceGetFieldValues(188,1)": (milli, "module_power_readings/max_power_limit"),
    "nvmlDeviceGetFieldValues(189,1)": (milli, "module_power_readings/default_power_limit"),
    "nvmlDeviceGetFieldValues(190,1)": (milli, "module_power_readings/current_power_limit"),
    "nvmlDeviceGetFieldValues(192,1)": (milli, "module_power_readings/requested_power_limit"),
    "nvmlDeviceGetFieldValues(251)": (whole, "power_smoothing"),
    "nvmlDeviceGetFieldValues(264)": (whole, "power_smoothing"),
    "nvmlDeviceGetClockInfo(0)": (whole, "clocks/graphics_clock"),
    "nvmlDeviceGetClockInfo(1)": (whole, "clocks/sm_clock"),
    "nvmlDeviceGetClockInfo(2)": (whole, "clocks/mem_clock"),
    "nvmlDeviceGetClockInfo(3)": (whole, "clocks/video_clock"),
    "nvmlDeviceGetMaxClockInfo(0)": (whole, "max_clocks/graphics_clock"),
    "nvmlDeviceGetMaxClockInfo(1)": (whole, "max_clocks/sm_clock"),
    "nvmlDeviceGetMaxClockInfo(2)": (whole, "max_clocks/mem_clock"),
    "nvmlDeviceGetMaxClockInfo(3)": (whole, "max_clocks/video_clock"),
    "nvmlDeviceGetApplicationsClock(0)": (whole, "applications_clocks/graphics_clock"),
    "nvmlDeviceGetApplicationsClock(2)": (whole, "applications_clocks/mem_clock"),
    "nvmlDeviceGetDefaultApplicationsClock(0)": (whole, "default_applications_clocks/graphics_clock"),
    "nvmlDeviceGetDefaultApplicationsClock(2)": (whole, "default_applications_clocks/mem_clock"),
    "nvmlDeviceGetMaxCustomerBoostClock(0)": (whole, "max_customer_boost_clocks/graphics_clock"),
    "nvmlDeviceGetTemperatureV(0)": (whole, "temperature/gpu_temp"),
    "nvmlDeviceGetFieldValues(82)": (whole, "temperature/memory_temp"),
    "nvmlDeviceGetMarginTemperature": (whole, "temperature/gpu_temp_tlimit"),
    "nvmlDeviceGetTemperatureThreshold(0)": (whole, "temperature/gpu_temp_max_threshold"),
    "nvmlDeviceGetTemperatureThreshold(1)": (whole, "temperature/gpu_temp_slow_threshold"),
    "nvmlDeviceGetTemperatureThreshold(2)": (whole, "temperature/gpu_temp_max_mem_threshold"),
    "nvmlDeviceGetTemperatureThreshold(3)": (whole, "temperature/gpu_temp_max_gpu_threshold"),
    "nvmlDeviceGetTemperatureThreshold(5)": (whole, "temperature/gpu_target_temperature"),
    "nvmlDeviceGetFieldValues(193)": (whole, "temperature/gpu_temp_max_tlimit_threshold"),
    "nvmlDeviceGetFieldValues(194)": (whole, "temperature/gpu_temp_slow_tlimit_threshold"),
    "nvmlDeviceGetFieldValues(195)": (whole, "temperature/gpu_temp_max_mem_tlimit_threshold"),
    "nvmlDeviceGetFieldValues(196)": (whole, "temperature/gpu_temp_max_gpu_tlimit_threshold"),
    "nvmlDeviceGetFanSpeed": (whole, "fan_speed"),
    "nvmlDeviceGetCurrPcieLinkGeneration": (whole, "pci/pci_gpu_link_info/pcie_gen/current_link_gen"),
    "nvmlDeviceGetMaxPcieLinkGeneration": (whole, "pci/pci_gpu_link_info/pcie_gen/max_link_gen"),
    "nvmlDeviceGetGpuMaxPcieLinkGeneration": (whole, "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen"),
    "nvmlDeviceGetCurrPcieLinkWidth": (whole, "pci/pci_gpu_link_info/link_widths/current_link_width"),
    "nvmlDeviceGetMaxPcieLinkWidth": (whole, "pci/pci_gpu_link_info/link_widths/max_link_width"),
    "nvmlDeviceGetFieldValues(94)": (whole, "pci/replay_counter"),
    "nvmlDeviceGetFieldValues(95)": (whole, "pci/replay_rollover_counter"),
    "nvmlDeviceGetFieldValues(228)": (atomics, "pci/atomic_caps_outbound"),
    "nvmlDeviceGetFieldValues(229)": (atomics, "pci/atomic_caps_inbound"),
    "nvmlDeviceGetFieldValues(29)": (whole, "retired_pages/multiple_single_bit_retirement/retired_count"),
    "nvmlDeviceGetFieldValues(30)": (whole, "retired_pages/double_bit_retirement/retired_count"),
    "nvmlDeviceGetRetiredPagesPendingStatus": (
        by(SAID), "retired_pages/pending_retirement|retired_pages/pending_blacklist"
    ),
    "nvmlDeviceGetFieldValues(301)": (whole, "remapped_rows/remapped_row_corr_inactive"),
    "nvmlDeviceGetFieldValues(302)": (whole, "remapped_rows/remapped_row_unc_inactive"),
    "nvmlDeviceGetUnrepairableMemoryFlag_v1": (by(SAID), "ecc_errors/unrepairable_memory"),
    "nvmlDeviceGetFieldValues(230)": (
        by({"None": 0, "Reset": 1, "Reboot": 2, "Drain P2P": 3, "Drain and Reset": 4}), "gpu_recovery_action"
    ),
    **{
        f"nvmlDeviceGetMemoryErrorCounter({kind},{scope},{where})": (
            whole, f"ecc_errors/{name}/{old_or_new}"
        )
        for scope, name in enumerate(("volatile", "aggregate"))
        for kind, where, old_or_new in (
            (0, 7, "sram_correctable"), (1, 7, "sram_uncorrectable"), (0, 2, "dram_correctable"),
            (1, 2, "dram_uncorrectable"),
        )
    },
    **{
        f"nvmlDeviceGetTotalEccErrors({kind},{scope})": (whole, f"ecc_errors/{name}/{bits}/total")
        for scope, name in enumerate(("volatile", "aggregate"))
        for kind, bits in enumerate(("single_bit", "double_bit"))
    },
    **{
        f"nvmlDeviceGetFieldValues({number})": (
            lambda text: whole(text) * 1000, f"clocks_event_reasons_counters/clocks_event_reasons_counters_{name}"
        )
        for name, number in HELD.items()
    },
}  # fmt: skip
"""Call -> how its answer is read, and the element (or its older name) that shows it."""

GROUPS: dict[str, tuple[Reading, tuple[str, ...]]] = {
    "nvmlDeviceGetPowerManagementLimitConstraints": (
        milli, (
            "gpu_power_readings/min_power_limit|power_readings/min_power_limit",
            "gpu_power_readings/max_power_limit|power_readings/max_power_limit",
        ),
    ),
    "nvmlDeviceGetEccMode": (by(SWITCHED), ("ecc_mode/current_ecc", "ecc_mode/pending_ecc")),
    "nvmlDeviceGetMigMode": (by(SWITCHED), ("mig_mode/current_mig", "mig_mode/pending_mig")),
    "nvmlDeviceGetDriverModel_v2": (by({"WDDM": 0, "WDM": 1}), ("driver_model/current_dm", "driver_model/pending_dm")),
    "nvmlDeviceGetGpuOperationMode": (
        by({"All On": 0, "Compute": 1, "Low Double Precision": 2}),
        ("gpu_operation_mode/current_gom", "gpu_operation_mode/pending_gom"),
    ),
    "nvmlDeviceGetAutoBoostedClocksEnabled": (
        by({"Off": 0, "On": 1}), ("clock_policy/auto_boost", "clock_policy/auto_boost_default")
    ),
    "nvmlDeviceGetDramEncryptionMode": (
        by(SWITCHED), ("dram_encryption_mode/current_dram_encryption", "dram_encryption_mode/pending_dram_encryption")
    ),
    "nvmlDeviceGetRepairStatus": (by(SAID), ("ecc_errors/channel_repair_pending", "ecc_errors/tpc_repair_pending")),
    "nvmlDeviceGetRemappedRows": (
        lambda text: SAID[text] if text in SAID else whole(text),
        tuple(f"remapped_rows/remapped_row_{part}" for part in ("corr", "unc", "pending", "failure")),
    ),
}  # fmt: skip
"""Calls that answer several values."""

STRUCTS: dict[str, tuple[Reading, dict[str, str]]] = {
    "nvmlDeviceGetMemoryInfo": (
        mebi, {name: f"fb_memory_usage/{name}" for name in ("total", "reserved", "used", "free")}
    ),
    "nvmlDeviceGetBAR1MemoryInfo": (
        mebi, {f"bar1{name.title()}": f"bar1_memory_usage/{name}" for name in ("total", "used", "free")}
    ),
    "nvmlDeviceGetConfComputeProtectedMemoryUsage": (
        mebi, {name: f"cc_protected_memory_usage/{name}" for name in ("total", "used", "free")}
    ),
    "nvmlDeviceGetUtilizationRates": (
        whole, {"gpu": "utilization/gpu_util", "memory": "utilization/memory_util"}
    ),
    "nvmlDeviceGetRowRemapperHistogram": (
        whole, {
            name: f"remapped_rows/row_remapper_histogram/row_remapper_histogram_{name}"
            for name in ("max", "high", "partial", "low", "none")
        },
    ),
    "nvmlDeviceGetSramEccErrorStatus": (
        lambda text: SAID[text] if text in SAID else whole(text), {
            **{
                f"{scope}Unc{part}": f"ecc_errors/{scope}/sram_uncorrectable_{part.lower()}"
                for scope in ("volatile", "aggregate") for part in ("Parity", "SecDed")
            },
            **{f"{scope}Cor": f"ecc_errors/{scope}/sram_correctable" for scope in ("volatile", "aggregate")},
            **{
                f"aggregateUncBucket{part}": f"ecc_errors/aggregate_uncorrectable_sram_sources/sram_{name}"
                for part, name in {
                    "L2": "l2", "Sm": "sm", "Mcu": "microcontroller", "Pcie": "pcie", "Other": "other",
                }.items()
            },
            "bThresholdExceeded": "ecc_errors/aggregate/sram_threshold_exceeded",
        },
    ),
    "nvmlDeviceGetC2cModeInfoV": (by(SWITCHED), {"isC2cEnabled": "c2c_mode"}),
}  # fmt: skip


def scenario_of_xml(xml: str) -> Scenario:
    log = fromstring(xml)
    version = shown(log, "cuda_umd_version|cuda_version")
    system: dict[str, Any] = {"nvmlSystemGetDriverVersion": shown(log, "kmd_version|driver_version")}
    if version:
        major, minor = version.split(".")
        system["nvmlSystemGetCudaDriverVersion_v2"] = 1000 * int(major) + 10 * int(minor)
    devices: Scenario = {}
    for gpu in log.findall("gpu"):
        key = slot_of(gpu)
        devices[key] = device_of(gpu)
        for at, part in enumerate(gpu.findall("mig_devices/mig_device")):
            devices[f"{key}/mig/{at}"] = instance_of(part)
    return {"system": system, "devices": devices}


def slot_of(gpu: Element) -> str:
    domain, bus, rest = gpu.attrib["id"].split(":")
    return f"{domain[-4:]}:{bus}:{rest}".lower()


def device_of(gpu: Element) -> Answers:
    told: Answers = {key: answer(gpu, place, read) for key, (read, place) in PLAIN.items()}
    told |= {key: [answer(gpu, place, read) for place in places] for key, (read, places) in GROUPS.items()}
    told |= {
        key: {name: answer(gpu, place, read) for name, place in parts.items()} for key, (read, parts) in STRUCTS.items()
    }
    told["nvmlDeviceGetCurrentClocksEventReasons"] = reasons(gpu)
    told["nvmlDeviceGetGpuFabricInfoV"] = fabric(gpu)
    told["nvmlDeviceGetPlatformInfo"] = platform(gpu)
    told["nvmlDeviceGetMaxMigDeviceCount"] = 7 if gpu.find("mig_devices") is not None else None
    told |= dict(running(gpu))
    ids = (int(shown(gpu, f"pci/{name}") or "0", 16) for name in ("pci_device_id", "pci_sub_system_id"))
    told["nvmlDeviceGetPciInfo_v3"] = pci_info(slot_of(gpu), *ids)
    return {key: whole_answer for key, value in told.items() if (whole_answer := together(value)) is not None}


def together(value: Any) -> Any:
    """One call has one return code: that of the first part that was not told, where none of them was."""
    parts = list(value.values()) if isinstance(value, dict) and "error" not in value else value
    if not isinstance(parts, list):
        return value
    told = [part for part in parts if part is not None and not (isinstance(part, dict) and "error" in part)]
    if parts and not told:
        return parts[0]
    return {name: part or 0 for name, part in value.items()} if isinstance(value, dict) else value


def shown(element: Element, places: str) -> str | None:
    """What is printed at the first place that there is; a whole group without a value says so once."""
    for place in places.split("|"):
        at, *names = place.split("/")
        found = element.find(at)
        while found is not None and names and len(found):
            found = found.find(names.pop(0))
        if found is not None and not len(found) and not (names and not (found.text or "").strip()):
            return (found.text or "").strip()
    return None


def answer(element: Element, places: str, read: Reading) -> Any:
    """None for what is not told."""
    text = shown(element, places)
    if text is None or text in NO_TEXT:
        return None
    return error(ERRORS[text]) if text in ERRORS else read(text)


def reasons(gpu: Element) -> Any:
    bits = 0
    for name, bit in REASONS.items():
        place = f"clocks_event_reasons/clocks_event_reason_{name}|clocks_throttle_reasons/clocks_throttle_reason_{name}"
        now = answer(gpu, place, str)
        if isinstance(now, dict):
            return now
        bits |= bit * (now == "Active")
    found = gpu.find("clocks_event_reasons"), gpu.find("clocks_throttle_reasons")
    return bits if any(group is not None for group in found) else None


def fabric(gpu: Element) -> Any:
    state = answer(gpu, "fabric/state", by(FABRIC_STATES))
    if not isinstance(state, int):
        return state
    cluster = answer(gpu, "fabric/clusterUuid", lambda text: list(uuid.UUID(text).bytes))
    health = {
        "bandwidth": (0, {"Degraded": 1, "Full": 2}),
        "route_recovery_in_progress": (2, {"True": 1, "False": 2}),
        "route_unhealthy": (4, {"True": 1, "False": 2}),
        "access_timeout_recovery": (6, {"True": 1, "False": 2}),
        "incorrect_configuration": (8, {"None": 1}),
        "partition_assigned": (12, {"True": 1, "False": 2}),
    }
    parts = {part: answer(gpu, f"fabric/health/{part}", by(choices)) or 0 for part, (_, choices) in health.items()}
    summary = answer(gpu, "fabric/health/summary", by({"Healthy": 1, "Unhealthy": 2, "Limited Capacity": 3}))
    return {
        "state": state,
        "status": {"Success": 0}[shown(gpu, "fabric/status") or ""],
        "cliqueId": answer(gpu, "fabric/cliqueId", whole) or 0,
        "clusterUuid": cluster or [0] * 16,
        "healthMask": sum(parts[part] << shift for part, (shift, _) in health.items()),
        "healthSummary": summary or 0,
    }


def platform(gpu: Element) -> Any:
    names = {"slot_number": "slotNumber", "tray_index": "trayIndex", "host_id": "hostId", "module_id": "moduleId"}
    chassis = answer(gpu, "platformInfo/chassis_serial_number", str)
    if chassis is None:
        return None
    return {
        "ibGuid": "",
        "chassisSerialNumber": chassis,
        **{member: answer(gpu, f"platformInfo/{name}", whole) or 0 for name, member in names.items()},
        "peerType": answer(gpu, "platformInfo/peer_type", by({"Direct Connected": 0, "Switch Connected": 1})) or 0,
    }


def running(gpu: Element) -> Iterator[tuple[str, Any]]:
    listed = gpu.findall("processes/process_info")
    for letter, kind in {"C": "Compute", "G": "Graphics", "M": "MPSCompute"}.items():
        of_kind = [row for row in listed if letter in (row.findtext("type") or "").split("+")]
        yield f"nvmlDeviceGet{kind}RunningProcesses_v3", [process(row) for row in of_kind]


def process(row: Element) -> Answers:
    used = answer(row, "used_memory", mebi)
    return {"pid": int(row.findtext("pid") or 0), "usedGpuMemory": UNKNOWN_MEMORY if used is None else used}


def instance_of(part: Element) -> Answers:
    shared = "device_attributes/shared"
    return {
        "nvmlDeviceGetGpuInstanceId": answer(part, "gpu_instance_id", whole),
        "nvmlDeviceGetComputeInstanceId": answer(part, "compute_instance_id", whole),
        "nvmlDeviceGetAttributes_v2": {
            "multiprocessorCount": answer(part, f"{shared}/multiprocessor_count", whole),
            "sharedCopyEngineCount": answer(part, f"{shared}/copy_engine_count", whole),
            "sharedDecoderCount": 0, "sharedEncoderCount": 0, "sharedJpegCount": 0, "sharedOfaCount": 0,
            "gpuInstanceSliceCount": 1, "computeInstanceSliceCount": 1, "memorySizeMB": 1,
        },
        "nvmlDeviceGetMemoryInfo": {
            name: answer(part, f"fb_memory_usage/{name}", mebi) for name in ("total", "reserved", "used", "free")
        },
    }  # fmt: skip
