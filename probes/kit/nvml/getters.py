"""NVML's getters as the child calls them: by name, in an older form where a driver lacks the new one, answers plain.

Some wrappers of nvidia-ml-py want a struct from their caller, and some swallow the return code
(nvmlDeviceGetClockOffsets, nvmlDeviceGetPowerMizerMode_v1, nvmlSystemGetConfComputeSettings): those are called here,
and checked.
"""

from __future__ import annotations

import ctypes
from functools import cache

import pynvml

TYPE_CHECKING = False  # importing typing would cost a tenth of all this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

NO_FUNCTION, VERSION_MISMATCH = 13, 25
JSON_WORDS = {None: "null", True: "true", False: "false"}
VALUE_TYPES = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # NVML_VALUE_TYPE_*


def slot(bus_id: str) -> str:
    """The kernel's name of a PCI address: NVML writes the domain with eight digits, and capitals."""
    domain, _, rest = bus_id.partition(":")
    return f"{int(domain, 16):04x}:{rest.lower()}"


def plain(value: Any) -> Any:
    """What a wrapper returned, as JSON has it: a struct is an object of its fields, text is a string."""
    if isinstance(value, (int, str, float)) or value is None:
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, ctypes.Structure):
        return {name: _of_field(value, name, kind) for name, kind, *_ in value._fields_ if name != "version"}
    if isinstance(value, (ctypes.Array, list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return {name: plain(item) for name, item in vars(value).items()}


def _of_field(struct: ctypes.Structure, name: str, kind: Any) -> Any:
    value = ctypes.Structure.__getattribute__(struct, name)  # nvidia-ml-py's raises for bytes that are no UTF-8
    return ord(value) if kind is ctypes.c_char else plain(value)  # a number of one byte, as nvml.h has it


def json_of(value: Any) -> str:
    """Of what `plain` returns. The module json is imported for text that needs it alone: its own imports take as long
    as a thousand answers."""
    if type(value) is int:
        return repr(value)
    if isinstance(value, str):
        bare = value.isascii() and value.isprintable() and '"' not in value and "\\" not in value
        return f'"{value}"' if bare else _escaped(value)
    if isinstance(value, list):
        return f"[{','.join(map(json_of, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{json_of(name)}:{json_of(item)}' for name, item in value.items())}}}"
    return JSON_WORDS[value] if value is None or value is True or value is False else repr(value)


def _escaped(text: str) -> str:
    import json

    return json.dumps(text)


def number(field: Any) -> int | None:
    """A field's value, whole in the units that nvml.h has; None for a type that is newer, and for what is no number."""
    if field.valueType >= len(VALUE_TYPES):
        return None
    value: int | float = getattr(field.value, VALUE_TYPES[field.valueType])
    return round(value) if abs(value) < 1 << 64 else None  # neither NaN nor infinite


def getter(name: str, older: str | None) -> Callable[..., Any] | None:
    """The function that answers, in its older form where the driver lacks it; None where nobody knows it."""
    function = OWN.get(name) or getattr(pynvml, name, None)
    if function is None or older is None or not hasattr(pynvml, older):
        return function

    def either(*args: Any) -> Any:
        try:
            return function(*args)
        except pynvml.NVMLError as error:
            if error.value != NO_FUNCTION:
                raise
            return (OWN.get(older) or getattr(pynvml, older))(*args[: OLDER_ARGUMENTS.get(older)])

    return either


OLDER_ARGUMENTS = {"nvmlDeviceGetCpuAffinity": 2}


def struct(name: str, *forms: tuple[str, int]) -> Callable[..., Any]:
    """A getter that fills a struct. forms: (the struct's name, its version; 0 for none), the newest first.

    A dictionary as the last argument of a call sets fields that are arguments.
    """

    def read(*args: Any) -> Any:
        *handle, chosen = args if args and isinstance(args[-1], dict) else (*args, {})
        code = NO_FUNCTION
        for form, version in forms:
            if hasattr(pynvml, form):
                answer = _empty(getattr(pynvml, form), version, chosen)
                code = pynvml._nvmlGetFunctionPointer(name)(*handle, ctypes.byref(answer))
            if not code:
                return answer
            if code != VERSION_MISMATCH:
                break
        raise pynvml.NVMLError(code)

    return read


def _empty(kind: Any, version: int, chosen: Mapping[str, Any]) -> Any:
    answer = kind()
    if version:
        answer.version = ctypes.sizeof(kind) | version << 24
    for field, value in chosen.items():
        setattr(answer, field, value)
    return answer


class Field(ctypes.Structure):
    """nvidia-ml-py's, without its way to members: for thousands of these that was a tenth of a pass."""

    _fields_ = pynvml.c_nvmlFieldValue_t._fields_


def field_values(handle: Any, fields: Sequence[tuple[int, int]]) -> Any:
    """fields: (id, scope)."""
    values = (Field * len(fields))(*fields)  # type: ignore[misc]  # a tuple fills the first members
    if code := pynvml._nvmlGetFunctionPointer("nvmlDeviceGetFieldValues")(handle, len(fields), ctypes.byref(values)):
        raise pynvml.NVMLError(code)
    return values


OLDER_OFFSETS = {0: "nvmlDeviceGetGpcClkVfOffset", 2: "nvmlDeviceGetMemClkVfOffset"}


def clock_offsets(handle: Any, clock: int, pstate: int) -> Any:
    """R560 brought it; from R515 on there is a function for each of two clocks, and one offset for all states."""
    try:
        return struct("nvmlDeviceGetClockOffsets", ("c_nvmlClockOffset_t", 1))(
            handle, {"type": clock, "pstate": pstate}
        )
    except pynvml.NVMLError as error:
        older = getattr(pynvml, OLDER_OFFSETS.get(clock, ""), None)
        if error.value != NO_FUNCTION or older is None:
            raise
        return {"clockOffsetMHz": older(handle)}


def memory_info(handle: Any) -> Any:
    """Of version 2, which tells what the driver reserves; version 1 counts that as used."""
    try:
        return struct("nvmlDeviceGetMemoryInfo_v2", ("c_nvmlMemory_v2_t", 2))(handle)
    except pynvml.NVMLError as error:
        if error.value not in (NO_FUNCTION, VERSION_MISMATCH):
            raise
        return pynvml.nvmlDeviceGetMemoryInfo(handle)


LONGER_STRUCT = (535, 43), (535, 98)
"""Since when, and until when: drivers whose v3 of a process list filled a longer struct, by the same name."""


def running(kind: str) -> Callable[..., Any]:
    """Processes by version 3; by version 2 where 3 would make pids of memory sizes (XuehaiPan/nvitop#79, #89)."""

    def read(handle: Any) -> Any:
        first, fixed = LONGER_STRUCT
        version = 2 if first <= _driver() < fixed else 3
        return getattr(pynvml, f"nvmlDeviceGet{kind}RunningProcesses_v{version}")(handle)

    return read


@cache
def _driver() -> tuple[int, ...]:
    """The library tells it without asking a GPU."""
    try:
        version = plain(pynvml.nvmlSystemGetDriverVersion())
    except pynvml.NVMLError:
        return ()
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def unrepairable_memory(handle: Any) -> Any:
    """nvml.h has one word, nvidia-ml-py a version before it: the flag is in whichever the library wrote."""
    version = 8 | 1 << 24
    told = (ctypes.c_uint * 2)(version, 0)
    if code := pynvml._nvmlGetFunctionPointer("nvmlDeviceGetUnrepairableMemoryFlag_v1")(handle, told):
        raise pynvml.NVMLError(code)
    return told[1] if told[0] == version else told[0]


OWN: Mapping[str, Callable[..., Any]] = {
    "nvmlDeviceGetClockOffsets": clock_offsets,
    "nvmlDeviceGetMemoryInfo": memory_info,
    "nvmlDeviceGetUnrepairableMemoryFlag_v1": unrepairable_memory,
    "nvmlDeviceGetComputeRunningProcesses_v3": running("Compute"),
    "nvmlDeviceGetGraphicsRunningProcesses_v3": running("Graphics"),
    "nvmlDeviceGetMPSComputeRunningProcesses_v3": running("MPSCompute"),
    "nvmlDeviceGetPlatformInfo": struct(
        "nvmlDeviceGetPlatformInfo", ("c_nvmlPlatformInfo_v2_t", 2), ("c_nvmlPlatformInfo_v1_t", 1)
    ),
    "nvmlDeviceGetGpuFabricInfoV": struct(
        "nvmlDeviceGetGpuFabricInfoV", ("c_nvmlGpuFabricInfo_v3_t", 3), ("c_nvmlGpuFabricInfo_v2_t", 2)
    ),
    "nvmlDeviceGetGpuFabricInfo": struct("nvmlDeviceGetGpuFabricInfo", ("c_nvmlGpuFabricInfo_t", 0)),
    "nvmlDeviceGetSramEccErrorStatus": struct("nvmlDeviceGetSramEccErrorStatus", ("c_nvmlEccSramErrorStatus_v1_t", 1)),
    "nvmlSystemGetConfComputeSettings": struct(
        "nvmlSystemGetConfComputeSettings", ("c_nvmlSystemConfComputeSettings_v1_t", 1)
    ),
    "nvmlDeviceGetPowerMizerMode_v1": struct("nvmlDeviceGetPowerMizerMode_v1", ("c_nvmlDevicePowerMizerModes_v1_t", 0)),
    "nvmlDeviceGetNvlinkBwMode": struct("nvmlDeviceGetNvlinkBwMode", ("c_nvmlNvlinkGetBwMode_v1_t", 1)),
    "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles": struct(
        "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles", ("c_nvmlWorkloadPowerProfileCurrentProfiles_v1_t", 1)
    ),
}
