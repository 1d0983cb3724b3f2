"""Which unit sits in the slot: board, firmware, chip, and its place in the chassis."""

from collections.abc import Mapping
from typing import Any

from probes.gpu.asking import Device, Words
from probes.kit.facts import Gap, Section, Seen, identity, telemetry, then
from probes.kit.knobs import read_each
from probes.kit.nvml.asking import is_asleep
from probes.kit.parse import fields

INFORMATION = "/proc/driver/nvidia/gpus/{key}/information"

BRANDS: Words = {
    0: "unknown", 1: "quadro", 2: "tesla", 3: "nvs", 4: "grid", 5: "geforce", 6: "titan", 7: "nvidia_vapps",
    8: "nvidia_vpc", 9: "nvidia_vcs", 10: "nvidia_vws", 11: "nvidia_cloud_gaming", 12: "quadro_rtx", 13: "nvidia_rtx",
    14: "nvidia", 15: "geforce_rtx", 16: "titan_rtx", 17: "nvidia_dla", 18: "nvidia_vgamedev", 19: "nvidia_npu",
}  # fmt: skip
"""nvmlBrandType_t."""

ARCHITECTURES: Words = {
    2: "kepler", 3: "maxwell", 4: "pascal", 5: "volta", 6: "turing", 7: "ampere", 8: "ada", 9: "hopper",
    10: "blackwell", 11: "dla", 12: "dla2", 13: "rubin", 15: "npu3",
}  # fmt: skip
"""NVML_DEVICE_ARCH_*."""

_PLATFORM = "nvmlDeviceGetPlatformInfo"


class Inforom(Section):
    """Versions of the objects in the board's inforom."""

    img: Seen[str] = identity(
        "Two boards of one model may differ in it, and with it in limits and fan curves",
        "nvmlDeviceGetInforomImageVersion",
    )
    oem: Seen[str] = identity("The vendor's own settings", "nvmlDeviceGetInforomVersion(0)", context=True)
    ecc: Seen[str] = identity("Which error counters the board can keep", "nvmlDeviceGetInforomVersion(1)", context=True)
    pwr: Seen[str] = identity("How power is managed", "nvmlDeviceGetInforomVersion(2)")


class Platform(Section):
    """Where the unit sits in a rack-scale machine, by the chassis itself; Blackwell and later tell it."""

    chassis_serial_number: Seen[str] = identity(
        "Another chassis is another machine, whatever the host is called", f"{_PLATFORM}.chassisSerialNumber"
    )
    slot_number: Seen[int] = identity("A tray that moved has other NVLink neighbours", f"{_PLATFORM}.slotNumber")
    tray_index: Seen[int] = identity("As the slot, counting compute trays alone", f"{_PLATFORM}.trayIndex")
    host_id: Seen[int] = identity("Which node of its tray the GPU belongs to", f"{_PLATFORM}.hostId")
    peer_type: Seen[int] = identity(
        "Whether NVLink leads to a switch or straight to another GPU", f"{_PLATFORM}.peerType"
    )
    module_id: Seen[int] = identity("The GPU's number in its node", f"{_PLATFORM}.moduleId")


class Unit(Section):
    """What does not change while the board stays what it is."""

    name: Seen[str] = identity(
        "Another product is another machine: bandwidth, clocks and limits all differ", "nvmlDeviceGetName"
    )
    uuid: Seen[str] = identity(
        "Tells a GPU that was swapped in its slot from the one before: units of one model differ by some percent",
        "nvmlDeviceGetUUID",
    )
    serial: Seen[str] = identity(
        "Names the board where clouds give out new UUIDs; none on consumer boards", "nvmlDeviceGetSerial"
    )
    board_part_number: Seen[str] = identity(
        "Variants of one product name differ in power limit and cooling", "nvmlDeviceGetBoardPartNumber"
    )
    vbios_version: Seen[str] = identity(
        "Sets clock and voltage curves, default limits and fan curves", "nvmlDeviceGetVbiosVersion"
    )
    brand: Seen[str] = identity("Which settings the driver offers depends on it", "nvmlDeviceGetBrand", context=True)
    architecture: Seen[str] = identity(
        "Kernels and number formats are chosen by it", "nvmlDeviceGetArchitecture", context=True
    )
    compute_cap: Seen[str] = identity(
        "A kernel built for a lower one runs the slower path", "nvmlDeviceGetCudaComputeCapability"
    )
    gpu_cores: Seen[int] = identity(
        "A vGPU or a cut-down variant of the same name has fewer", "nvmlDeviceGetNumGpuCores"
    )
    memory_bus_width: Seen[int] = identity(
        "With the memory clock it bounds decode, which reads all weights for each token",
        "nvmlDeviceGetMemoryBusWidth",
        "bits",
    )
    module_id: Seen[int] = identity(
        "The GPU's place on its baseboard, which the PCI address follows only until firmware renumbers buses; what the "
        "place brings with it, its links and its memory node, are facts of their own",
        "nvmlDeviceGetModuleId",
        context=True,
    )
    multi_gpu_board: Seen[int] = identity(
        "GPUs of one board share its power and its PCIe link", "nvmlDeviceGetMultiGpuBoard", context=True
    )
    pci_device_id: Seen[str] = identity(
        "Device and vendor of the chip", "nvmlDeviceGetPciInfo_v3.pciDeviceId", context=True
    )
    pci_sub_system_id: Seen[str] = identity(
        "The board vendor's variant", "nvmlDeviceGetPciInfo_v3.pciSubSystemId", context=True
    )
    minor_number: Seen[int] = telemetry(
        "The number in /dev/nvidiaN, by which containers are given GPUs", "nvmlDeviceGetMinorNumber", context=True
    )
    index: Seen[int] = telemetry(
        "The number that nvidia-smi and CUDA_VISIBLE_DEVICES use; it shifts when a GPU drops off",
        "nvmlDeviceGetIndex",
        context=True,
    )
    irq: Seen[int] = telemetry(
        "The interrupt by which /proc/interrupts and irqbalance know it", "nvmlDeviceGetIrqNum", context=True
    )
    runtime_status: Seen[str] = telemetry(
        "A suspended GPU takes seconds to wake; asking NVML would wake it",
        "/sys/bus/pci/devices/ADDRESS/power/runtime_status",
        context=True,
    )


UNIT_WORDS: Mapping[str, Words] = {"brand": BRANDS, "architecture": ARCHITECTURES}


def unit_facts(device: Device) -> Mapping[str, Seen[Any]]:
    """Those of Unit that are neither an answer nor its word. What /proc tells stands in where NVML does not answer."""
    information = _information(device)
    answered = {
        "name": ("nvmlDeviceGetName", "Model"),
        "uuid": ("nvmlDeviceGetUUID", "GPU UUID"),
        "vbios_version": ("nvmlDeviceGetVbiosVersion", "Video BIOS"),
    }
    return {
        **{fact: _or_told(device.answer(call), information, line) for fact, (call, line) in answered.items()},
        "minor_number": then(_or_told(device.answer("nvmlDeviceGetMinorNumber"), information, "Device Minor"), int),
        "compute_cap": then(device.answer("nvmlDeviceGetCudaComputeCapability"), lambda pair: ".".join(map(str, pair))),
        "pci_device_id": then(device.answer("nvmlDeviceGetPciInfo_v3.pciDeviceId"), _pci_id),
        "pci_sub_system_id": then(device.answer("nvmlDeviceGetPciInfo_v3.pciSubSystemId"), _pci_id),
        "runtime_status": device.host.line(f"/sys/bus/pci/devices/{device.key}/power/runtime_status"),
    }


def minor_of(device: Device) -> Seen[int]:
    """The number of the device's node, as the kernel module tells it."""
    information = _information(device)
    return then(information, lambda lines: int(lines["Device Minor"]))


def _information(device: Device) -> Seen[Mapping[str, str]]:
    """What the module tells without NVML: not of a GPU that sleeps, which it would bring to full power first
    (nv_procfs_read_gpu_info of the open module), nor of one that hangs, whose lock it would wait for."""
    answered = device.answer("nvmlDeviceGetName")
    if is_asleep(device.host, device.key):
        return Gap("asleep")
    if isinstance(answered, Gap) and answered.code == "timed_out":
        return answered
    return then(device.host.text(INFORMATION.format(key=device.key)), fields)


def _or_told(answer: Seen[Any], information: Seen[Mapping[str, str]], line: str) -> Seen[Any]:
    """`?` stands in a UUID or a VBIOS version of a GPU that nobody has opened since the module was loaded."""
    if not isinstance(answer, Gap) or isinstance(information, Gap):
        return answer
    told = information.get(line, "?")
    return answer if "?" in told else told


def _pci_id(number: int) -> str:
    return f"0x{number:08x}"


def read_inforom(device: Device) -> Inforom:
    return read_each(Inforom, device.answer)


def read_platform(device: Device) -> Platform:
    return read_each(Platform, device.answer)
