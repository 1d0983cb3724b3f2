"""How fast a GPU runs, may run and was told to run."""

from probes.gpu.asking import ENABLED, Device
from probes.gpu.worded import read_worded
from probes.kit.facts import Section, Seen, config, identity, telemetry
from probes.kit.knobs import read_each

_DEPRECATED = ("driver/module/version", "driver/nvml/driver_version")  # R595 answers DEPRECATED where R580 told a value
_DEFAULT_FOLLOWS = ("gpu/*/vbios_version", *_DEPRECATED)


class MaxClocks(Section):
    """The highest clocks of the board. NVML does not tell a lock (`-lgc`, `-lmc`) here, nor anywhere else."""

    graphics: Seen[int] = identity(
        "A lower maximum is a hard ceiling; boards of one name differ", "nvmlDeviceGetMaxClockInfo(0)", "MHz"
    )
    sm: Seen[int] = identity("What the clock under load is held against", "nvmlDeviceGetMaxClockInfo(1)", "MHz")
    mem: Seen[int] = identity("With the bus width it bounds decode", "nvmlDeviceGetMaxClockInfo(2)", "MHz")
    video: Seen[int] = identity("Decoders and encoders run at it", "nvmlDeviceGetMaxClockInfo(3)", "MHz", context=True)


class ApplicationClocks(Section):
    """The clocks that work runs at unless something holds it lower; no longer reported from R595 on."""

    graphics: Seen[int] = config(
        "Below its default every compute-bound phase slows in proportion; it outlives whoever set it",
        "nvmlDeviceGetApplicationsClock(0)",
        "MHz",
        follows=_DEPRECATED,
        restore="nvidia-smi -i {key} -ac "
        "$(nvidia-smi -i {key} --query-gpu=clocks.applications.memory --format=csv,noheader,nounits),{value}",
    )
    mem: Seen[int] = config(
        "A lower one costs bandwidth, and decode with it",
        "nvmlDeviceGetApplicationsClock(2)",
        "MHz",
        follows=_DEPRECATED,
        restore="nvidia-smi -i {key} -ac "
        "{value},$(nvidia-smi -i {key} --query-gpu=clocks.applications.graphics --format=csv,noheader,nounits)",
    )


class DefaultApplicationClocks(Section):
    graphics: Seen[int] = identity(
        "What the clock falls back to at reboot", "nvmlDeviceGetDefaultApplicationsClock(0)", "MHz",
        follows=_DEFAULT_FOLLOWS,
    )  # fmt: skip
    mem: Seen[int] = identity(
        "What the clock falls back to at reboot", "nvmlDeviceGetDefaultApplicationsClock(2)", "MHz",
        follows=_DEFAULT_FOLLOWS,
    )  # fmt: skip


class CustomerBoost(Section):
    """What the vendor of the machine lets the clocks rise to."""

    graphics: Seen[int] = config(
        "Lower than the maximum, it is the real ceiling", "nvmlDeviceGetMaxCustomerBoostClock(0)", "MHz",
        follows=("gpu/*/vbios_version", "gpu/*/inforom/**"),
    )  # fmt: skip
    sm: Seen[int] = config(
        "Lower than the maximum, it is the real ceiling", "nvmlDeviceGetMaxCustomerBoostClock(1)", "MHz",
        follows=("gpu/*/vbios_version", "gpu/*/inforom/**"),
    )  # fmt: skip
    mem: Seen[int] = config(
        "Lower than the maximum, it is the real ceiling", "nvmlDeviceGetMaxCustomerBoostClock(2)", "MHz",
        follows=("gpu/*/vbios_version", "gpu/*/inforom/**"),
    )  # fmt: skip
    video: Seen[int] = config(
        "The ceiling of decoders and encoders", "nvmlDeviceGetMaxCustomerBoostClock(3)", "MHz", context=True
    )


class Offsets(Section):
    """Shifts of the voltage curve in P0; lost at reboot."""

    graphics: Seen[int] = config(
        "Overclocked it is faster until it fails, undervolted it stays cooler: no other reading shows it",
        "nvmlDeviceGetClockOffsets(0,0).clockOffsetMHz",
        "MHz",
    )
    mem: Seen[int] = config(
        "As for the core; too much costs bandwidth in retries", "nvmlDeviceGetClockOffsets(2,0).clockOffsetMHz", "MHz"
    )


class AutoBoost(Section):
    """Kepler's and Maxwell's."""

    enabled: Seen[str] = config(
        "Whether clocks rise above those of the application", "nvmlDeviceGetAutoBoostedClocksEnabled.0",
        restore="nvidia-smi -i {key} --auto-boost-default=$(echo {value} | tr a-z A-Z)",
    )  # fmt: skip
    default: Seen[str] = config("What it falls back to", "nvmlDeviceGetAutoBoostedClocksEnabled.1")


class Clocks(Section):
    """At rest they are low, and say nothing: only samples of a busy GPU count."""

    graphics: Seen[int] = telemetry(
        "Compute-bound work, prefill above all, moves with it", "nvmlDeviceGetClockInfo(0)", "MHz", settled="gpu busy"
    )
    sm: Seen[int] = telemetry(
        "The clock that kernels run at; under load what it is held by stands in clocks_event_reasons",
        "nvmlDeviceGetClockInfo(1)",
        "MHz",
        settled="gpu busy",
    )
    mem: Seen[int] = telemetry(
        "Decode moves with it; locked, even at its maximum, it cost 16 to 32 %",
        "nvmlDeviceGetClockInfo(2)",
        "MHz",
        settled="gpu busy",
    )
    video: Seen[int] = telemetry(
        "Tied to the graphics clock on most boards",
        "nvmlDeviceGetClockInfo(3)",
        "MHz",
        settled="gpu busy",
        context=True,
    )
    max: MaxClocks = MaxClocks()
    applications: ApplicationClocks = ApplicationClocks()
    default_applications: DefaultApplicationClocks = DefaultApplicationClocks()
    max_customer_boost: CustomerBoost = CustomerBoost()
    offsets: Offsets = Offsets()
    auto_boost: AutoBoost = AutoBoost()


def read_clocks(device: Device) -> Clocks:
    return read_each(
        Clocks,
        device.answer,
        max=read_each(MaxClocks, device.answer),
        applications=read_each(ApplicationClocks, device.answer),
        default_applications=read_each(DefaultApplicationClocks, device.answer),
        max_customer_boost=read_each(CustomerBoost, device.answer),
        offsets=read_each(Offsets, device.answer),
        auto_boost=read_worded(AutoBoost, device, {"enabled": ENABLED, "default": ENABLED}),
    )


def sample_clocks(device: Device) -> Clocks:
    return read_each(Clocks, device.answer)
