"""The GPU's link to the host, as the GPU sees it; the bridges above it belong to the area of PCI devices."""

from probes.gpu.asking import Device
from probes.kit.facts import Gap, Section, Seen, config, counter, identity, state, telemetry, then
from probes.kit.knobs import read_each
from probes.kit.lanes import SPEEDS, carries, speed_of

DEVICES = "/sys/bus/pci/devices"
ATOMICS = (
    "fetchadd32",
    "fetchadd64",
    "swap32",
    "swap64",
    "cas32",
    "cas64",
    "cas128",
)  # NVML_PCIE_ATOMICS_CAP_*, by bit
WRAPS_AT = 1 << 32
"""nvml.h says that they can wrap, and not where: an L40S showed 3,893,142,392 (dcgm-exporter#721), and who reads them
takes 32 bits. More than this between two samples is counted as less: growth is a least."""

CORRECTED = ("receiver", "bad_tlp", "bad_dllp", "replay_counter", "replay_rollover_counter")


class PcieErrors(Section):
    """Since the driver was loaded. Only growth counts: a healthy H100 showed 150 replays."""

    replay_counter: Seen[int] = counter(
        "Each is a packet sent again: a marginal riser or slot costs bandwidth before it costs the link",
        "NVML_FI_DEV_PCIE_REPLAY_COUNTER, or nvmlDeviceGetPcieReplayCounter",
        trouble=True,
        follows=("gpu/*/pcie/errors/naks_received",),
    )
    replay_rollover_counter: Seen[int] = counter(
        "Four failed replays in a row make the link retrain, and everything wait",
        "NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER",
        trouble=True,
        follows=("gpu/*/pcie/errors/replay_counter",),
    )
    # No trouble by itself: every change of speed passes Recovery (PCI Express Base Specification, 4.2.6), and boards
    # that slow their link at rest change it all the time: 35 of them 1415 times in 2 minutes (rtx6kpro#88).
    l0_to_recovery: Seen[int] = counter(
        "Times that the link left its working state: to retrain after errors, or to change its speed",
        "NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER",
    )
    correctable: Seen[int] = counter(
        "Wiring rated for a slower generation gave 210-240 of them a second",
        "NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS",
        trouble=True,
        follows=tuple(f"gpu/*/pcie/errors/{kind}" for kind in CORRECTED),
    )
    naks_received: Seen[int] = counter(
        "The host refused packets of the GPU", "NVML_FI_DEV_PCIE_COUNT_NAKS_RECEIVED", trouble=True
    )
    naks_sent: Seen[int] = counter(
        "The GPU refused packets of the host",
        "NVML_FI_DEV_PCIE_COUNT_NAKS_SENT",
        trouble=True,
        follows=("gpu/*/pcie/errors/bad_tlp", "gpu/*/pcie/errors/lcrc"),
    )
    receiver: Seen[int] = counter(
        "The signal itself was not understood: cable, riser or connector",
        "NVML_FI_DEV_PCIE_COUNT_RECEIVER_ERROR",
        trouble=True,
    )
    bad_tlp: Seen[int] = counter(
        "Data packets that arrived damaged",
        "NVML_FI_DEV_PCIE_COUNT_BAD_TLP",
        trouble=True,
        follows=("gpu/*/pcie/errors/lcrc",),
    )
    bad_dllp: Seen[int] = counter(
        "Link-level packets that arrived damaged", "NVML_FI_DEV_PCIE_COUNT_BAD_DLLP", trouble=True
    )
    lcrc: Seen[int] = counter(
        "Packets whose link checksum did not fit", "NVML_FI_DEV_PCIE_COUNT_LCRC_ERROR", trouble=True
    )
    lane: Seen[int] = counter(
        "Errors of single lanes: the next step is a narrower link", "NVML_FI_DEV_PCIE_COUNT_LANE_ERROR", trouble=True
    )
    non_fatal: Seen[int] = counter(
        "A transaction was lost, the link was not", "NVML_FI_DEV_PCIE_COUNT_NON_FATAL_ERROR", trouble=True
    )
    fatal: Seen[int] = counter("The link itself became unreliable", "NVML_FI_DEV_PCIE_COUNT_FATAL_ERROR", trouble=True)
    unsupported_request: Seen[int] = counter(
        "Requests that nobody answers, as after a wrong mapping of peers", "NVML_FI_DEV_PCIE_COUNT_UNSUPPORTED_REQ"
    )


class Pcie(Section):
    """Names are those of `nvidia-smi --query-gpu`: pcie.link.gen.current is pcie/link_gen_current."""

    link_gen_current: Seen[int] = state(
        "A link stuck at a lower generation slows every copy: Gen2 for 3.5 h of training went unseen. At idle a lower "
        "one is how consumer and workstation boards save power",
        "nvmlDeviceGetCurrPcieLinkGeneration",
        settled="gpu busy",
    )
    link_gen_max: Seen[int] = config(
        "What GPU and slot can do together: a riser, a BIOS option or another slot lowers it",
        "nvmlDeviceGetMaxPcieLinkGeneration",
    )
    link_gen_gpumax: Seen[int] = identity(
        "What the GPU alone could do", "nvmlDeviceGetGpuMaxPcieLinkGeneration", context=True
    )
    link_width_current: Seen[int] = state(
        "Lanes do not come and go with load: fewer of them is a seat, a riser or a shared slot, and x4 beside x8 cost "
        "15 % of tensor-parallel decode",
        "nvmlDeviceGetCurrPcieLinkWidth",
        "lanes",
        settled="always",
    )
    link_width_max: Seen[int] = config(
        "What GPU and slot can do together; some clouds wire 8 of 16 lanes for good",
        "nvmlDeviceGetMaxPcieLinkWidth",
        "lanes",
    )
    link_speed: Seen[int] = state(
        "The same as the generation, in what a lane carries",
        "nvmlDeviceGetPcieSpeed",
        "MT/s",
        settled="gpu busy",
        follows=("gpu/*/pcie/link_gen_current",),
    )
    link_speed_max: Seen[int] = config(
        "The most that a lane can carry here",
        "nvmlDeviceGetPcieLinkMaxSpeed",
        "MT/s",
        context=True,
        follows=("gpu/*/pcie/link_gen_max",),
    )
    atomics_outbound: Seen[tuple[str, ...]] = state(
        "Atomic operations that the GPU may send: without them peers and host are synchronised by slower means",
        "NVML_FI_DEV_PCIE_OUTBOUND_ATOMICS_MASK",
        settled="always",
    )
    atomics_inbound: Seen[tuple[str, ...]] = state(
        "Atomic operations that the GPU takes from others", "NVML_FI_DEV_PCIE_INBOUND_ATOMICS_MASK", settled="always"
    )
    numa_node: Seen[int] = state(
        "Host memory and threads of another node reach the GPU over the link between sockets",
        f"{DEVICES}/*/numa_node",
        settled="always",
    )
    link_bandwidth: Seen[int] = telemetry(
        "What the link as it is now carries at most, one way: what traffic is held against",
        "nvmlDeviceGetCurrPcieLinkGeneration and nvmlDeviceGetCurrPcieLinkWidth",
        "MB/s",
        settled="gpu busy",
        context=True,
        follows=("gpu/*/pcie/link_gen_current", "gpu/*/pcie/link_width_current"),
    )
    tx_bytes: Seen[int] = counter(
        "A slower link costs no more than the time that traffic takes on it: little traffic, little cost. Whether it "
        "goes to peers or to the host nothing tells",
        "NVML_FI_DEV_PCIE_COUNT_TX_BYTES",
        "B",
        wraps_at=WRAPS_AT,
    )
    rx_bytes: Seen[int] = counter(
        "What the GPU received, as weights that are read from the host", "NVML_FI_DEV_PCIE_COUNT_RX_BYTES", "B",
        wraps_at=WRAPS_AT,
    )  # fmt: skip
    errors: PcieErrors = PcieErrors()


def read_pcie(device: Device) -> Pcie:
    return read_each(
        Pcie,
        device.answer,
        link_speed_max=then(device.answer("nvmlDeviceGetPcieLinkMaxSpeed"), _max_speed),
        atomics_outbound=then(device.answer("NVML_FI_DEV_PCIE_OUTBOUND_ATOMICS_MASK"), atomics),
        atomics_inbound=then(device.answer("NVML_FI_DEV_PCIE_INBOUND_ATOMICS_MASK"), atomics),
        numa_node=then(device.host.number(f"{DEVICES}/{device.key}/numa_node"), _node),
        link_bandwidth=_bandwidth(device),
        errors=_errors(device),
    )


def sample_pcie(device: Device) -> Pcie:
    """What a sample asks of the link; its speed is told by the generation."""
    generation = device.answer("nvmlDeviceGetCurrPcieLinkGeneration")
    return Pcie(
        link_gen_current=generation,
        link_speed=then(generation, speed_of),
        link_width_current=device.answer("nvmlDeviceGetCurrPcieLinkWidth"),
        link_bandwidth=_bandwidth(device),
        tx_bytes=device.answer("NVML_FI_DEV_PCIE_COUNT_TX_BYTES"),
        rx_bytes=device.answer("NVML_FI_DEV_PCIE_COUNT_RX_BYTES"),
        errors=PcieErrors(replay_counter=device.answer("NVML_FI_DEV_PCIE_REPLAY_COUNTER")),
    )


def _errors(device: Device) -> PcieErrors:
    replays = device.first("NVML_FI_DEV_PCIE_REPLAY_COUNTER", "nvmlDeviceGetPcieReplayCounter")
    return read_each(PcieErrors, device.answer, replay_counter=replays)


def atomics(mask: int) -> Seen[tuple[str, ...]]:
    """The operations of a mask of NVML_PCIE_ATOMICS_CAP_*; bits that nvml.h did not have yet by their numbers."""
    known = (word for bit, word in enumerate(ATOMICS) if mask >> bit & 1)
    newer = (f"unknown ({bit})" for bit in range(len(ATOMICS), mask.bit_length()) if mask >> bit & 1)
    return (*known, *newer)


def _bandwidth(device: Device) -> Seen[int]:
    width = device.answer("nvmlDeviceGetCurrPcieLinkWidth")
    generation = device.answer("nvmlDeviceGetCurrPcieLinkGeneration")
    return then(width, lambda lanes: then(generation, lambda number: carries(number, lanes)))


def _max_speed(number: int) -> Seen[int]:
    """nvml.h calls it both a speed and one of an enumeration; no speed is as small as an enumerator."""
    return number if number >= len(SPEEDS) else speed_of(number)


def _node(number: int) -> Seen[int]:
    return Gap("unsupported", "the firmware names no node") if number < 0 else number
