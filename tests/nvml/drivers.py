"""How drivers differ: what they are too old for, and what they no longer tell.

A function or a field is dated by the first nvidia-ml-py (12.535 to 13.615) that declares it; UnrepairableMemoryFlag,
bytes over PCIe and the counters of event reasons also by NVIDIA's change log and by what nvidia-smi prints.
"""

from tests.nvml.scenario import Answers, error

_FUNCTIONS = {
    535: "nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetSupportedClocksEventReasons",
    550: """nvmlDeviceGetC2cModeInfoV nvmlDeviceGetGpuFabricInfoV nvmlDeviceGetNumaNodeId
         nvmlSystemGetConfComputeSettings""",
    560: "nvmlDeviceGetClockOffsets nvmlSystemGetDriverBranch",
    570: """nvmlDeviceGetDramEncryptionMode nvmlDeviceGetMarginTemperature nvmlDeviceGetNvlinkBwMode
         nvmlDeviceGetPlatformInfo nvmlDeviceGetTemperatureV nvmlDeviceWorkloadPowerProfileGetCurrentProfiles""",
    580: "nvmlDeviceGetAddressingMode nvmlDeviceGetPowerMizerMode_v1 nvmlDeviceGetRepairStatus",
    590: "nvmlDeviceGetUnrepairableMemoryFlag_v1",
}
_FIELDS = {550: (228, 229), 555: (197, 198), 560: (230,), 575: (251, 264, 269, 270, 271), 580: (301, 302)}

NEWEST = "610.57.04"
INVALID_ARGUMENT, DEPRECATED = 2, 26


def major(driver: str) -> int:
    return int(driver.partition(".")[0])


def lacks(driver: str) -> list[str]:
    """The functions that are not in the library of this driver."""
    return [name for since, names in _FUNCTIONS.items() if major(driver) < since for name in names.split()]


def differences(driver: str) -> Answers:
    """What one of its devices answers otherwise than one of 580."""
    unknown = [number for since, numbers in _FIELDS.items() if major(driver) < since for number in numbers]
    answers: Answers = {f"nvmlDeviceGetFieldValues({number})": error(INVALID_ARGUMENT) for number in unknown}
    if major(driver) >= 590:
        for clock in (0, 2):
            answers[f"nvmlDeviceGetApplicationsClock({clock})"] = error(DEPRECATED)
            answers[f"nvmlDeviceGetDefaultApplicationsClock({clock})"] = error(DEPRECATED)
    if major(driver) >= 595:
        answers["nvmlDeviceGetPowerState"] = error(DEPRECATED)
    return answers
