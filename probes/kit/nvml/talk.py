"""The parent's side of the NVML child: started, listened to line by line, given up.

A pass answers everything at once. What hung is known by call and GPU; what was answered before stands.
"""

import importlib.util
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from probes.kit.child import Talker
from probes.kit.facts import Gap, Seen
from probes.kit.nvml import inquiry
from probes.kit.nvml.errors import gap_of
from probes.kit.nvml.lock import Held, acquire, read_mark, usual_place
from probes.kit.nvml.options import Options

CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child.py")
GRACE_SECONDS = 0.1
SEARCH_PATH = "LD_LIBRARY_PATH"  # some containers find the library by it alone

Mode = Literal["snapshot", "sample"]
_answer = msgspec.json.Decoder(tuple[Any, ...]).decode


class Child:
    """One NVML child, and what it has answered so far.

    answers   (device, key of the call) -> value or Gap; the device of the system's calls is ""
    devices   keys of those that could be attached
    trouble   why there are no further answers; None while there may be
    """

    def __init__(self, mode: Mode, devices: Sequence[str], options: Options) -> None:
        """devices: those to attach; none: all that NVML lists."""
        self.answers: dict[tuple[str, str], Any] = {}
        self.devices: list[str] = []
        self.trouble: Gap | None = None
        self._options = options
        self._deadline = time.monotonic() + options.budget_s
        started = _start(mode, devices, options)
        if isinstance(started, Gap):
            self.trouble = started
        else:
            self._talker, self._marks = started

    def listen(self) -> bool:
        """Takes in answers until the child says that it is done: whether it was. Else `trouble` says why not."""
        heard = time.monotonic()
        while self.trouble is None:
            patience = min(self._deadline, heard + self._options.gpu_budget_s) - time.monotonic()
            try:
                lines = self._talker.lines(patience)
            except EOFError:
                self._end()
                return False
            if not lines and time.monotonic() >= min(self._deadline, heard + self._options.gpu_budget_s):
                self._give_up()
                return False
            heard = time.monotonic()
            for line in lines:
                if self._take(_answer(line)):
                    return True
        return False

    def ask_again(self, seconds: float) -> bool:
        """A sample: whether it was taken."""
        self._deadline = time.monotonic() + seconds
        return self.trouble is None and self._talker.send(b"s") and self.listen()

    def close(self) -> None:
        """Lets it shut NVML down and end; nothing waits longer than the grace."""
        if self.trouble is None:
            self._talker.leave(GRACE_SECONDS)
            self._forget(Gap("not_read", "released"))

    def _take(self, answer: tuple[Any, ...]) -> bool:
        device, key, value, *failed = answer
        if key == "end":
            return True
        if key == "nvmlDeviceGetHandle" and value:
            self.devices.append(device)
        self.answers[device, key] = gap_of(failed[0], failed[1], key) if failed else value
        return False

    def _end(self) -> None:
        status = self._talker.ended(GRACE_SECONDS)
        failed = self.answers.get(("", "nvmlInit"))
        if isinstance(failed, Gap):
            self._forget(failed)
        elif status:
            mark = read_mark(self._marks)
            self._forget(Gap("failed", f"the process that called NVML ended by {_ending(status)}, last in {mark}"))
        else:
            self._forget(Gap("not_read", "the process that called NVML was asked to release the GPUs"))

    def _give_up(self) -> None:
        mark = read_mark(self._marks)
        ended = self._talker.leave(GRACE_SECONDS)
        fate = "" if ended else "; it was left behind"
        self._forget(Gap("timed_out", f"NVML: {mark or 'no answer'}{fate}"))

    def _forget(self, trouble: Gap) -> None:
        self.trouble = trouble
        self._talker.hang_up()
        os.close(self._marks)


def _ending(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit {status}"


def _start(mode: Mode, devices: Sequence[str], options: Options) -> Seen[tuple[Talker, int]]:
    """The child, and a descriptor to read its marks by. It holds the lock, and nobody else does."""
    found = importlib.util.find_spec("pynvml")
    if found is None or not found.origin:
        return Gap("absent", "nvidia-ml-py is not installed beside fingerprint")
    path = options.lock or usual_place()
    try:
        lock = acquire(path, options.gpu_budget_s)
    except Held as held:
        return Gap("timed_out", f"NVML: {held}; no second process is started")
    except OSError as error:
        return Gap("failed", f"{path}: {error.strerror}: the lock of NVML cannot be taken")
    try:
        marks = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        argv = [sys.executable, "-I", "-S", CHILD, os.path.dirname(found.origin), options.file, str(lock), mode]
        talker = Talker(argv, [lock], {SEARCH_PATH: os.environ[SEARCH_PATH]} if SEARCH_PATH in os.environ else {})
        talker.send(_question(devices, options))
        return talker, marks
    except OSError as error:
        return Gap("failed", f"{sys.executable}: {error.strerror}")
    finally:
        os.close(lock)


def _question(devices: Sequence[str], options: Options) -> bytes:
    return msgspec.json.encode(
        {
            "devices": devices,
            "gpu_budget": options.gpu_budget_s,
            "system": inquiry.SYSTEM,
            "phases": inquiry.SNAPSHOT_PHASES,
            "mig_device": inquiry.MIG_DEVICE,
            "link": inquiry.LINK,
            "link_count_field": inquiry.LINK_COUNT_FIELD,
            "peer": inquiry.PEER,
            "sample": inquiry.SAMPLE,
            "fallbacks": inquiry.FALLBACKS,
        }
    )
