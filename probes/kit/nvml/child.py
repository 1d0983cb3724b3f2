"""The process that calls NVML. It is exec'd, and may be left behind: a call that never returns, or crashes the
interpreter, takes nobody with it.

    start.py's START LIBRARY LOCK_FD ANSWERS_FD BUDGET GPU_BUDGET snapshot|sample [DEVICE...]

What is asked stands in inquiry.py. Every answer is a line of JSON, [device, key, value] or [device, key, null, code,
words], written before the next call is made; before each call, the lock's file is told which one it is. Answers go
into a file in memory: a pipe would wake its reader for each of thousands. On standard output stands only `end`, or
`busy` where somebody else has the lock. In mode `sample` each line of standard input asks for a sample, whose answers
replace the last one's; the end of it, or SIGTERM, releases the GPUs.

No setter of NVML is named here or in the inquiry.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # signal's enumerations bring enum
import fcntl
import os
import resource
import sys
import time
from contextlib import suppress
from ctypes import CDLL

import pynvml

from probes.kit.nvml import inquiry
from probes.kit.nvml.getters import NO_FUNCTION, field_values, getter, json_of, number, plain, slot
from probes.kit.nvml.inquiry import FIELDS, counted, key_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    Known = dict[str, Any]  # what one device answered: function -> value

LOCK_WAIT_SECONDS = 0.1
GRACE_SECONDS = 0.5  # its asker gives up first, and says what hung
MOST_BYTES = 64 << 20  # of answers: 16 GPUs with all there is give 2 MB
TIMEOUT, NO_LIBRARY, NOT_NVML = 10, 12, -1
TRANSIENT = (19, 27)  # IN_USE, NOT_READY
INIT = "nvmlInit"
LAZY = 1  # NVML_INIT_FLAG_NO_GPUS: no failure where there are none; GPUs are attached by their handles


class Released(Exception):
    """Whoever listens wants no more."""


class Asked:
    """A call, ready to be made. keys: of its answer; where it asks for fields, of each."""

    def __init__(self, name: str, args: Sequence[Any]) -> None:
        self.name, self.args = name, args
        self.keys = [key_of(name, tuple(args))]
        self.function = getter(name, inquiry.FALLBACKS.get(name))
        if name == FIELDS:
            fields = [(field, 0) if isinstance(field, int) else field for field in args]
            self.args = (fields,)
            self.keys = [key_of(name, (field, scope) if scope else (field,)) for field, scope in fields]


def main(library: str, lock: str, answers: str, budget: str, gpu_budget: str, mode: str, *devices: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The client of nvidia-persistenced allocates by this limit: 52 GB were seen (NVIDIA/nvidia-container-toolkit#1053).
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, soft if soft > 0 else 1024), hard))
    # Whatever a library answers: what it is asked ends, though nobody is left who could end it.
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
    deadline = time.monotonic() + float(budget) + GRACE_SECONDS if mode == "snapshot" else sys.float_info.max
    nvml = Nvml(int(lock), int(answers), deadline, float(gpu_budget), devices)
    signal.signal(signal.SIGTERM, nvml.release)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        if not nvml.open(library):
            nvml.end("end")
        elif mode == "snapshot":
            nvml.snapshot()
        else:
            nvml.sample()
    except (Released, OSError):  # nobody listens any more, or it has become too much
        pass
    finally:
        nvml.close()
    os._exit(0)  # the interpreter's own end would take longer than the answers


class Nvml:
    """One life of the library: opened, asked, shut down."""

    handles: dict[str, Any]  # device -> handle
    spent: dict[str, float]  # device -> seconds
    known_words: dict[int, str]  # return code -> NVML's text

    def __init__(self, lock: int, answers: int, deadline: float, budget: float, devices: Sequence[str]) -> None:
        """deadline: of all, on the monotonic clock. budget: seconds for the calls about one GPU. devices: those to
        attach; none: all that NVML lists."""
        self.lock = lock
        self.holds_lock = True
        self.answers = answers
        self.deadline = deadline
        self.budget = budget
        self.devices = devices
        self.released = False
        self.idle = False
        self.opened = False
        self.handles = {}
        self.spent = {}
        self.known_words = {}
        self.pid = os.getpid()

    def release(self, *_: object) -> None:
        """At once between two samples, else before the next call."""
        self.released = True
        if self.idle:
            raise Released

    def say(self, device: str, key: str, value: object) -> None:
        self.write(_answer(device, key, value))

    def fail(self, device: str, keys: Iterable[str], code: int, words: str) -> None:
        """code: NVML's, or NOT_NVML."""
        self.write("".join([_failure(device, key, code, words) for key in keys]))

    def write(self, lines: str) -> None:
        os.write(self.answers, lines.encode())

    def end(self, how: str) -> None:
        os.write(1, how.encode() + b"\n")

    def mark(self, device: str, key: str) -> None:
        """Tells everybody which call is under way, since when; `-` is none."""
        with suppress(OSError):  # a full disk keeps nobody from the answers
            os.pwrite(self.lock, f"{self.pid} {time.time():.3f} {key} {device}\n".encode(), 0)

    def open(self, library: str) -> bool:
        """Whether it could be; why not is told."""
        self.mark("", INIT)
        try:
            pynvml.nvmlLib = CDLL(library)  # its own loader tells no reason
            pynvml.nvmlInitWithFlags(LAZY)
        except OSError as error:
            self.fail("", [INIT], NO_LIBRARY, str(error))
        except pynvml.NVMLError as error:
            self.fail("", [INIT], error.value, self.words(error.value))
        else:
            self.opened = True
            self.say("", INIT, True)
        return self.opened

    def close(self) -> None:
        """The end of the process releases the GPUs too: where somebody else has the lock, perhaps hung, this is all."""
        if not self.holds_lock and not self.locked():
            return
        if self.opened:
            self.mark("", "nvmlShutdown")
            with suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()
        self.mark("", "-")

    def words(self, code: int) -> str:
        """NVML's own, asked for once: a device without a feature answers with the same code a hundred times."""
        if code not in self.known_words:
            self.known_words[code] = str(pynvml.NVMLError(code))
        return self.known_words[code]

    def ask(self, device: str, keys: Sequence[str], function: Callable[..., Any], *args: Any) -> Any:
        """One call, marked; its value, or None: then why is told under all of `keys`."""
        began = time.monotonic()
        if self.released or began > self.deadline:
            raise Released
        spent = self.spent.get(device, 0.0)
        if device and spent > self.budget:
            return self.fail(device, keys, TIMEOUT, f"not asked, because this GPU had taken {self.budget:g} s before")
        self.mark(device, keys[0])
        try:
            return _once_more(function, *args)
        except pynvml.NVMLError as error:
            return self.fail(device, keys, error.value, self.words(error.value))
        except Exception as error:  # noqa: BLE001  # one wrapper's trouble is one answer
            return self.fail(device, keys, NOT_NVML, f"{type(error).__name__}: {error}")
        finally:
            self.spent[device] = spent + time.monotonic() - began

    def get(self, device: str, call: Asked, *handle: Any) -> Any:
        """One getter's answer, told; the system's have no handle."""
        if call.name == FIELDS:
            return self.fields(device, call, *handle)
        if call.function is None:
            return self.fail(device, call.keys, NO_FUNCTION, "this nvidia-ml-py does not know it")
        value = self.ask(device, call.keys, call.function, *handle, *call.args)
        if value is not None:
            value = plain(value)
            self.say(device, call.keys[0], value)
        return value

    def fields(self, device: str, call: Asked, handle: Any) -> Known:
        """Many field values by one call; each is told under its own key."""
        found: Known = {}
        lines = []
        answer = self.ask(device, call.keys, field_values, handle, *call.args) or ()
        for key, value in zip(call.keys, answer, strict=False):
            if value.nvmlReturn:
                lines.append(_failure(device, key, value.nvmlReturn, self.words(value.nvmlReturn)))
            elif (told := number(value)) is None:
                lines.append(_failure(device, key, NOT_NVML, f"a value of type {value.valueType} that is no number"))
            else:
                found[key] = told
                lines.append(_answer(device, key, told))
        self.write("".join(lines))
        return found

    def attach(self) -> None:
        """Handles of the devices that the inquiry names; of all, where it names none."""
        handles: list[tuple[str, Callable[[Any], Any], Any]]
        if self.devices:
            handles = [(name, pynvml.nvmlDeviceGetHandleByPciBusId, name.encode()) for name in self.devices]
        else:
            count = self.ask("", ["nvmlDeviceGetCount"], pynvml.nvmlDeviceGetCount)
            handles = [(f"index {i}", pynvml.nvmlDeviceGetHandleByIndex, i) for i in range(counted(count))]
        for name, function, argument in handles:
            handle = self.ask(name, ["nvmlDeviceGetHandle"], function, argument)
            if handle is not None:
                device = name if self.devices else self.slot(name, handle)
                self.handles[device] = handle
                self.say(device, "nvmlDeviceGetHandle", True)

    def slot(self, name: str, handle: Any) -> str:
        pci = self.ask(name, ["nvmlDeviceGetPciInfo_v3"], pynvml.nvmlDeviceGetPciInfo_v3, handle)
        try:
            return name if pci is None else slot(plain(pci.busId))
        except ValueError:
            return name

    def snapshot(self) -> None:
        for call in _ready(inquiry.SYSTEM):
            self.get("", call)
        self.attach()
        known: dict[str, Known] = {device: {} for device in self.handles}
        for phase in inquiry.SNAPSHOT_PHASES:
            calls = _ready(phase)
            for device, handle in self.handles.items():
                for call in calls:
                    value = self.get(device, call, handle)
                    known[device].update(value if call.name == FIELDS else {call.name: value})
        self.mig(known)
        self.links(known)
        self.pairs()
        for device in self.handles:
            self.say(device, "spent", round(self.spent[device] * 1000, 3))
        self.end("end")

    def mig(self, known: Mapping[str, Known]) -> None:
        calls = _ready(inquiry.MIG_DEVICE)
        for device, handle in self.handles.items():
            mode = known[device].get("nvmlDeviceGetMigMode")
            most = known[device].get("nvmlDeviceGetMaxMigDeviceCount") if mode and mode[0] else 0
            for index in range(counted(most)):
                key = key_of("nvmlDeviceGetMigDeviceHandleByIndex", (index,))
                instance = self.ask(device, [key], pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
                for call in calls if instance is not None else ():
                    self.get(f"{device}/mig/{index}", call, instance)

    def links(self, known: Mapping[str, Known]) -> None:
        count_of = key_of(FIELDS, (inquiry.LINK_COUNT_FIELD,))
        counts = {device: counted(known[device].get(count_of)) for device in self.handles}
        for link in range(max(counts.values(), default=0)):
            fields = [(field, link) for field in inquiry.LINK_FIELDS]
            calls = _ready([*((name, (link,)) for name in inquiry.LINK), (FIELDS, fields)])
            for device, handle in self.handles.items():
                for call in calls if link < counts[device] else ():
                    self.get(device, call, handle)

    def pairs(self) -> None:
        names = sorted(self.handles)
        for at, device in enumerate(names):
            for other in names[at + 1 :]:
                for name, args in inquiry.PEER:
                    key = key_of(name, (other, *args))
                    both = self.handles[device], self.handles[other]
                    value = self.ask(device, [key], getattr(pynvml, name), *both, *args)
                    if value is not None:
                        self.say(device, key, plain(value))

    def sample(self) -> None:
        self.attach()
        calls = _ready(inquiry.SAMPLE)
        self.pause("end")
        while self.asked_again():
            if not self.locked():
                self.end("busy")
                continue
            self.spent.clear()
            os.ftruncate(self.answers, os.lseek(self.answers, 0, os.SEEK_SET))
            for device, handle in self.handles.items():
                for call in calls:
                    self.get(device, call, handle)
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


def _once_more(function: Callable[..., Any], *args: Any) -> Any:
    """What passes by itself is asked a second time at once."""
    try:
        return function(*args)
    except pynvml.NVMLError as error:
        if error.value not in TRANSIENT:
            raise
        return function(*args)


def _ready(calls: Iterable[tuple[str, Sequence[Any]]]) -> list[Asked]:
    return [Asked(name, args) for name, args in calls]


def _answer(device: str, key: str, value: Any) -> str:
    return f'["{device}","{key}",{json_of(value)}]\n'


def _failure(device: str, key: str, code: int, words: str) -> str:
    return f'["{device}","{key}",null,{code},{json_of(words)}]\n'
