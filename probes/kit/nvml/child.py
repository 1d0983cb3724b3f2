"""The process that calls NVML. It is exec'd by its path, and may be left behind: a call that never returns, or
crashes the interpreter, takes nobody with it.

    python -I -S child.py PYNVML_FOLDER LIBRARY LOCK_FD ANSWERS_FD snapshot|sample  < inquiry

The inquiry is one line of JSON. Every answer is a line, [device, key, value] or [device, key, null, code, words],
written before the next call is made; before each call, the lock's file is told which one it is. Answers go into a
file in memory: a pipe would wake its reader for each of thousands. On standard output stands only `end`, or `busy`
where somebody else has the lock. In mode `sample` each further line of standard input asks for a sample, whose
answers replace the last one's; the end of it, or SIGTERM, releases the GPUs.

No setter of NVML is named here or in the inquiry.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import sys
import time
import types
from contextlib import suppress
from ctypes import CDLL

TYPE_CHECKING = False  # importing typing would cost a tenth of all this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    Known = dict[str, Any]  # what one device answered: function -> value


def _find_library(name: str) -> str | None:
    """In place of ctypes.util's until somebody calls it: nvidia-ml-py imports it for other systems' sake, and it
    brings shutil, tempfile and subprocess, a third of the whole start."""
    del sys.modules["ctypes.util"]
    from ctypes.util import find_library

    return find_library(name)


if __name__ == "__main__":
    # -S leaves site-packages out, and with it what a .pth file would do here.
    sys.path += [sys.argv[1], __file__.rpartition("/probes/")[0]]
    sys.modules["ctypes.util"] = types.ModuleType("ctypes.util")
    sys.modules["ctypes.util"].find_library = _find_library  # type: ignore[attr-defined]

import pynvml  # noqa: E402

from probes.kit.nvml.getters import NO_FUNCTION, getter, key_of, number, plain, slot  # noqa: E402

LOCK_WAIT_SECONDS = 0.1
TIMEOUT, NO_LIBRARY, NOT_NVML = 10, 12, -1
LAZY = 1  # NVML_INIT_FLAG_NO_GPUS: no failure where there are none; GPUs are attached by their handles
FIELDS = "nvmlDeviceGetFieldValues"


class Told(Exception):
    """A call's failure: NVML's code, or -1, and words."""


class Released(Exception):
    """Whoever listens wants no more."""


class Asked:
    """A call of the inquiry, ready to be made. key: of its answer; keys, fields: of each field that it asks for."""

    def __init__(self, name: str, args: Sequence[Any], function: Callable[..., Any] | None) -> None:
        self.name, self.args, self.function = name, args, function
        self.key = key_of(name, args)
        if name == FIELDS:
            self.fields = [(field, 0) if isinstance(field, int) else tuple(field) for field in args]
            self.keys = [key_of(name, (field, scope) if scope else (field,)) for field, scope in self.fields]


def main() -> None:
    library, lock, answers, mode = sys.argv[2:6]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The client of nvidia-persistenced allocates by this limit: 52 GB were seen (NVIDIA/nvidia-container-toolkit#1053).
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, soft if soft > 0 else 1024), hard))
    nvml = Nvml(int(lock), int(answers), json.loads(sys.stdin.readline()))
    signal.signal(signal.SIGTERM, nvml.release)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        nvml.open(library)
        (nvml.snapshot if mode == "snapshot" else nvml.sample)()
    except Told as told:
        nvml.fail("", "nvmlInit", told)
        nvml.end("end")
    except (Released, BrokenPipeError):
        pass
    finally:
        nvml.close()
    os._exit(0)  # the interpreter's own end would take longer than the answers


class Nvml:
    """One life of the library: opened, asked, shut down."""

    devices: dict[str, Any]  # key -> handle
    spent: dict[str, float]  # device -> seconds
    known_words: dict[int, str]  # return code -> NVML's text

    def __init__(self, lock: int, answers: int, inquiry: Mapping[str, Any]) -> None:
        self.lock = lock
        self.holds_lock = True
        self.answers = answers
        self.inquiry = inquiry
        self.budget = inquiry["gpu_budget"]
        self.released = False
        self.idle = False
        self.opened = False
        self.devices = {}
        self.spent = {}
        self.known_words = {}
        self.pid = os.getpid()

    def release(self, *_: object) -> None:
        """At once between two samples, else before the next call."""
        self.released = True
        if self.idle:
            raise Released

    def say(self, device: str, key: str, value: object) -> None:
        text = value if type(value) is int else json.dumps(value)
        os.write(self.answers, f'["{device}","{key}",{text}]\n'.encode())

    def fail(self, device: str, key: str, told: Told) -> None:
        code, words = told.args
        os.write(self.answers, f'["{device}","{key}",null,{code},{json.dumps(words)}]\n'.encode())

    def end(self, how: str) -> None:
        os.write(1, how.encode() + b"\n")

    def mark(self, device: str, key: str) -> None:
        """Tells everybody which call is under way, since when; `-` is none."""
        with suppress(OSError):  # a full disk keeps nobody from the answers
            os.pwrite(self.lock, f"{self.pid} {time.time():.3f} {key} {device}\n".encode(), 0)

    def open(self, library: str) -> None:
        self.mark("", "nvmlInit")
        try:
            pynvml.nvmlLib = CDLL(library)  # its own loader tells no reason
        except OSError as error:
            raise Told(NO_LIBRARY, str(error)) from None
        self.call(pynvml.nvmlInitWithFlags, LAZY)
        self.opened = True
        self.say("", "nvmlInit", True)

    def close(self) -> None:
        """The end of the process releases the GPUs too: where somebody else has the lock, perhaps hung, this is all."""
        if not self.holds_lock and not self.locked():
            return
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
            raise Told(error.value, self.words(error.value)) from None
        except Exception as error:  # noqa: BLE001  # one wrapper's trouble is one answer
            raise Told(NOT_NVML, f"{type(error).__name__}: {error}") from None

    def words(self, code: int) -> str:
        """NVML's own, asked for once: a device without a feature answers with the same code a hundred times."""
        if code not in self.known_words:
            self.known_words[code] = str(pynvml.NVMLError(code))
        return self.known_words[code]

    def ask(self, device: str, keys: Sequence[str], function: Callable[..., Any], *args: Any) -> Any:
        """One call, marked; its value, or None: then why is told under all of `keys`."""
        if self.released:
            raise Released
        try:
            return self.timed(device, keys[0], function, *args)
        except Told as told:
            for key in keys:
                self.fail(device, key, told)
            return None

    def timed(self, device: str, key: str, function: Callable[..., Any], *args: Any) -> Any:
        spent = self.spent.get(device, 0.0)
        if device and spent > self.budget:
            raise Told(TIMEOUT, f"not asked, because this GPU had taken {self.budget:g} s before")
        self.mark(device, key)
        began = time.monotonic()
        try:
            return self.call(function, *args)
        finally:
            self.spent[device] = spent + time.monotonic() - began

    def asked(self, calls: Iterable[Sequence[Any]]) -> list[Asked]:
        """The calls of the inquiry, ready to be made of any device."""
        older = self.inquiry["fallbacks"]
        return [Asked(name, args, None if name == FIELDS else getter(name, older.get(name))) for name, args in calls]

    def get(self, device: str, handle: Any, call: Asked) -> Any:
        """One getter's answer, told; the system's have no handle."""
        if call.name == FIELDS:
            return self.fields(device, handle, call)
        if call.function is None:
            return self.fail(device, call.key, Told(NO_FUNCTION, "this nvidia-ml-py does not know it"))
        value = self.ask(device, [call.key], call.function, *(() if handle is None else (handle,)), *call.args)
        if value is not None:
            value = plain(value)
            self.say(device, call.key, value)
        return value

    def fields(self, device: str, handle: Any, call: Asked) -> Known:
        """Many field values by one call; each is told under its own key."""
        found: Known = {}
        answer = self.ask(device, call.keys, pynvml.nvmlDeviceGetFieldValues, handle, call.fields) or ()
        for key, value in zip(call.keys, answer, strict=False):
            if value.nvmlReturn:
                self.fail(device, key, Told(value.nvmlReturn, self.words(value.nvmlReturn)))
            elif (told := number(value)) is None:
                self.fail(device, key, Told(NOT_NVML, f"a value of type {value.valueType} that is no number"))
            else:
                found[key] = told
                self.say(device, key, told)
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
        pci = self.ask(name, ["nvmlDeviceGetPciInfo_v3"], pynvml.nvmlDeviceGetPciInfo_v3, handle)
        return name if pci is None else slot(plain(pci.busId))

    def snapshot(self) -> None:
        for call in self.asked(self.inquiry["system"]):
            self.get("", None, call)
        self.attach()
        known: dict[str, Known] = {device: {} for device in self.devices}
        for phase in self.inquiry["phases"]:
            calls = self.asked(phase)
            for device, handle in self.devices.items():
                for call in calls:
                    value = self.get(device, handle, call)
                    known[device].update(value if call.name == FIELDS else {call.name: value})
        self.mig(known)
        self.links(known)
        self.pairs()
        for device in self.devices:
            self.say(device, "spent", round(self.spent[device] * 1000, 3))
        self.end("end")

    def mig(self, known: Mapping[str, Known]) -> None:
        calls = self.asked(self.inquiry["mig_device"])
        for device, handle in self.devices.items():
            mode = known[device].get("nvmlDeviceGetMigMode")
            most = known[device].get("nvmlDeviceGetMaxMigDeviceCount") if mode and mode[0] else 0
            for index in range(most or 0):
                key = key_of("nvmlDeviceGetMigDeviceHandleByIndex", (index,))
                instance = self.ask(device, [key], pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
                for call in calls if instance is not None else ():
                    self.get(f"{device}/mig/{index}", instance, call)

    def links(self, known: Mapping[str, Known]) -> None:
        count_of = key_of(FIELDS, (self.inquiry["link_count_field"],))
        counts = {device: known[device].get(count_of) or 0 for device in self.devices}
        names, fields = self.inquiry["link"], self.inquiry["link_fields"]
        for link in range(max(counts.values(), default=0)):
            calls = self.asked([*((name, [link]) for name in names), (FIELDS, [(field, link) for field in fields])])
            for device, handle in self.devices.items():
                for call in calls if link < counts[device] else ():
                    self.get(device, handle, call)

    def pairs(self) -> None:
        names = sorted(self.devices)
        for at, device in enumerate(names):
            for other in names[at + 1 :]:
                both = self.devices[device], self.devices[other]
                for name, args in self.inquiry["peer"]:
                    key = key_of(name, (other, *args))
                    value = self.ask(device, [key], getattr(pynvml, name), *both, *args)
                    if value is not None:
                        self.say(device, key, plain(value))

    def sample(self) -> None:
        self.attach()
        calls = self.asked(self.inquiry["sample"])
        self.pause("end")
        while self.asked_again():
            if not self.locked():
                self.end("busy")
                continue
            self.spent.clear()
            os.ftruncate(self.answers, os.lseek(self.answers, 0, os.SEEK_SET))
            for device, handle in self.devices.items():
                for call in calls:
                    self.get(device, handle, call)
            self.pause("end")

    def asked_again(self) -> bool:
        """Waits for another line, until the end of input or a release."""
        self.idle = True
        try:
            return not self.released and bool(sys.stdin.readline())
        finally:
            self.idle = False

    def pause(self, how: str) -> None:
        """Between two samples the GPUs stay attached, and others may ask them."""
        self.end(how)
        self.mark("", "-")
        fcntl.flock(self.lock, fcntl.LOCK_UN)
        self.holds_lock = False

    def locked(self) -> bool:
        deadline = time.monotonic() + LOCK_WAIT_SECONDS
        while time.monotonic() < deadline:
            with suppress(BlockingIOError):
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.holds_lock = True
                return True
            time.sleep(0.005)
        return False


if __name__ == "__main__":
    main()
