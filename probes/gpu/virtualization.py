"""Whether the GPU is a whole one, passed through, or a share of one; and the licence that a share needs."""

from collections.abc import Mapping
from typing import Any

from probes.gpu.asking import UNSUPPORTED, Device, Words
from probes.gpu.worded import YES, read_worded
from probes.kit.facts import Gap, Map, Section, Seen, config, identity, state, telemetry, then

MODES: Words = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host_vgpu", 4: "host_vsga"}  # nvmlGpuVirtualizationMode_t
HOST_MODES: Words = {0: "non_sriov", 1: "sriov"}  # nvmlHostVgpuMode_t
FEATURES: Words = {0: "unknown", 1: "vgpu", 2: "nvidia_rtx", 3: "gaming", 4: "compute", 5: "vgamedev"}
EXPIRIES: Words = {0: "not_available", 1: "invalid", 2: "valid", 3: "not_applicable", 4: "permanent"}
FEATURES_OF = "nvmlDeviceGetGridLicensableFeatures_v4"
_FEATURE = f"{FEATURES_OF}.gridLicensableFeatures"


class Licence(Section):
    """One feature that can be licensed."""

    product_name: Seen[str] = identity("What the licence is called", f"{_FEATURE}[].productName", context=True)
    licensed: Seen[str] = state(
        "Without a licence a vGPU is held back some 20 minutes after its start: 15 tok/s became 0.1",
        f"{_FEATURE}[].featureState",
        settled="always",
    )
    enabled: Seen[str] = config("Whether the feature is in use", f"{_FEATURE}[].featureEnabled")
    expiry_status: Seen[str] = state(
        "A licence that expires holds the GPU back in the middle of a run",
        f"{_FEATURE}[].licenseExpiry.status",
        settled="always",
    )
    expiry: Seen[int] = telemetry(
        "When the lease ends; it is renewed all the time", f"{_FEATURE}[].licenseExpiry", "s since 1970", context=True
    )


class Virtualization(Section):
    mode: Seen[str] = config(
        "A vGPU shares its engines with others, and hides most of what NVML tells",
        "nvmlDeviceGetVirtualizationMode",
    )
    host_vgpu_mode: Seen[str] = config(
        "How this host divides the GPU among guests: what it gives them is missing here", "nvmlDeviceGetHostVgpuMode"
    )
    licences: Seen[Map[Licence]] = config("The features that a licence unlocks here", FEATURES_OF)


def read_virtualization(device: Device) -> Virtualization:
    licences = then(device.answer(FEATURES_OF), _licences)
    return read_worded(Virtualization, device, {"mode": MODES, "host_vgpu_mode": HOST_MODES}, licences=licences)


def _licences(told: Mapping[str, Any]) -> Seen[Map[Licence]]:
    if not told["isGridLicenseSupported"]:
        return UNSUPPORTED
    features = told["gridLicensableFeatures"][: told["licensableFeaturesCount"]]
    return Map({_word(feature["featureCode"], FEATURES): _licence(feature) for feature in features})


def _licence(feature: Mapping[str, Any]) -> Licence:
    return Licence(
        product_name=feature["productName"] or UNSUPPORTED,
        licensed=_word(int(feature["featureState"] != 0), YES),
        enabled=_word(int(feature["featureEnabled"] != 0), YES),
        expiry_status=_word(feature["licenseExpiry"]["status"], EXPIRIES),
        expiry=_seconds(feature["licenseExpiry"]),
    )


def _seconds(expiry: Mapping[str, int]) -> Seen[int]:
    """NVML tells it in UTC."""
    if expiry["status"] != 2:
        return Gap("absent", "no date")
    from datetime import datetime, timezone

    day = datetime(expiry["year"], expiry["month"], expiry["day"], tzinfo=timezone.utc)
    return int(day.timestamp()) + 3600 * expiry["hour"] + 60 * expiry["min"] + expiry["sec"]


def _word(number: int, words: Words) -> str:
    return words.get(number, f"unknown ({number})")
