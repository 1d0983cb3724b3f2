"""The GPU's own processor for the driver's work (GSP): whether it is used, and its firmware."""

from probes.gpu.asking import ENABLED, Device
from probes.gpu.worded import read_worded
from probes.kit.facts import Section, Seen, config, identity


class Gsp(Section):
    """Names are those of `nvidia-smi --query-gpu`: gsp.mode.current is gsp/mode_current."""

    mode_current: Seen[str] = config(
        "With it, calls to the driver go through firmware: 93 frames where 144 were without, and hangs (Xid 119)",
        "nvmlDeviceGetGspFirmwareMode.0",
        restore="echo options nvidia NVreg_EnableGpuFirmware=$([ {value} = enabled ] && echo 1 || echo 0) "
        "> /etc/modprobe.d/nvidia-gsp.conf # and a reboot; open modules know no other mode than enabled",
    )
    mode_default: Seen[str] = identity(
        "Whether this product uses it unless told otherwise", "nvmlDeviceGetGspFirmwareMode.1", context=True
    )
    version: Seen[str] = config(
        "The firmware comes with the driver",
        "nvmlDeviceGetGspFirmwareVersion",
        follows=("driver/module/version", "driver/nvml/driver_version"),
    )


def read_gsp(device: Device) -> Gsp:
    return read_worded(Gsp, device, dict.fromkeys(("mode_current", "mode_default"), ENABLED))
