"""From NVML's return codes to gaps: a total map, held against pynvml's constants by a test."""

from collections.abc import Mapping

from probes.kit.facts import Gap, GapCode

GAPS: Mapping[int, GapCode] = {
    1: "failed",  # UNINITIALIZED
    2: "unsupported",  # INVALID_ARGUMENT: an enumerator that this driver does not know
    3: "unsupported",  # NOT_SUPPORTED: of this device, driver or port
    4: "denied",  # NO_PERMISSION
    5: "failed",  # ALREADY_INITIALIZED
    6: "absent",  # NOT_FOUND
    7: "failed",  # INSUFFICIENT_SIZE: what was asked for grew while it was asked
    8: "failed",  # INSUFFICIENT_POWER: a power cable is not attached
    9: "absent",  # DRIVER_NOT_LOADED
    10: "timed_out",  # TIMEOUT
    11: "failed",  # IRQ_ISSUE
    12: "not_observable",  # LIBRARY_NOT_FOUND: missing, or no library for this machine; GPUs may well be there
    13: "unsupported",  # FUNCTION_NOT_FOUND: this driver is too old for it
    14: "failed",  # CORRUPTED_INFOROM
    15: "lost",  # GPU_IS_LOST: fallen off the bus
    16: "lost",  # RESET_REQUIRED: there, and unusable until it is reset
    17: "denied",  # OPERATING_SYSTEM: blocked, as by a cgroup's device rules
    18: "failed",  # LIB_RM_VERSION_MISMATCH: the library was upgraded, the module that runs was not
    19: "failed",  # IN_USE
    20: "failed",  # MEMORY
    21: "failed",  # NO_DATA: for the moment; it is no value, and not the absence of the thing
    22: "unsupported",  # VGPU_ECC_NOT_SUPPORTED
    23: "failed",  # INSUFFICIENT_RESOURCES
    24: "unsupported",  # FREQ_NOT_SUPPORTED
    25: "unsupported",  # ARGUMENT_VERSION_MISMATCH: no version of the struct is known to both sides
    26: "retired",  # DEPRECATED
    27: "settling",  # NOT_READY
    28: "lost",  # GPU_NOT_FOUND
    29: "failed",  # INVALID_STATE
    30: "unsupported",  # RESET_TYPE_NOT_SUPPORTED
    999: "failed",  # UNKNOWN: at init, typical of a container that lost its devices to a daemon-reload
}


EXPECTED = ("unsupported", "absent", "retired")
NO_FUNCTION = 13
BARE = {code: Gap(gap) for code, gap in GAPS.items() if gap in EXPECTED and code != NO_FUNCTION}


def gap_of(code: int, words: str, key: str) -> Gap:
    """The gap for a call's return code; one of a newer NVML is `failed`. words: NVML's own text.

    What a device simply does not have is said without words: a snapshot holds hundreds of such gaps. What the driver
    does not have, another driver may.
    """
    if code in BARE and key.startswith("nvmlDevice"):
        return BARE[code]
    return Gap(GAPS.get(code, "failed"), f"{key}: {words}" + (f" (NVML {code})" if code > 0 else ""))
