"""The process that calls NVML. It is exec'd by its path and imports nothing of ours: a call that never returns, or
crashes the interpreter, takes nobody with it.

    python -I -S child.py PYNVML_FOLDER LIBRARY LOCK_FD snapshot|sample  < inquiry

The inquiry is one line of JSON. Every answer is a line, [device, key, value] or [device, key, null, code, words],
written before the next call is made; before each call, the lock's file is told which one it is. In mode `sample`
each further line of standard input asks for a sample, and the end of it, or SIGTERM, releases the GPUs.

No setter of NVML is named here or in the inquiry.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import signal
import sys
import time
from contextlib import suppress

if __name__ == "__main__":
    sys.path.append(sys.argv[1])  # -S leaves site-packages out, and with it what a .pth file would do here

import pynvml

TYPE_CHECKING = False  # importing typing would cost a tenth of all this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    Args = Sequence[Any]
    Known = dict[Any, Any]  # what one device answered: getter or field id -> value

MARK_BYTES = 160
LOCK_WAIT_SECONDS = 0.1
TIMEOUT, NO_LIBRARY, NO_FUNCTION, VERSION_MISMATCH, NOT_NVML = 10, 12, 13, 25, -1
LAZY = 1  # NVML_INIT_FLAG_NO_GPUS: no failure where there are none; GPUs are attached by their handles
VALUE_TYPES = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # NVML_VALUE_TYPE_*
SILENT = {"version", "reserved"}


class Told(Exception):
    """A call's failure: NVML's code, or -1, and words."""


class Released(Exception):
    """Whoever listens wants no more."""


def main() -> None:
    library, lock, mode = sys.argv[2:5]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The client of nvidia-persistenced allocates by this limit: 52 GB were seen (NVIDIA/nvidia-container-toolkit#1053).
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, soft if soft > 0 else 1024), hard))
    nvml = Nvml(int(lock), json.loads(sys.stdin.readline()))
    signal.signal(signal.SIGTERM, nvml.release)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        nvml.open(library)
        (nvml.snapshot if mode == "snapshot" else nvml.sample)()
    except Told as told:
        nvml.say("", "nvmlInit", None, *told.args)
    except (Released, BrokenPipeError):
        pass
    finally:
        nvml.close()
    os._exit(0)  # the interpreter's own end would take longer than the answers


class Nvml:
    """One life of the library: opened, asked, shut down."""

    devices: dict[str, Any]  # key -> handle
    spent: dict[str, float]  # device -> seconds

    def __init__(self, lock: int, inquiry: Mapping[str, Any]) -> None:
        self.lock = lock
        self.inquiry = inquiry
        self.released = False
        self.opened = False
        self.devices = {}
        self.spent = {}
        self.pid = os.getpid()

    def release(self, *_: object) -> None:
        self.released = True

    def say(self, *answer: object) -> None:
        os.write(1, json.dumps(answer).encode() + b"\n")

    def mark(self, device: str, key: str) -> None:
        """Tells everybody which call is under way, since when; `-` is none."""
        text = f"{self.pid} {time.time():.3f} {key} {device}"
        with suppress(OSError):  # a full disk keeps nobody from the answers
            os.pwrite(self.lock, text[: MARK_BYTES - 1].ljust(MARK_BYTES - 1).encode("ascii", "replace") + b"\n", 0)

    def open(self, library: str) -> None:
        self.mark("", "nvmlInit")
        try:
            pynvml.nvmlLib = ctypes.CDLL(library)  # its own loader tells no reason
        except OSError as error:
            raise Told(NO_LIBRARY, str(error)) from None
        self.call(pynvml.nvmlInitWithFlags, LAZY)
        self.opened = True
        self.say("", "nvmlInit", True)

    def close(self) -> None:
        if self.opened:
            self.mark("", "nvmlShutdown")
            with suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()
        self.mark("", "-")

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Raises Told."""
        try:
            return function(*args)
        except pynvml.NVMLError as error:
            raise Told(error.value, str(error)) from None
        except Exception as error:  # noqa: BLE001  # one wrapper's trouble is one answer
            raise Told(NOT_NVML, f"{type(error).__name__}: {error}") from None

    def ask(self, device: str, keys: Sequence[str], function: Callable[..., Any], *args: Any) -> Any:
        """One call, marked; its value, or None: then why is told under all of `keys`."""
        if self.released:
            raise Released
        try:
            return self.timed(device, keys[0], function, *args)
        except Told as told:
            for key in keys:
                self.say(device, key, None, *told.args)
            return None

    def timed(self, device: str, key: str, function: Callable[..., Any], *args: Any) -> Any:
        spent, most = self.spent.get(device, 0.0), self.inquiry["gpu_budget"]
        if device and spent > most:
            raise Told(TIMEOUT, f"not asked, because this GPU had taken {most:g} s before")
        self.mark(device, key)
        began = time.monotonic()
        try:
            return self.call(function, *args)
        finally:
            self.spent[device] = spent + time.monotonic() - began

    def get(self, device: str, handle: Args, name: str, args: Args = ()) -> Any:
        """One getter's answer, told."""
        key = key_of(name, args)
        function = getter(name, self.inquiry["fallbacks"].get(name))
        if function is None:
            self.say(device, key, None, NO_FUNCTION, "this nvidia-ml-py does not know it")
            return None
        value = self.ask(device, [key], function, *handle, *args)
        if value is not None:
            value = plain(value)
            self.say(device, key, value)
        return value

    def fields(self, device: str, handle: Args, ids: Args) -> Known:
        """Many field values by one call; each is told under its own key."""
        keys = [key_of("nvmlDeviceGetFieldValues", (i,) if isinstance(i, int) else i) for i in ids]
        pairs = [(i, 0) if isinstance(i, int) else tuple(i) for i in ids]
        answer = self.ask(device, keys, pynvml.nvmlDeviceGetFieldValues, *handle, pairs)
        found: Known = {}
        for key, (number, _), value in zip(keys, pairs, answer or (), strict=False):
            if value.nvmlReturn:
                self.say(device, key, None, value.nvmlReturn, "nvmlDeviceGetFieldValues")
            else:
                found[number] = getattr(value.value, VALUE_TYPES[value.valueType])
                self.say(device, key, found[number])
        return found

    def attach(self) -> None:
        """Handles of the devices that the inquiry names; of all, where it names none."""
        if named := self.inquiry["devices"]:
            handles = [(name, pynvml.nvmlDeviceGetHandleByPciBusId, name.encode()) for name in named]
        else:
            count = self.ask("", ["nvmlDeviceGetCount"], pynvml.nvmlDeviceGetCount) or 0
            handles = [(f"index {i}", pynvml.nvmlDeviceGetHandleByIndex, i) for i in range(count)]
        for name, function, argument in handles:
            handle = self.ask(name, ["nvmlDeviceGetHandle"], function, argument)
            if handle is not None:
                device = name if named else self.slot(name, handle)
                self.devices[device] = handle
                self.say(device, "nvmlDeviceGetHandle", True)

    def slot(self, name: str, handle: Any) -> str:
        pci = self.ask(name, ["nvmlDeviceGetPciInfo"], pynvml.nvmlDeviceGetPciInfo_v3, handle)
        return name if pci is None else slot(plain(pci.busId))

    def snapshot(self) -> None:
        for name, args in self.inquiry["system"]:
            self.get("", (), name, args)
        self.attach()
        known: dict[str, Known] = {}
        for phase in self.inquiry["phases"]:
            for device, handle in self.devices.items():
                known.setdefault(device, {}).update(self.phase(device, handle, phase))
        for device, handle in self.devices.items():
            self.mig(device, handle, known[device])
        for device, handle in self.devices.items():
            self.links(device, handle, known[device].get(self.inquiry["link_count_field"]))
        self.pairs()
        for device in self.devices:
            self.say(device, "spent", round(self.spent[device] * 1000, 3))
        self.say("", "end", True)

    def phase(self, device: str, handle: Any, calls: Iterable[tuple[str, Args]]) -> Known:
        known: Known = {}
        for name, args in calls:
            if name == "nvmlDeviceGetFieldValues":
                known.update(self.fields(device, (handle,), args))
            else:
                known[name] = self.get(device, (handle,), name, args)
        return known

    def mig(self, device: str, handle: Any, known: Known) -> None:
        mode = known.get("nvmlDeviceGetMigMode")
        if not mode or not mode[0]:
            return
        for index in range(known.get("nvmlDeviceGetMaxMigDeviceCount") or 0):
            self.mark(device, "nvmlDeviceGetMigDeviceHandleByIndex")
            try:
                instance = self.call(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
            except Told as told:
                self.say(device, key_of("nvmlDeviceGetMigDeviceHandleByIndex", (index,)), None, *told.args)
                continue
            for name, args in self.inquiry["mig_device"]:
                self.get(f"{device}/mig/{index}", (instance,), name, args)

    def links(self, device: str, handle: Any, count: int | None) -> None:
        for link in range(count or 0):
            for name in self.inquiry["link"]:
                self.get(device, (handle,), name, (link,))
            self.fields(device, (handle,), [(field, link) for field in self.inquiry["link_fields"]])

    def pairs(self) -> None:
        names = sorted(self.devices)
        for at, device in enumerate(names):
            for other in names[at + 1 :]:
                for name, args in self.inquiry["peer"]:
                    key = key_of(name, (other, *args))
                    both = self.devices[device], self.devices[other]
                    value = self.ask(device, [key], getattr(pynvml, name), *both, *args)
                    if value is not None:
                        self.say(device, key, plain(value))

    def sample(self) -> None:
        self.attach()
        self.say("", "end", True)
        self.mark("", "-")
        fcntl.flock(self.lock, fcntl.LOCK_UN)
        while not self.released and sys.stdin.readline():
            if not self.locked():
                self.say("", "end", False)
                continue
            self.spent.clear()
            for device, handle in self.devices.items():
                self.phase(device, handle, self.inquiry["sample"])
            self.say("", "end", True)
            self.mark("", "-")
            fcntl.flock(self.lock, fcntl.LOCK_UN)

    def locked(self) -> bool:
        deadline = time.monotonic() + LOCK_WAIT_SECONDS
        while time.monotonic() < deadline:
            with suppress(BlockingIOError):
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            time.sleep(0.005)
        return False


def slot(bus_id: str) -> str:
    """The kernel's name of a PCI address: NVML writes the domain with eight digits, and capitals."""
    domain, _, rest = bus_id.partition(":")
    return f"{int(domain, 16):04x}:{rest.lower()}"


def key_of(name: str, args: Args = ()) -> str:
    return f"{name}({','.join(map(str, args))})" if args else name


def plain(value: Any) -> Any:
    """What a wrapper returned, as JSON has it: a struct is an object of its fields, text is a string."""
    if isinstance(value, (int, str, float)) or value is None:
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, ctypes.Structure):
        return {name: plain(getattr(value, name)) for name, *_ in value._fields_ if name not in SILENT}
    if isinstance(value, (ctypes.Array, list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return {name: plain(item) for name, item in vars(value).items()}


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
            return getattr(pynvml, older)(*args[: OLDER_ARGUMENTS.get(older)])

    return either


OLDER_ARGUMENTS = {"nvmlDeviceGetCpuAffinity": 2}


def struct(name: str, *forms: tuple[str, int]) -> Callable[..., Any]:
    """A getter that fills a struct: the wrappers want it from their caller, and some swallow the return code.

    forms: (struct's name, version), the newest first; `fill` sets fields that are arguments.
    """

    def read(*args: Any) -> Any:
        *handle, chosen = args if args and isinstance(args[-1], dict) else (*args, {})
        for form, version in forms:
            kind = getattr(pynvml, form, None)
            if kind is None:
                continue
            answer = kind()
            if version:
                answer.version = ctypes.sizeof(kind) | version << 24
            for field, value in chosen.items():
                setattr(answer, field, value)
            code = pynvml._nvmlGetFunctionPointer(name)(*handle, ctypes.byref(answer))
            if code == VERSION_MISMATCH and (form, version) != forms[-1]:
                continue
            if code:
                raise pynvml.NVMLError(code)
            return answer
        raise pynvml.NVMLError(NO_FUNCTION)

    return read


def clock_offsets(handle: Any, clock: int, pstate: int) -> Any:
    return struct("nvmlDeviceGetClockOffsets", ("c_nvmlClockOffset_t", 1))(handle, {"type": clock, "pstate": pstate})


def memory_info(handle: Any) -> Any:
    """Of version 2, which tells what the driver reserves; version 1 counts that as used."""
    try:
        return struct("nvmlDeviceGetMemoryInfo_v2", ("c_nvmlMemory_v2_t", 2))(handle)
    except pynvml.NVMLError as error:
        if error.value not in (NO_FUNCTION, VERSION_MISMATCH):
            raise
        return pynvml.nvmlDeviceGetMemoryInfo(handle)


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
    "nvmlDeviceGetNvlinkBwMode": struct("nvmlDeviceGetNvlinkBwMode", ("c_nvmlNvlinkGetBwMode_v1_t", 1)),
    "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles": struct(
        "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles", ("c_nvmlWorkloadPowerProfileCurrentProfiles_v1_t", 1)
    ),
}

if __name__ == "__main__":
    main()
