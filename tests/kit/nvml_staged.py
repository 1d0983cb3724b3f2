"""A fake NVML that answers everything, and what a host answers otherwise than it is staged."""

from typing import Any

from probes.kit.facts import Gap
from probes.kit.host import Host
from probes.kit.nvml import inquiry
from probes.kit.nvml.errors import GAPS
from tests.nvml.drivers import NEWEST
from tests.nvml.fake import Fake, asked
from tests.nvml.profiles import host_of
from tests.nvml.scenario import Answers, Scenario

ONE, TWO = "0000:17:00.0", "0000:2a:00.0"

# What no product of ours answers, made up.
RARE: Answers = {
    "nvmlDeviceGetAPIRestriction(1)": 1,
    "nvmlDeviceGetAutoBoostedClocksEnabled": [1, 0],
    "nvmlDeviceGetDramEncryptionMode": [0, 1],
    "nvmlDeviceGetDriverModel_v2": [1, 0],
    "nvmlDeviceGetFanControlPolicy_v2(0)": 1,
    "nvmlDeviceGetFanSpeed": 33,
    "nvmlDeviceGetGpuOperationMode": [0, 2],
    "nvmlDeviceGetHostVgpuMode": 1,
    "nvmlDeviceGetInforomVersion(2)": "1.0",
    "nvmlDeviceGetPowerMizerMode_v1": {"currentMode": 1, "mode": 0, "supportedPowerMizerModes": 7},
    "nvmlDeviceGetRetiredPagesPendingStatus": 1,
    "nvmlDeviceGetApplicationsClock(0)": 1410,
    "nvmlDeviceGetApplicationsClock(2)": 1215,
    "nvmlDeviceGetDefaultApplicationsClock(0)": 1275,
    "nvmlDeviceGetDefaultApplicationsClock(2)": 1215,
    "nvmlDeviceGetUnrepairableMemoryFlag_v1": 1,
    "nvmlDeviceGetGridLicensableFeatures_v4": {
        "isGridLicenseSupported": 1,
        "licensableFeaturesCount": 1,
        "gridLicensableFeatures": [
            {
                "featureCode": 2, "featureState": 1, "licenseInfo": "Licensed", "featureEnabled": 1,
                "productName": "NVIDIA RTX Virtual Workstation",
                "licenseExpiry": {"year": 2027, "month": 3, "day": 31, "hour": 23, "min": 59, "sec": 58, "status": 2},
            },
            *[
                {
                    "featureCode": 0, "featureState": 0, "licenseInfo": "", "featureEnabled": 0, "productName": "",
                    "licenseExpiry": {"year": 0, "month": 0, "day": 0, "hour": 0, "min": 0, "sec": 0, "status": 0},
                }
            ]
            * 2,
        ],
    },
    **{f"nvmlDeviceGetTemperatureThreshold({kind})": 80 + kind for kind in (0, 1, 2, 3, 5)},
    **{f"nvmlDeviceGetFieldValues({field})": field for field in (29, 30, 92, 93, 161, 162, 163, 228, 229, 251, 264)},
}  # fmt: skip


def answering_everything() -> Scenario:
    """Two GPUs, of which ONE answers everything that is asked."""
    scenario = host_of("GB300", 2, NEWEST)
    scenario["devices"][ONE] |= RARE
    return scenario


def differing(fake: Fake, host: Host) -> list[Any]:
    """What was staged and answered otherwise."""
    staged = {"": fake.scenario["system"], **fake.scenario["devices"]}
    rows = [(device, key, told) for device, answers in staged.items() for key, told in answers.items()]
    rows = [row for row in rows if row[1] not in inquiry.FALLBACKS.values()]
    return [(row, answer) for row in rows if (answer := asked(host, *row[:2])) != _told(row[2])]


def _told(staged: Any) -> Any:
    return Gap(GAPS[staged["error"]]) if isinstance(staged, dict) and "error" in staged else staged
