"""NVML as a Host asks it: one pass for all that is asked in one moment, or a child that lives on and is sampled."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from probes.kit.facts import Gap, Seen
from probes.kit.lazy import lazy_regex
from probes.kit.nvml.options import Options

if TYPE_CHECKING:
    from probes.kit.host import Host
    from probes.kit.nvml.talk import Child

DRIVER_FILES = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg")
BOUND = "/sys/bus/pci/drivers/nvidia"
SAMPLE_SECONDS = 0.3
AGAIN_SECONDS = 30.0
_SLOT = lazy_regex(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


class Nvml:
    """What a Host knows of NVML."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._now: Child | Gap | None = None
        self._sampled: Child | None = None
        self._again_at = 0.0
        self._asleep: tuple[str, ...] = ()

    def begin(self) -> None:
        """A new moment: the next question is not answered from the last pass."""
        self._now = None

    def devices(self, host: "Host") -> Seen[tuple[str, ...]]:
        """Keys of the attached devices; a Gap where there is no NVML, or nothing could be attached before it hung."""
        child = self._pass(host)
        if isinstance(child, Gap):
            return child
        return child.attached

    def answer(self, host: "Host", device: str, key: str) -> Seen[Any]:
        child = self._now or self._pass(host)
        if device in self._asleep:
            return Gap("asleep", "runtime power management suspended it: asking would wake it")
        if isinstance(child, Gap):
            return _about(device, child)
        found = child.answers.get((device, key))
        return child.unattached.get(device) or _about(device, child.rest) if found is None else found

    def sample(self, host: "Host") -> Seen[tuple[str, ...]]:
        """As `devices`, of a sample taken now; until the next moment, `answer` is about it.

        A child that is still attaching GPUs, or does not answer in time, is looked for again at the next call, which
        waits for neither: others are sampled in the same breath.
        """
        child = self._sampler(host)
        if isinstance(child, Gap):
            self._now = child
            return child
        child.listen(0)
        if not child.awaited and child.trouble is None:
            child.ask_again()
            child.listen(SAMPLE_SECONDS)
        self._now = child if not child.awaited else child.trouble or child.waiting_for()
        return self.devices(host)

    def _sampler(self, host: "Host") -> "Child | Gap":
        """The one that lives on; another, half a minute after it had to be given up, but none after a release."""
        gone = self._sampled is not None and self._sampled.trouble is not None and not self._sampled.released
        if gone and time.monotonic() > self._again_at:
            self._sampled = None
        if self._sampled is None:
            child = self._start(host, "sample")
            if isinstance(child, Gap):
                return child
            self._sampled, self._again_at = child, time.monotonic() + AGAIN_SECONDS
            child.listen(SAMPLE_SECONDS)
        return self._sampled

    def _pass(self, host: "Host") -> "Child | Gap":
        if self._now is None:
            self._now = self._start(host, "snapshot")
            if not isinstance(self._now, Gap):
                self._now.listen()
                self._now.close()
        return self._now

    def _start(self, host: "Host", mode: Any) -> "Child | Gap":
        if reason := _closed(host, self._options):
            return reason
        slots = tuple(bound(host))
        self._asleep = tuple(slot for slot in slots if is_asleep(host, slot))
        awake = [slot for slot in slots if slot not in self._asleep]
        if slots and not awake:
            return Gap("asleep", "all GPUs are suspended")
        from probes.kit.nvml.talk import Child  # with subprocess: only where there is something to be asked

        return Child(mode, awake, self._options)


def _closed(host: "Host", options: Options) -> Gap | None:
    """Why NVML is not opened: nvmlInit may load a driver that somebody unloaded (through nvidia-modprobe)."""
    if options.library == "off":
        return Gap("not_read", "the setting `nvml` is off")
    if options.library != "auto" or any(not isinstance(host.stat(path), Gap) for path in DRIVER_FILES):
        return None
    return Gap("absent", "no NVIDIA driver is loaded")


def _about(device: str, gap: Gap) -> Gap:
    """Where the library is missing no GPU has gone with it: nobody can ask it."""
    return Gap("not_observable", gap.detail) if device and gap.code == "absent" else gap


def bound(host: "Host") -> Iterator[str]:
    """PCI addresses of the devices that the kernel module drives."""
    names = host.names(BOUND)
    yield from (name for name in (() if isinstance(names, Gap) else names) if _SLOT.fullmatch(name))


def is_asleep(host: "Host", slot: str) -> bool:
    """Reading the file does not wake it; any question to NVML would."""
    return host.line(f"/sys/bus/pci/devices/{slot}/power/runtime_status") in ("suspended", "suspending")
