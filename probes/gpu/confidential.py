"""Protection of the GPU's memory. Whether confidential computing is on is a fact of the driver, for all GPUs alike."""

from probes.gpu.asking import ENABLED, Device
from probes.gpu.worded import read_worded
from probes.kit.facts import Section, Seen, config, state, telemetry

_MODE = "nvmlDeviceGetDramEncryptionMode"
_SIZES = "nvmlDeviceGetConfComputeMemSizeInfo"


class Confidential(Section):
    dram_encryption_current: Seen[str] = config("All that is read from memory is decrypted on the way", f"{_MODE}.0")
    dram_encryption_pending: Seen[str] = config(
        "Another mode than the current one comes with the next reset, and moves nothing before",
        f"{_MODE}.1",
    )
    protected_size: Seen[int] = state(
        "Memory that the host cannot see: copies pass a bounce buffer, and one client's decode lost 18 %",
        f"{_SIZES}.protectedMemSizeKib",
        "KiB",
        settled="always",
    )
    unprotected_size: Seen[int] = state(
        "Memory that the host can see", f"{_SIZES}.unprotectedMemSizeKib", "KiB", settled="always", context=True
    )
    protected_used: Seen[int] = telemetry(
        "What is taken of the protected memory", "nvmlDeviceGetConfComputeProtectedMemoryUsage.used", "B"
    )


def read_confidential(device: Device) -> Confidential:
    modes = ("dram_encryption_current", "dram_encryption_pending")
    return read_worded(Confidential, device, dict.fromkeys(modes, ENABLED))
