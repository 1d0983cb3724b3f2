"""A fake NVML in a folder of its own: the library, its scenario, and what was called."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from probes.kit.host import Host
from probes.kit.nvml import inquiry
from probes.kit.nvml.asking import BOUND
from probes.kit.nvml.inquiry import FIELDS, key_of
from probes.kit.nvml.lock import Mark, read_mark
from probes.kit.nvml.options import Options
from tests.nvml.drivers import NEWEST, lacks
from tests.nvml.scenario import EACH_CALL, HANDLE, Scenario, pci_info


class Called(NamedTuple):
    """key: the exported function with its arguments. device: "" for the system."""

    key: str
    device: str


class Fake:
    """What one driver is, for as long as a test lasts."""

    def __init__(self, folder: Path, library: Path, scenario: Scenario, without: Iterable[str] = ()) -> None:
        """without: functions that are not in this library, beside those that its driver is too old for."""
        folder.mkdir()
        self.library = folder / "libnvidia-ml.so.1"
        self.lock = folder / "lock"
        self.scenario: Scenario = json.loads(json.dumps(scenario))
        for device in self.devices:
            self.scenario["devices"][device].setdefault("nvmlDeviceGetPciInfo_v3", pci_info(device))
        older = lacks(scenario["system"].get("nvmlSystemGetDriverVersion", NEWEST))
        self.library.write_bytes(_without(library.read_bytes(), {*older, *without}))
        self.save()

    def save(self) -> None:
        """What is staged holds from the library's next call on, in processes that run too."""
        new = self.library.with_suffix(".new")
        new.write_text(json.dumps(self.scenario))
        now = time.time_ns()
        os.utime(new, ns=(now, now))  # a file system's own clock ticks in milliseconds, and inodes come back
        new.rename(f"{self.library}.json")

    def put(self, device: str, key: str, answer: Any) -> None:
        """device: "" for the system."""
        (self.scenario["devices"][device] if device else self.scenario["system"])[key] = answer
        self.save()

    def put_all(self, key: str, answer: Any) -> None:
        for device, answers in self.scenario["devices"].items():
            if "/" not in device:
                answers[key] = answer
        self.save()

    @property
    def devices(self) -> list[str]:
        return [device for device in self.scenario["devices"] if "/" not in device]

    @property
    def calls(self) -> list[Called]:
        """Every call so far, by any process, in order."""
        log = Path(f"{self.library}.log")
        lines = log.read_text().splitlines() if log.exists() else []
        return [Called(*line.partition(" ")[::2]) for line in lines]

    def called(self, name: str) -> int:
        """How often a function was, whatever its arguments."""
        return sum(call.key.partition("(")[0] == name for call in self.calls)

    @property
    def mark(self) -> Mark | None:
        with self.lock.open() as file:
            return read_mark(file.fileno())

    def processes(self) -> list[int]:
        """Those that were started to call this library, and are still there."""
        named = os.fsencode(self.library)
        return [pid for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))) if named in _arguments(pid)]

    def options(self, **changed: Any) -> Options:
        return Options(**{"library": str(self.library), "lock": str(self.lock), **changed})

    def host(self, **changed: Any) -> Host:
        """This machine, but for NVML. changed: fields of Options."""
        return Host(nvml=self.options(**changed))

    def driven(self, asleep: Iterable[str] = (), **changed: Any) -> Host:
        """As `host`, with the kernel's driver on its GPUs, as sysfs shows them. asleep: those that are suspended."""
        power = {slot: "suspended" if slot in asleep else "active" for slot in self.devices}
        return Driven(power, self.options(**changed))


class Driven(Host):
    """This machine, but for NVML and what sysfs shows of the PCI devices of its driver."""

    def __init__(self, power: Mapping[str, str], nvml: Options) -> None:
        super().__init__(nvml=nvml)
        status = {("text", f"/sys/bus/pci/devices/{slot}/power/runtime_status"): at for slot, at in power.items()}
        self._shown: dict[tuple[str, str], Any] = {("names", BOUND): (*power, "bind", "new_id"), **status}

    def _ask(self, call: str, key: str, live: Callable[[], Any]) -> Any:
        return self._shown[call, key] if (call, key) in self._shown else live()


class FakeNvml(Protocol):
    """The fixture `fake_nvml`: makes a Fake."""

    def __call__(self, scenario: Scenario, without: Iterable[str] = ()) -> Fake: ...


def asked(host: Host, device: str, key: str) -> Any:
    """What a host answers to a call by its text, `nvmlDeviceGetClockInfo(1)`."""
    name, _, rest = key.rstrip(")").partition("(")
    args = [int(arg) if arg.isdecimal() else arg for arg in rest.split(",") if arg]
    return host.nvml(device, name, *args)


def calls_of_the_inquiry(other: str) -> Iterator[str]:
    """The key of each call about a GPU, of its first link, and of its pair with `other`."""
    for name, args in [call for phase in inquiry.SNAPSHOT_PHASES for call in phase]:
        yield from (key_of(name, _of_field(arg)) for arg in args) if name == FIELDS else [key_of(name, args)]
    yield from (key_of(name, (0,)) for name in inquiry.LINK)
    yield from (key_of(FIELDS, (field,)) for field in inquiry.LINK_FIELDS)
    yield from (key_of(name, (other, *args)) for name, args in inquiry.PEER)


def _of_field(field: Any) -> tuple[Any, ...]:
    return field if isinstance(field, tuple) else (field,)


def lose(fake: Fake, device: str, code: int = 15) -> None:
    """The GPU fell off the bus: GPU_IS_LOST in each call about it."""
    fake.put(device, EACH_CALL, {"error": code})


def fail_to_attach(fake: Fake, device: str, code: int = 15) -> None:
    fake.put(device, HANDLE, {"error": code})


def _arguments(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _without(library: bytes, names: Iterable[str]) -> bytes:
    """Without these symbols: one whose name has another first letter is found by nobody, for its hash stays."""
    for name in names:
        symbol = b"\0" + name.encode() + b"\0"
        if symbol not in library:
            raise LookupError(f"the fake NVML has no {name}")
        library = library.replace(symbol, b"\0-" + symbol[2:], 1)  # names of symbols come before constants
    return library


def makers(folder: Path, library: Path) -> Iterator[FakeNvml]:
    """For a fixture: what it makes are folders of `folder`, one after another."""
    made: list[Fake] = []

    def make(scenario: Scenario, without: Iterable[str] = ()) -> Fake:
        made.append(Fake(folder / f"nvml-{len(made)}", library, scenario, without))
        return made[-1]

    try:
        yield make
    finally:
        for fake in made:
            for pid in fake.processes():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
