"""NVLinks: how many are up, how fast, where they lead, and their errors; and the link to a CPU beside the GPU (C2C)."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from probes.gpu.asking import ENABLED, UNSUPPORTED, Device, Words
from probes.kit.facts import Gap, Map, Section, Seen, config, counter, identity, state, then
from probes.kit.knobs import read_each
from probes.kit.nvml.inquiry import ALL_LINKS, counted

STATES: Words = {0: "inactive", 1: "active", 2: "sleep", 3: "active_traffic_disabled"}  # NVML_NVLINK_STATE_*
VERSIONS: Words = {
    1: "1.0",
    2: "2.0",
    3: "2.2",
    4: "3.0",
    5: "3.1",
    6: "4.0",
    7: "5.0",
    8: "6.0",
}  # nvmlNvlinkVersion_t
DEVICE_TYPES: Words = {0: "gpu", 1: "ibmnpu", 2: "switch", 255: "unknown"}  # nvmlIntNvLinkDeviceType_t
UP = ("active", "sleep")
HOPPERS = 6  # NVML_NVLINK_VERSION_4_0
COUNT = "NVML_FI_DEV_NVLINK_LINK_COUNT"
DATA_TX, DATA_RX = (f"NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_{way}({ALL_LINKS})" for way in ("TX", "RX"))
A = TypeVar("A")


class Link(Section):
    """One link; LINK in a source is its number."""

    version: Seen[str] = identity("The generation of the link", "nvmlDeviceGetNvLinkVersion(LINK)", context=True)
    speed: Seen[int] = state(
        "Links of one GPU trained at unlike speeds make the slowest set the pace",
        "NVML_FI_DEV_NVLINK_GET_SPEED(LINK)",
        "MB/s",
        settled="always",
        follows=("gpu/*/nvlink/links/*/state",),
    )
    remote_device_type: Seen[str] = state(
        "To a switch, all GPUs are near; to another GPU, only that one is",
        "nvmlDeviceGetNvLinkRemoteDeviceType(LINK)",
        settled="always",
        follows=("gpu/*/nvlink/links/*/state",),
    )
    remote_pci: Seen[str] = state(
        "A bridge moved to other boards joins other pairs",
        "nvmlDeviceGetNvLinkRemotePciInfo(LINK).busId",
        settled="always",
        follows=("gpu/*/nvlink/links/*/state",),
    )
    state: Seen[str] = state(
        "One link of many that is down takes its share of the bandwidth; 4 of 6 took a third of it",
        "NVML_FI_DEV_NVLINK_GET_STATE(LINK), or nvmlDeviceGetNvLinkState(LINK)",
        settled="always",
        follows=("gpu/*/fabric/state",),
    )


class NvLinkErrors(Section):
    """Of all links together. From Hopper on NVML's own totals succeed with 0 (DataDog/datadog-agent#55966), so the
    links' counts are added up there; (*) is every link."""

    crc: Seen[int] = counter(
        "Flits and data that arrived damaged and were sent again",
        "NVML_FI_DEV_NVLINK_ERROR_DL_CRC(*); before Hopper NVML_FI_DEV_NVLINK_CRC_{FLIT,DATA}_ERROR_COUNT_TOTAL",
        trouble=True,
    )
    replay: Seen[int] = counter(
        "Each is a retransmission: a collective waits for its slowest link",
        "NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY(*); before Hopper NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
        trouble=True,
    )
    recovery: Seen[int] = counter(
        "Each is a link that was trained anew while everybody waited",
        "NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY(*); before Hopper NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
        trouble=True,
    )
    ecc: Seen[int] = counter(
        "Data that the link's own code had to mend, on generations before Hopper",
        "NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL",
    )
    link_recovery: Seen[int] = counter(
        "Times that a link of Blackwell went down to recover, however that ended",
        "NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS(*)",
        trouble=True,
    )
    effective: Seen[int] = counter(
        "Errors in packets that Blackwell's forward correction left over",
        "NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS(*)",
        trouble=True,
    )


class NvLinks(Section):
    link_count: Seen[int] = identity("The links that this product has", COUNT)
    active: Seen[int] = state(
        "Bandwidth between GPUs goes with it; without a fabric manager none is up, and work that took 6 h took 24",
        "NVML_FI_DEV_NVLINK_GET_STATE(*), or nvmlDeviceGetNvLinkState(*)",
        "links",
        settled="always",
        follows=("gpu/*/nvlink/links/*/state", "gpu/*/fabric/state"),
    )
    speed: Seen[int] = state(
        "What each active link carries, one way",
        "NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON",
        "MB/s",
        settled="always",
        follows=("gpu/*/nvlink/active",),
    )
    bandwidth_mode: Seen[int] = config(
        "A reduced mode saves power and gives less bandwidth; nvml.h numbers the modes and does not name them",
        "nvmlDeviceGetNvlinkBwMode.bwMode",
    )
    c2c_mode: Seen[str] = config(
        "The coherent link to Grace: without it the host is reached over PCIe", "nvmlDeviceGetC2cModeInfoV.isC2cEnabled"
    )
    c2c_link_count: Seen[int] = state(
        "C2C links that this GPU has", "NVML_FI_DEV_C2C_LINK_COUNT", "links", settled="always"
    )
    data_tx: Seen[int] = counter(
        "Over all links: what stops crossing them crosses PCIe, at a tenth of the bandwidth", DATA_TX, "B"
    )
    data_rx: Seen[int] = counter("Over all links, without what the protocol adds", DATA_RX, "B")
    errors: NvLinkErrors = NvLinkErrors()
    links: Seen[Map[Link]] = identity("Each by its number on the GPU", COUNT)


def read_nvlink(device: Device) -> NvLinks:
    count = then(device.answer(COUNT), lambda number: counted(number) or UNSUPPORTED)
    links = then(count, lambda number: Map({str(link): _link(device, link) for link in range(number)}))
    return read_each(
        NvLinks,
        device.answer,
        active=then(links, _active),
        c2c_mode=device.word("nvmlDeviceGetC2cModeInfoV.isC2cEnabled", ENABLED),
        errors=_errors(device, count),
        links=links,
        **_traffic(device),
    )


def sample_nvlink(device: Device) -> NvLinks:
    """What crossed the links: nothing else of them is asked in a sample."""
    return NvLinks(**_traffic(device))


def _traffic(device: Device) -> Mapping[str, Any]:
    """NVML counts KiB."""
    counts = {"data_tx": device.answer(DATA_TX), "data_rx": device.answer(DATA_RX)}
    return {name: then(count, lambda kib: kib << 10) for name, count in counts.items()}


def _link(device: Device, number: int) -> Link:
    def asked(source: str) -> str:
        return source.replace("(LINK)", f"({number})")

    now = device.word(asked("NVML_FI_DEV_NVLINK_GET_STATE(LINK)"), STATES)
    if isinstance(now, Gap):
        now = device.word(asked("nvmlDeviceGetNvLinkState(LINK)"), STATES)
    return read_each(
        Link,
        lambda source: device.answer(asked(source)),
        state=now,
        version=device.word(asked("nvmlDeviceGetNvLinkVersion(LINK)"), VERSIONS),
        remote_device_type=device.word(asked("nvmlDeviceGetNvLinkRemoteDeviceType(LINK)"), DEVICE_TYPES),
        remote_pci=then(device.answer(asked("nvmlDeviceGetNvLinkRemotePciInfo(LINK).busId")), slot),
    )


def _active(links: Map[Link]) -> Seen[int]:
    states = _told([link.state for link in links.items.values()])
    return then(states, lambda told: sum(word in UP for word in told))


def _errors(device: Device, count: Seen[int]) -> NvLinkErrors:
    def added(field: str) -> Seen[int]:
        return then(count, lambda number: _sum([device.answer(f"{field}({link})") for link in range(number)]))

    def added_or(field: str, *totals: str) -> Seen[int]:
        links = added(field)
        return links if links != UNSUPPORTED else then(count, lambda number: _before_hopper(device, number, totals))

    return NvLinkErrors(
        crc=added_or(
            "NVML_FI_DEV_NVLINK_ERROR_DL_CRC",
            "NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
            "NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
        ),
        replay=added_or("NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY", "NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"),
        recovery=added_or("NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY", "NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"),
        ecc=then(
            count, lambda number: _before_hopper(device, number, ("NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL",))
        ),
        link_recovery=added("NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS"),
        effective=added("NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS"),
    )


def _before_hopper(device: Device, count: int, totals: Sequence[str]) -> Seen[int]:
    """The sum of NVML's totals, on generations of which they can be believed; unknown where the generation is."""
    versions = (device.answer(f"nvmlDeviceGetNvLinkVersion({link})") for link in range(count))
    told = next((version for version in versions if version != UNSUPPORTED), 0)
    return then(
        told, lambda version: UNSUPPORTED if version >= HOPPERS else _sum([device.answer(total) for total in totals])
    )


def _sum(found: Sequence[Seen[int]]) -> Seen[int]:
    return then(_told(found), lambda told: sum(told) if told else UNSUPPORTED)


def _told(found: Sequence[Seen[A]]) -> Seen[Sequence[A]]:
    """What was told. A port that is not in use may answer `unsupported` (DataDog/datadog-agent#55945) and is passed
    over; any other gap stands for all."""
    gaps = (value for value in found if isinstance(value, Gap) and value != UNSUPPORTED)
    return next(gaps, None) or [value for value in found if not isinstance(value, Gap)]


def slot(bus_id: str) -> str:
    """The kernel's name of a PCI address: NVML writes the domain with eight digits, and capitals."""
    domain, _, rest = bus_id.partition(":")
    return f"{int(domain, 16):04x}:{rest.lower()}"
