"""The parent's side of the NVML child: started, listened to line by line, given up.

A pass answers everything at once. What hung is known by call and GPU; what was answered before stands.
"""

import importlib.util
import math
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from probes.kit.child import Talker
from probes.kit.facts import Gap, Seen
from probes.kit.nvml.errors import gap_of
from probes.kit.nvml.lock import Held, acquire, read_mark, usual_place
from probes.kit.nvml.options import Options
from probes.kit.nvml.start import START
from probes.kit.unnamed import unnamed_file

HANDLE = "nvmlDeviceGetHandle"
OURS = os.path.abspath(__file__).rpartition("/probes/")[0]
GRACE_SECONDS = 0.1
SAMPLER_LOCK_SECONDS = 0.1
SAMPLER_SILENCE_SECONDS = 30.0  # attaching 8 GPUs takes as long where persistence mode is off
SEARCH_PATH = "LD_LIBRARY_PATH"  # some containers find the library by it alone

Mode = Literal["snapshot", "sample"]
NOT_ASKED = Gap("not_read", "not among what NVML is asked")
BUSY = Gap("timed_out", "NVML: another process was asking it")


class Told(msgspec.Struct, array_like=True, gc=False):
    """A line of the child's. code: NVML's, or -1, where the call failed."""

    device: str
    key: str
    value: Any
    code: int = 0
    words: str = ""


_decoded = msgspec.json.Decoder(Told).decode_lines


class Child:
    """One NVML child, and what it has answered so far.

    answers   (device, key of the call) -> value or Gap; the device of the system's calls is ""
    devices   keys of those that could be attached
    unattached  why the others could not
    rest      why there is no answer to anything else
    awaited   whether it has not said yet that it is done with what it was asked last
    trouble   why there are no further answers; None while there may be
    released  whether it was asked from outside to let go of the GPUs
    """

    def __init__(self, mode: Mode, devices: Sequence[str], options: Options) -> None:
        """devices: those to attach; none: all that NVML lists."""
        self.answers: dict[tuple[str, str], Any] = {}
        self.devices: list[str] = []
        self.unattached: dict[str, Gap] = {}
        self.rest = NOT_ASKED
        self.trouble: Gap | None = None
        self.awaited = True
        self.released = False
        self._asked = time.monotonic()
        if mode == "snapshot":
            self._silence, self._deadline = options.gpu_budget_s, self._asked + options.budget_s
        else:
            self._silence, self._deadline = SAMPLER_SILENCE_SECONDS, math.inf
        started = _start(mode, devices, options)
        if isinstance(started, Gap):
            self.trouble = self.rest = started
        else:
            self._talker, self._marks, self._answers = started

    @property
    def attached(self) -> Seen[tuple[str, ...]]:
        """Keys of the devices that could be attached; where that is none because of some trouble, the trouble."""
        return tuple(self.devices) if self.devices or self.rest is NOT_ASKED else self.rest

    def listen(self, seconds: float = math.inf) -> None:
        """Until the child is done, or is given up, or `seconds` have passed; then its answers so far are taken in."""
        until = time.monotonic() + seconds
        while self.awaited and self.trouble is None:
            try:
                said = self._talker.lines(min(until, self._given_up_at()) - time.monotonic())
            except EOFError:
                self._end()
                return
            if said:
                self.awaited = False
                self._take_answers()
                self.rest = BUSY if said[-1] == b"busy" else NOT_ASKED
                if failed := self._failed():
                    self._forget(failed)
            elif time.monotonic() >= self._given_up_at():
                self._give_up()
            elif time.monotonic() >= until:
                return

    def ask_again(self) -> None:
        """Asks for a sample: `listen` to it."""
        self.answers.clear()
        self.awaited, self._asked = True, time.monotonic()
        if not self._talker.send(b"s"):
            self._end()

    def _given_up_at(self) -> float:
        """On the monotonic clock: the whole pass has a limit, and so has the call that is under way."""
        mark = read_mark(self._marks)
        age = max(0.0, time.time() - mark.since) if mark and mark.pid == self._talker.pid else 0.0
        began = max(time.monotonic() - age, self._asked) if age else self._asked
        return min(self._deadline, began + self._silence)

    def waiting_for(self) -> Gap:
        """What it is doing while it is awaited."""
        return Gap("timed_out", f"NVML: {read_mark(self._marks) or 'no answer'}")

    def close(self) -> None:
        """Lets it shut NVML down and end; nothing waits longer than the grace."""
        if self.trouble is None:
            self._talker.leave(GRACE_SECONDS)
            self._forget(NOT_ASKED)

    def _take_answers(self) -> None:
        """What stands in the file so far; the last line may be half written."""
        written = os.pread(self._answers, os.fstat(self._answers).st_size, 0)
        for told in _decoded(written.rpartition(b"\n")[0]):
            answer = gap_of(told.code, told.words, told.key) if told.code else told.value
            if told.key != HANDLE:
                self.answers[told.device, told.key] = answer
            elif told.code:
                self.unattached[told.device] = answer
            else:
                self.devices.append(told.device)

    def _end(self) -> None:
        self._take_answers()
        status = self._talker.ended(GRACE_SECONDS)
        if failed := self._failed():
            self._forget(failed)
        elif status:
            mark = read_mark(self._marks)
            where = f" {mark.doing}" if mark else ""
            self._forget(Gap("failed", f"the process that called NVML ended by {_ending(status)}{where}"))
        else:
            self.released = True
            self._forget(Gap("not_read", "the process that called NVML was asked to release the GPUs"))

    def _failed(self) -> Gap | None:
        """Why there can be no answers: the library was not to be had, or would not start, or tell what there is."""
        told = (self.answers.get(("", call)) for call in ("nvmlInit", "nvmlDeviceGetCount"))
        return next((gap for gap in told if isinstance(gap, Gap)), None)

    def _give_up(self) -> None:
        self._take_answers()
        mark = read_mark(self._marks)
        ended = self._talker.leave(GRACE_SECONDS)
        fate = "" if ended else "; it was left behind"
        self._forget(Gap("timed_out", f"NVML: {mark or 'no answer'}{fate}"))

    def _forget(self, trouble: Gap) -> None:
        self.trouble = self.rest = trouble
        self._talker.hang_up()
        os.close(self._marks)
        os.close(self._answers)


def _ending(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit {status}"


def _start(mode: Mode, devices: Sequence[str], options: Options) -> Seen[tuple[Talker, int, int]]:
    """The child, and descriptors to read its marks and its answers by. It alone holds the lock."""
    found = importlib.util.find_spec("pynvml")
    if found is None or not found.origin:
        return Gap("failed", "nvidia-ml-py is not installed beside fingerprint")
    path = options.lock or usual_place()
    try:
        lock = acquire(path, _patience(options) if mode == "snapshot" else SAMPLER_LOCK_SECONDS)
    except Held as held:
        return Gap("timed_out", f"NVML: {held}; no second process is started")
    except OSError as error:
        return Gap("failed", f"{path}, the lock of NVML: {error.strerror}; remove it, or set nvml_lock")
    try:
        marks = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        answers = unnamed_file("nvml-answers")
        folders = os.path.dirname(found.origin), OURS
        how = options.file, str(lock), str(answers), str(options.budget_s), str(options.gpu_budget_s), mode
        argv = [sys.executable, "-I", "-S", "-c", START, *folders, *how, *devices]
        path_of = {SEARCH_PATH: os.environ[SEARCH_PATH]} if SEARCH_PATH in os.environ else {}
        return Talker(argv, [lock, answers], path_of), marks, answers
    except OSError as error:
        return Gap("failed", f"{sys.executable}: {error.strerror}")
    finally:
        os.close(lock)


def _patience(options: Options) -> float:
    """For the lock, of which `acquire` may take twice as much: some of the pass's time is left for the pass."""
    return min(options.gpu_budget_s, options.budget_s / 3)
