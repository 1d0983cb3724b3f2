"""What the GPU's memory has lost already, what is to be repaired, and what the driver asks for."""

from probes.gpu.asking import Device, Words
from probes.gpu.worded import YES, read_worded
from probes.kit.facts import Section, Seen, counter, state
from probes.kit.knobs import read_each

RECOVERY_ACTIONS: Words = {
    0: "none",
    1: "gpu_reset",
    2: "node_reboot",
    3: "drain_p2p",
    4: "drain_and_reset",
    5: "recover_imex_domain",
    6: "bus_reset",
    7: "system_reboot",
}  # nvmlDeviceGpuRecoveryAction_t
_RESET = "nvidia-smi -i {key} -r # while nothing runs on it"
_ROWS = "nvmlDeviceGetRemappedRows"
_HISTOGRAM = "nvmlDeviceGetRowRemapperHistogram"


class RemapHistogram(Section):
    """How many banks have how many spare rows left."""

    max: Seen[int] = state("Banks with all their spare rows", f"{_HISTOGRAM}.max", "banks", settled="always")
    high: Seen[int] = state("Banks with most of them", f"{_HISTOGRAM}.high", "banks", settled="always")
    partial: Seen[int] = state("Banks with some of them", f"{_HISTOGRAM}.partial", "banks", settled="always")
    low: Seen[int] = state("Banks with few of them", f"{_HISTOGRAM}.low", "banks", settled="always")
    none: Seen[int] = state(
        "The next error in such a bank is a remapping failure, and a board to be returned",
        f"{_HISTOGRAM}.none",
        "banks",
        settled="always",
    )


class RemappedRows(Section):
    """Ampere and later; NVML does not tell them while MIG instances exist."""

    correctable: Seen[int] = counter(
        "Rows replaced after too many corrected errors",
        f"{_ROWS}.0",
        "rows",
        trouble=True,
        follows=("gpu/*/ecc/*/dram_corrected",),
    )
    uncorrectable: Seen[int] = counter(
        "Rows replaced after an uncorrected error",
        f"{_ROWS}.1",
        "rows",
        trouble=True,
        follows=("gpu/*/ecc/*/dram_uncorrected",),
    )
    pending: Seen[str] = state(
        "A bad row is still in use, its page only avoided, until the GPU is reset",
        f"{_ROWS}.2",
        settled="always",
        restore=_RESET,
        follows=("gpu/*/mig/mode_current",),
    )
    failure: Seen[str] = state(
        "A row could not be replaced: the maker takes such a board back",
        f"{_ROWS}.3",
        settled="always",
        follows=("gpu/*/mig/mode_current",),
    )
    correctable_inactive: Seen[int] = state(
        "Remappings for corrected errors that wait for a reset",
        "NVML_FI_DEV_REMAPPED_ROWS_COR_INACTIVE",
        "rows",
        settled="always",
        follows=("gpu/*/health/remapped_rows/pending",),
    )
    uncorrectable_inactive: Seen[int] = state(
        "Remappings for uncorrected errors that wait for a reset",
        "NVML_FI_DEV_REMAPPED_ROWS_UNC_INACTIVE",
        "rows",
        settled="always",
        follows=("gpu/*/health/remapped_rows/pending",),
    )
    histogram: RemapHistogram = RemapHistogram()


class RetiredPages(Section):
    """Before Ampere: whole pages are given up instead of rows."""

    single_bit_ecc: Seen[int] = counter(
        "Pages given up after repeated corrected errors",
        "NVML_FI_DEV_RETIRED_SBE",
        trouble=True,
        follows=("gpu/*/ecc/*/dram_corrected",),
    )
    double_bit: Seen[int] = counter(
        "Pages given up after an uncorrected error",
        "NVML_FI_DEV_RETIRED_DBE",
        trouble=True,
        follows=("gpu/*/ecc/*/dram_uncorrected",),
    )
    pending: Seen[str] = state(
        "A page is bad and still in use until the driver is loaded anew",
        "nvmlDeviceGetRetiredPagesPendingStatus",
        settled="always",
        restore=_RESET,
    )
    pending_single_bit: Seen[str] = state(
        "Pending for repeated corrected errors",
        "NVML_FI_DEV_RETIRED_PENDING_SBE",
        settled="always",
        follows=("gpu/*/health/retired_pages/pending",),
    )
    pending_double_bit: Seen[str] = state(
        "Pending for an uncorrected error",
        "NVML_FI_DEV_RETIRED_PENDING_DBE",
        settled="always",
        follows=("gpu/*/health/retired_pages/pending",),
    )


class Health(Section):
    recovery_action: Seen[str] = state(
        "What the driver asks for after a fault (Xid 154): until it is done, work runs on a GPU that is not whole",
        "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION",
        settled="always",
        restore="nvidia-smi -i {key} -r # for gpu_reset; drain or reboot where the action says so",
    )
    unrepairable_memory: Seen[str] = state(
        "Memory that can be neither remapped nor repaired", "nvmlDeviceGetUnrepairableMemoryFlag_v1", settled="always"
    )
    channel_repair_pending: Seen[str] = state(
        "A memory channel will be repaired at the next reset; till then its bandwidth is not what it was",
        "nvmlDeviceGetRepairStatus.0",
        settled="always",
        restore=_RESET,
    )
    tpc_repair_pending: Seen[str] = state(
        "Multiprocessors will be exchanged for spare ones at the next reset",
        "nvmlDeviceGetRepairStatus.1",
        settled="always",
        restore=_RESET,
    )
    remapped_rows: RemappedRows = RemappedRows()
    retired_pages: RetiredPages = RetiredPages()


def read_health(device: Device) -> Health:
    flags = ("unrepairable_memory", "channel_repair_pending", "tpc_repair_pending")
    return read_worded(
        Health,
        device,
        {"recovery_action": RECOVERY_ACTIONS, **dict.fromkeys(flags, YES)},
        remapped_rows=_remapped_rows(device),
        retired_pages=_retired_pages(device),
    )


def _remapped_rows(device: Device) -> RemappedRows:
    histogram = read_each(RemapHistogram, device.answer)
    return read_worded(RemappedRows, device, dict.fromkeys(("pending", "failure"), YES), histogram=histogram)


def _retired_pages(device: Device) -> RetiredPages:
    flags = ("pending", "pending_single_bit", "pending_double_bit")
    return read_worded(RetiredPages, device, dict.fromkeys(flags, YES))
