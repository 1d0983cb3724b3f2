"""Error correction: whether it is on, and what it had to correct.

NVML's volatile counts restart with the driver (without persistence mode: with the last client), the aggregate ones last
as long as the board.
"""

from typing import Any

from probes.gpu.asking import ENABLED, Device
from probes.gpu.worded import YES, read_worded
from probes.kit.facts import Section, Seen, config, counter, identity, state
from probes.kit.knobs import read_each

_SRAM = "nvmlDeviceGetSramEccErrorStatus"


class EccErrors(Section):
    """Of one of NVML's two kinds of counts: SCOPE is its name in a member, its nvmlEccCounterType_t in a call.

    One error is counted in both, by where it arose and in the total.
    """

    corrected: Seen[int] = counter(
        "A burst of corrected errors precedes uncorrected ones, and uses up spare rows",
        "nvmlDeviceGetTotalEccErrors(0,SCOPE)",
        trouble=True,
        follows=("gpu/*/ecc/*/dram_corrected", "gpu/*/ecc/*/sram_corrected", "gpu/*/ecc/*/corrected"),
    )
    uncorrected: Seen[int] = counter(
        "Ends the processes that meet it (Xid 48, 94, 95): one node's uncorrected errors have failed a whole job",
        "nvmlDeviceGetTotalEccErrors(1,SCOPE)",
        trouble=True,
        follows=("gpu/*/ecc/*/dram_uncorrected", "gpu/*/ecc/*/sram_uncorrected", "gpu/*/ecc/*/uncorrected"),
    )
    dram_corrected: Seen[int] = counter(
        "Memory that fails slows work down first: failing HBM has been taken for a fault of speculative decoding",
        "nvmlDeviceGetMemoryErrorCounter(0,SCOPE,2)",
        trouble=True,
        follows=("gpu/*/ecc/*/dram_corrected",),
    )
    dram_uncorrected: Seen[int] = counter(
        "The page is taken out of use at once, its row at the next reset",
        "nvmlDeviceGetMemoryErrorCounter(1,SCOPE,2)",
        trouble=True,
        follows=("gpu/*/ecc/*/dram_uncorrected",),
    )
    sram_corrected: Seen[int] = counter(
        "On-chip memory that needs correcting, which no spare rows can replace",
        "nvmlDeviceGetMemoryErrorCounter(0,SCOPE,7)",
        trouble=True,
        follows=("gpu/*/ecc/*/sram_corrected",),
    )
    sram_uncorrected: Seen[int] = counter(
        "SRAM cannot be remapped: repeated errors are a board to be returned",
        "nvmlDeviceGetMemoryErrorCounter(1,SCOPE,7)",
        trouble=True,
        follows=("gpu/*/ecc/*/sram_uncorrected",),
    )
    sram_uncorrected_parity: Seen[int] = counter(
        "Parity finds an error and cannot mend it: the structures that have nothing better",
        f"{_SRAM}.SCOPEUncParity",
    )
    sram_uncorrected_secded: Seen[int] = counter(
        "Two bits of one word at once, where one would have been mended", f"{_SRAM}.SCOPEUncSecDed"
    )


class SramSources(Section):
    """Where the aggregate uncorrected errors of SRAM arose."""

    l2: Seen[int] = counter("The cache that all multiprocessors share", f"{_SRAM}.aggregateUncBucketL2")
    sm: Seen[int] = counter("One multiprocessor's registers and caches", f"{_SRAM}.aggregateUncBucketSm")
    microcontroller: Seen[int] = counter(
        "The firmware's own processors: with them fails the GPU's management", f"{_SRAM}.aggregateUncBucketMcu"
    )
    pcie: Seen[int] = counter("The buffers of the host link", f"{_SRAM}.aggregateUncBucketPcie")
    other: Seen[int] = counter("Errors of no named place", f"{_SRAM}.aggregateUncBucketOther")


class Ecc(Section):
    """Names are those of `nvidia-smi --query-gpu`: ecc.mode.current is ecc/mode_current."""

    mode_current: Seen[str] = config(
        "On GDDR the check bits take part of the memory and of its bandwidth; HBM has room of its own for them",
        "nvmlDeviceGetEccMode.0",
        restore="nvidia-smi -i {key} -e $(echo {value} | tr a-z A-Z) # takes effect at the next reset or reboot",
    )
    mode_pending: Seen[str] = config(
        "Another value than the current one takes effect by itself at the next reset or reboot, not before",
        "nvmlDeviceGetEccMode.1",
        follows=("gpu/*/ecc/mode_current",),
        restore="nvidia-smi -i {key} -e $(echo {value} | tr a-z A-Z)",
    )
    mode_default: Seen[str] = identity(
        "Tells whether somebody chose the mode", "nvmlDeviceGetDefaultEccMode.0", context=True
    )
    volatile: EccErrors = EccErrors()
    aggregate: EccErrors = EccErrors()
    sram_sources: SramSources = SramSources()
    sram_threshold_exceeded: Seen[str] = state(
        "So many SRAM errors that the maker's field diagnosis would replace the board",
        f"{_SRAM}.bThresholdExceeded",
        settled="always",
    )


def read_ecc(device: Device) -> Ecc:
    return read_worded(
        Ecc,
        device,
        {
            "mode_current": ENABLED,
            "mode_pending": ENABLED,
            "mode_default": ENABLED,
            "sram_threshold_exceeded": YES,
        },
        volatile=_errors(device, "volatile", 0),
        aggregate=_errors(device, "aggregate", 1),
        sram_sources=read_each(SramSources, device.answer),
    )


def _errors(device: Device, scope: str, number: int) -> EccErrors:
    def read(source: str) -> Seen[Any]:
        return device.answer(source.replace(".SCOPE", f".{scope}").replace(",SCOPE", f",{number}"))

    return read_each(EccErrors, read)
