"""How hot a GPU is, how hot it may become, and what cools it."""

from probes.gpu.asking import Device, Words
from probes.gpu.worded import read_worded
from probes.kit.facts import Section, Seen, config, identity, telemetry
from probes.kit.knobs import read_each

FAN_POLICIES: Words = {0: "temperature", 1: "manual"}  # NVML_FAN_POLICY_*


class Thresholds(Section):
    """Absolute temperatures; Ada and later tell margins instead."""

    shutdown: Seen[int] = identity(
        "Where the GPU switches off", "nvmlDeviceGetTemperatureThreshold(0)", "C", context=True
    )
    slowdown: Seen[int] = identity(
        "Where the hardware halves the clocks: a lower one throttles sooner",
        "nvmlDeviceGetTemperatureThreshold(1)",
        "C",
    )
    mem_max: Seen[int] = identity("Where hot memory lowers the clocks", "nvmlDeviceGetTemperatureThreshold(2)", "C")
    gpu_max: Seen[int] = identity(
        "Where the driver begins to lower the clocks", "nvmlDeviceGetTemperatureThreshold(3)", "C"
    )
    gpu_target: Seen[int] = config(
        "The temperature that clocks and fans are steered to: a lower one is a quieter, slower GPU",
        "nvmlDeviceGetTemperatureThreshold(5)",
        "C",
        restore="nvidia-smi -i {key} -gtt {value}",
    )


class Margins(Section):
    """Thresholds of Ada and later, in degrees that are left on the scale of `margin`: -2 is 2 beyond its zero."""

    shutdown: Seen[int] = identity(
        "Where the GPU switches off", "NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT", "C", context=True
    )
    slowdown: Seen[int] = identity(
        "Where the hardware halves the clocks", "NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT", "C"
    )
    mem_max: Seen[int] = identity("Where hot memory lowers the clocks", "NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT", "C")
    gpu_max: Seen[int] = identity(
        "Where the driver begins to lower the clocks", "NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT", "C"
    )


class Temperature(Section):
    gpu: Seen[int] = telemetry(
        "Leakage grows with it: a warm GPU reaches its power limit at a lower clock, a hot one is slowed down",
        "nvmlDeviceGetTemperatureV(0)",
        "C",
        settled="gpu busy",
    )
    memory: Seen[int] = telemetry(
        "Hot memory lowers the clocks though the core is cool", "NVML_FI_DEV_MEMORY_TEMP", "C", settled="gpu busy"
    )
    margin: Seen[int] = telemetry(
        "Degrees that are left until the driver lowers the clocks: near 0 it does",
        "nvmlDeviceGetMarginTemperature",
        "C",
        settled="gpu busy",
    )
    thresholds: Thresholds = Thresholds()
    margins: Margins = Margins()


class Fans(Section):
    count: Seen[int] = identity(
        "None where the chassis cools: then its fans, its firmware and the inlet decide", "nvmlDeviceGetNumFans"
    )
    speed: Seen[int] = telemetry(
        "Asked for, not measured: a stuck fan shows in the temperature alone", "nvmlDeviceGetFanSpeed", "%"
    )
    policy: Seen[str] = config(
        "Set by hand, fans no longer follow the temperature", "nvmlDeviceGetFanControlPolicy_v2(0)"
    )


def read_temperature(device: Device) -> Temperature:
    return read_each(
        Temperature,
        device.answer,
        thresholds=read_each(Thresholds, device.answer),
        margins=read_each(Margins, device.answer),
    )


def sample_temperature(device: Device) -> Temperature:
    return Temperature(
        gpu=device.answer("nvmlDeviceGetTemperatureV(0)"), memory=device.answer("NVML_FI_DEV_MEMORY_TEMP")
    )


def read_fans(device: Device) -> Fans:
    return read_worded(Fans, device, {"policy": FAN_POLICIES})
