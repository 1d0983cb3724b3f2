"""What NVML is asked, and in which order: cheap and safe calls first, NVLink and topology last.

One table for every area, because one pass answers all of them. A call is a function of nvml.h with its arguments
after the handle; its text, `nvmlDeviceGetClockInfo(1)`, is the key of its answer in a pass and in a recording.

What is left out: setters, all of them; nvmlDeviceGetPcieThroughput, which sleeps 20 ms a call (nvml.h); whatever
needs a second handle or an event set.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would cost the process that calls NVML a tenth of its start
if TYPE_CHECKING:
    from typing import Final

Argument = int | str | tuple[int, int]  # a string is the key of another device, a pair a field with its scope
Called = tuple[str, tuple[Argument, ...]]

FIELDS: Final = "nvmlDeviceGetFieldValues"
"""Its arguments are field ids, or (field id, scope id); one call answers them all, each under its own key."""


def key_of(name: str, args: tuple[Argument, ...] = ()) -> str:
    """The text of a call: the function's name, its arguments in brackets where it has any."""
    return f"{name}({','.join(map(str, args))})" if args else name


def counted(told: int | None) -> int:
    """How many a driver says there are; none where it says what cannot be."""
    return told if told and 0 < told <= MOST else 0


def _each(name: str, *choices: int) -> tuple[Called, ...]:
    return tuple((name, (choice,)) for choice in choices)


def _plain(names: str) -> tuple[Called, ...]:
    return tuple((name, ()) for name in names.split())


SYSTEM: Final = _plain(
    """nvmlSystemGetDriverVersion nvmlSystemGetNVMLVersion nvmlSystemGetCudaDriverVersion_v2 nvmlSystemGetDriverBranch
    nvmlSystemGetConfComputeState nvmlSystemGetConfComputeSettings nvmlSystemGetNvlinkBwMode"""
)

IDENTITY: Final = (
    *_plain(
        """nvmlDeviceGetName nvmlDeviceGetUUID nvmlDeviceGetSerial nvmlDeviceGetPciInfo_v3 nvmlDeviceGetMinorNumber
        nvmlDeviceGetIndex nvmlDeviceGetBrand nvmlDeviceGetArchitecture nvmlDeviceGetCudaComputeCapability
        nvmlDeviceGetBoardPartNumber nvmlDeviceGetVbiosVersion nvmlDeviceGetInforomImageVersion nvmlDeviceGetModuleId
        nvmlDeviceGetPlatformInfo nvmlDeviceGetNumGpuCores nvmlDeviceGetMemoryBusWidth nvmlDeviceGetMultiGpuBoard
        nvmlDeviceGetGspFirmwareVersion nvmlDeviceGetGspFirmwareMode nvmlDeviceGetIrqNum"""
    ),
    *_each("nvmlDeviceGetInforomVersion", 0, 1, 2),
)

# NVML_CLOCK_GRAPHICS 0, NVML_CLOCK_SM 1, NVML_CLOCK_MEM 2, NVML_CLOCK_VIDEO 3
SETTINGS: Final = (
    *_plain(
        """nvmlDeviceGetPersistenceMode nvmlDeviceGetComputeMode nvmlDeviceGetEccMode nvmlDeviceGetDefaultEccMode
        nvmlDeviceGetMigMode nvmlDeviceGetAddressingMode nvmlDeviceGetVirtualizationMode nvmlDeviceGetHostVgpuMode
        nvmlDeviceGetAccountingMode nvmlDeviceGetDriverModel_v2 nvmlDeviceGetGpuOperationMode
        nvmlDeviceGetDramEncryptionMode nvmlDeviceGetGridLicensableFeatures_v4
        nvmlDeviceGetPowerManagementLimit nvmlDeviceGetEnforcedPowerLimit nvmlDeviceGetPowerManagementDefaultLimit
        nvmlDeviceGetPowerManagementLimitConstraints nvmlDeviceGetPowerSource nvmlDeviceGetAutoBoostedClocksEnabled
        nvmlDeviceGetPowerMizerMode_v1
        nvmlDeviceWorkloadPowerProfileGetCurrentProfiles nvmlDeviceGetSupportedClocksEventReasons
        nvmlDeviceGetNumFans nvmlDeviceGetDisplayActive nvmlDeviceGetC2cModeInfoV nvmlDeviceGetBAR1MemoryInfo
        nvmlDeviceGetConfComputeMemSizeInfo nvmlDeviceGetConfComputeProtectedMemoryUsage"""
    ),
    *_each("nvmlDeviceGetMaxClockInfo", 0, 1, 2, 3),
    *_each("nvmlDeviceGetApplicationsClock", 0, 2),
    *_each("nvmlDeviceGetDefaultApplicationsClock", 0, 2),
    *_each("nvmlDeviceGetMaxCustomerBoostClock", 0, 1, 2, 3),
    ("nvmlDeviceGetClockOffsets", (0, 0)),  # (clock, performance state): P0 is the one that work is done in
    ("nvmlDeviceGetClockOffsets", (2, 0)),
    *_each("nvmlDeviceGetAPIRestriction", 0, 1),
    # NVML_TEMPERATURE_THRESHOLD_*: shutdown, slowdown, memory, GPU, acoustic
    *_each("nvmlDeviceGetTemperatureThreshold", 0, 1, 2, 3, 5),
    *_each("nvmlDeviceGetFanControlPolicy_v2", 0),
)

NOW: Final = (
    *_plain(
        """nvmlDeviceGetPerformanceState nvmlDeviceGetUtilizationRates nvmlDeviceGetCurrentClocksEventReasons
        nvmlDeviceGetPowerUsage nvmlDeviceGetTotalEnergyConsumption nvmlDeviceGetMemoryInfo
        nvmlDeviceGetCurrPcieLinkGeneration nvmlDeviceGetCurrPcieLinkWidth"""
    ),
    *_each("nvmlDeviceGetClockInfo", 0, 1, 2, 3),
    *_each("nvmlDeviceGetTemperatureV", 0),
)
"""What moves all the time: of a snapshot, and all that a sample asks (with NOW_FIELDS and NVLINK_TRAFFIC)."""

NOW_FIELDS: Final = (
    74, 76, 269, 270, 271,  # NVML_FI_DEV_CLOCKS_EVENT_REASON_*: time spent, ns
    75, 77, 79,  # NVML_FI_DEV_PERF_POLICY_*, which older drivers have
    82,  # memory temperature, C
    185, 186,  # power: mean, instant, mW
    94,  # PCIe replays
    197, 198,  # PCIe traffic: sent, received, B
)  # fmt: skip

ALL_LINKS: Final = 0xFFFFFFFF
"""nvml.h: a scope of UINT_MAX answers the sum over all links."""
NVLINK_TRAFFIC: Final = ((138, ALL_LINKS), (139, ALL_LINKS))  # data sent and received, KiB

MARGINS: Final = _plain("nvmlDeviceGetMarginTemperature nvmlDeviceGetFanSpeed")

FIELD_VALUES: Final = (
    187, 188, 189, 190, 192,  # power limits of the GPU: least, most, default, current, requested
    (186, 1), (187, 1), (188, 1), (189, 1), (190, 1), (192, 1),  # of the module, where a GPU shares it with a CPU
    (185, 2),  # draw of the memory
    193, 194, 195, 196,  # temperature thresholds as margins, C
    95, 169, 173, 174, 175, 176, 177, 178, 179, 180, 181, 182, 183,  # PCIe errors
    228, 229,  # PCIe atomics
    29, 30, 92, 93,  # retired pages, and those pending
    301, 302,  # rows whose remapping is not active yet
    230,  # NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
    251, 264,  # power smoothing: enabled, preset profile
)  # fmt: skip

MEMORY_HEALTH: Final = (
    # (error type, counter type): NVML_MEMORY_ERROR_TYPE_CORRECTED 0, _UNCORRECTED 1; NVML_VOLATILE_ECC 0, _AGGREGATE 1
    *(("nvmlDeviceGetTotalEccErrors", (error, scope)) for error in (0, 1) for scope in (0, 1)),
    *_plain(
        """nvmlDeviceGetSramEccErrorStatus nvmlDeviceGetRemappedRows nvmlDeviceGetRowRemapperHistogram
        nvmlDeviceGetRetiredPagesPendingStatus nvmlDeviceGetRepairStatus nvmlDeviceGetUnrepairableMemoryFlag_v1"""
    ),
    # NVML_MEMORY_LOCATION_DRAM 2, _SRAM 7
    *(
        ("nvmlDeviceGetMemoryErrorCounter", (error, scope, where))
        for error in (0, 1)
        for scope in (0, 1)
        for where in (2, 7)
    ),
)

PCIE: Final = _plain(
    """nvmlDeviceGetMaxPcieLinkGeneration nvmlDeviceGetMaxPcieLinkWidth nvmlDeviceGetGpuMaxPcieLinkGeneration
    nvmlDeviceGetPcieReplayCounter nvmlDeviceGetPcieSpeed nvmlDeviceGetPcieLinkMaxSpeed nvmlDeviceGetNumaNodeId"""
)

PROCESSES: Final = _plain(
    """nvmlDeviceGetComputeRunningProcesses_v3 nvmlDeviceGetGraphicsRunningProcesses_v3
    nvmlDeviceGetMPSComputeRunningProcesses_v3"""
)

# (number of 64-bit words, scope): 1,024 CPUs, 1,024 nodes; NVML_AFFINITY_SCOPE_NODE 0
AFFINITY: Final = (
    ("nvmlDeviceGetCpuAffinityWithinScope", (16, 0)),
    ("nvmlDeviceGetMemoryAffinity", (16, 0)),
)

MIG_LIMIT: Final = _plain("nvmlDeviceGetMaxMigDeviceCount")

MIG_DEVICE: Final = _plain(
    """nvmlDeviceGetUUID nvmlDeviceGetName nvmlDeviceGetGpuInstanceId nvmlDeviceGetComputeInstanceId
    nvmlDeviceGetAttributes_v2 nvmlDeviceGetMemoryInfo nvmlDeviceGetComputeRunningProcesses_v3"""
)
"""Asked of each MIG device of a GPU on which MIG is on; its key is `GPU/mig/INDEX`."""

FABRIC: Final = _plain("nvmlDeviceGetGpuFabricInfoV nvmlDeviceGetNvlinkBwMode")

NVLINK_FIELDS: Final = (
    91,  # number of links; asked first: the links beyond it are not asked
    90,  # speed of one link, MB/s
    38, 45, 52, 59, 160,  # errors of all links: CRC of flits and of data, replays, recoveries, ECC
    170,  # C2C links
    *NVLINK_TRAFFIC,
)  # fmt: skip
LINK_COUNT_FIELD: Final = 91
MOST: Final = 256  # of anything that is counted: GPUs, MIG devices of one, links of one

LINK: Final = (
    "nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkVersion", "nvmlDeviceGetNvLinkRemotePciInfo",
    "nvmlDeviceGetNvLinkRemoteDeviceType",
)  # fmt: skip
"""Asked of each NVLink, whose number is the argument."""

LINK_FIELDS: Final = (
    164, 165,  # speed, MB/s; state
    161, 162, 163,  # errors up to Hopper: replays, recoveries, CRC. From Hopper on the totals above stay 0
    215, 219,  # errors of Blackwell: recoveries, packets with errors
)  # fmt: skip
"""Asked of each NVLink, whose number is the scope; one call a link."""

# NVML_P2P_CAPS_INDEX_READ 0, _WRITE 1, _NVLINK 2, _ATOMICS 3
PEER: Final = (
    ("nvmlDeviceGetTopologyCommonAncestor", ()),
    *(("nvmlDeviceGetP2PStatus", (index,)) for index in (0, 1, 2, 3)),
)
"""Asked of each pair, of the device with the lower key; the other's key is the first argument."""

SNAPSHOT_PHASES: Final = (
    IDENTITY,
    SETTINGS,
    NOW,
    ((FIELDS, (*NOW_FIELDS, *FIELD_VALUES)),),
    MARGINS,
    PCIE,
    MEMORY_HEALTH,
    AFFINITY,
    MIG_LIMIT,
    PROCESSES,
    FABRIC,
    ((FIELDS, NVLINK_FIELDS),),
)
"""Each phase is asked of every device before the next one begins; then MIG devices, links, and pairs."""

SAMPLE: Final = (*NOW, *_each("nvmlDeviceGetMaxClockInfo", 1, 2), (FIELDS, (*NOW_FIELDS, *NVLINK_TRAFFIC)))

FALLBACKS: Final = {
    "nvmlDeviceGetCurrentClocksEventReasons": "nvmlDeviceGetCurrentClocksThrottleReasons",  # renamed with R535
    "nvmlDeviceGetSupportedClocksEventReasons": "nvmlDeviceGetSupportedClocksThrottleReasons",
    "nvmlDeviceGetTemperatureV": "nvmlDeviceGetTemperature",
    "nvmlDeviceGetPerformanceState": "nvmlDeviceGetPowerState",
    "nvmlDeviceGetComputeRunningProcesses_v3": "nvmlDeviceGetComputeRunningProcesses_v2",  # R510 added v3
    "nvmlDeviceGetGraphicsRunningProcesses_v3": "nvmlDeviceGetGraphicsRunningProcesses_v2",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3": "nvmlDeviceGetMPSComputeRunningProcesses_v2",
    "nvmlDeviceGetCpuAffinityWithinScope": "nvmlDeviceGetCpuAffinity",
    "nvmlSystemGetCudaDriverVersion_v2": "nvmlSystemGetCudaDriverVersion",
    "nvmlDeviceGetGpuFabricInfoV": "nvmlDeviceGetGpuFabricInfo",
}
"""Older names, tried where a driver lacks the function. The answer is filed under the name that was asked."""
