"""One round of the canary: what each script told -> metrics."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from platform import python_version
from typing import Annotated, NamedTuple

import msgspec

from fingerprint.canary.environment import python_of, reduced
from fingerprint.canary.names import Moment, at
from fingerprint.metrics import Better, Metric
from fingerprint.words import clean
from probes.kit.child import Script, Told, told_by
from probes.kit.facts import Gap
from probes.kit.lazy import lazy_regex

VERSION = 1  # of the work: what another one did is not compared
HOST_SECONDS, GPU_SECONDS = 10.0, 30.0
"""Given up after. The work takes two seconds; loading torch takes most of the rest."""
DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")  # NVIDIA's driver, AMD's, a GPU under WSL
HOST_WORK = ("cpu", "memory_copy", "system_call", "wake_up")
GPU_WORK = ("copy", "upload", "matmul", "launch", "p2p")
_ADDRESS = lazy_regex(r"[0-9a-f:.]{1,16}")
_MOST = 300


class Unit(NamedTuple):
    """rate: units of work in a second are told, not seconds for one. scale: of it, to the unit."""

    name: str
    rate: bool
    scale: float

    @property
    def better(self) -> Better:
        return "higher" if self.rate else "lower"

    def of(self, seconds: float) -> float:
        return self.scale / seconds if self.rate else self.scale * seconds


UNITS: Mapping[str, Unit] = {
    "cpu": Unit("us", rate=False, scale=1e6),
    "system_call": Unit("ns", rate=False, scale=1e9),
    "wake_up": Unit("us", rate=False, scale=1e6),
    "launch": Unit("us", rate=False, scale=1e6),
    "matmul": Unit("TFLOP/s", rate=True, scale=1e-12),
    **{work: Unit("GB/s", rate=True, scale=1e-9) for work in ("memory_copy", "copy", "upload", "p2p")},
}


class Result(msgspec.Struct, frozen=True):
    """A line of a script's. samples: seconds a unit of work. gpu: its address, or its number. by: what did the work."""

    work: str
    samples: Annotated[tuple[float, ...], msgspec.Meta(max_length=1000)] = ()
    gap: str = ""
    gpu: str = ""
    by: str = ""


class Serving(NamedTuple):
    """The command that is measured: what GPUs do is asked of its own Python."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str


def measured(moment: Moment, serving: Serving | None, stop: Callable[[], bool] = lambda: False) -> tuple[Metric, ...]:
    """Takes two seconds, and as long again with the time to load a library where there are GPUs. stop: asked whether to
    give up. serving: None beside a server that serves: of its GPUs nothing is asked."""
    text = _text("on_host")
    told = told_by(Script((sys.executable, "-I", "-S", "-"), text), HOST_SECONDS, stop)
    beside = "" if serving else ", beside a server"
    host = _of_host(moment, told, f"canary {VERSION}, Python {python_version()}{beside}")
    return (*host, *(_of_gpus(moment, _asked_of_gpus(serving, stop)) if serving else ()))


def _text(script: str) -> bytes:
    return Path(__file__).with_name(f"{script}.py").read_bytes()


def _of_host(moment: Moment, told: Told, source: str) -> Iterator[Metric]:
    found = {result.work: result for result in _results(told)}
    for work in HOST_WORK:
        result = found.get(work) or Result(work, gap=_why(told))
        yield _metric(at(moment, work), result, source)


def _asked_of_gpus(serving: Serving, stop: Callable[[], bool]) -> Told:
    if not any(map(os.path.exists, DEVICES)):
        return Told((), Gap("absent", f"no GPU is there: none of {', '.join(DEVICES)}"))
    python = python_of(*serving)
    if isinstance(python, Gap):
        return Told((), python)
    limit = str(int(GPU_SECONDS) + 1)
    script = Script((python, "-I", "-", limit), _text("on_gpus"), reduced(serving.env))
    return told_by(script, GPU_SECONDS, stop)


def _of_gpus(moment: Moment, told: Told) -> Iterator[Metric]:
    """Of each GPU each work, or why not; where there may be more than were told of, why, once."""
    found = {(result.gpu, result.work): result for result in _results(told)}
    alone = found.pop(("", "gpu"), None)
    why = alone.gap if alone else _why(told)
    gpus = dict.fromkeys(gpu for gpu, _ in found if _ADDRESS.fullmatch(gpu))
    for gpu in gpus:
        for work in GPU_WORK:
            only = work == "p2p" and len(gpus) == 1 and not told.why
            result = found.get((gpu, work)) or Result(work, gap="there is no other GPU" if only else why)
            yield _metric(at(moment, f"gpu/{gpu}/{work}"), result, f"canary {VERSION}, {clean(result.by)[:_MOST]}")
    if told.why or not gpus:
        yield Metric(at(moment, "gpu"), gap=clean(why)[:_MOST] or "nothing was measured")


def _results(told: Told) -> Iterator[Result]:
    """What a library prints besides is passed over."""
    for line in told.lines:
        try:
            result = msgspec.json.decode(line, type=Result)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if all(isfinite(sample) and sample > 0 for sample in result.samples):
            yield result


def _why(told: Told) -> str:
    return told.why.detail if told.why else "nothing that can be read came of it"


def _metric(name: str, result: Result, source: str) -> Metric:
    unit = UNITS[result.work]
    if not result.samples:
        return Metric(name, unit.name, unit.better, gap=clean(result.gap)[:_MOST] or "nothing was measured")
    return Metric(name, unit.name, unit.better, tuple(map(unit.of, result.samples)), source)
