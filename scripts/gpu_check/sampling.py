"""Samples of the GPUs, as a run takes them, beside a small load where there is CUDA."""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from fingerprint.settings import Settings
from probes.gpu import Gpu, Gpus, gpu
from probes.kit.facts import Gap, Map
from probes.kit.host import Host
from probes.kit.probe import HOST

EVERY_SECONDS = 0.5
LOAD = Path(__file__).parent / "load.py"
FACTS = {
    "clocks/sm, MHz": lambda one: one.clocks.sm,
    "power/draw, mW": lambda one: one.power.draw,
    "temperature/gpu, C": lambda one: one.temperature.gpu,
    "utilization/gpu, %": lambda one: one.utilization.gpu,
}


def sampled(settings: Settings, seconds: float) -> dict[str, object]:
    host = Host(nvml=settings.nvml_options)
    probe = gpu.at_samples
    load = subprocess.Popen([sys.executable, "-I", str(LOAD), str(seconds)], stdin=subprocess.DEVNULL)
    ticks: list[Gpus] = []
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            host.begin_moment()
            ticks.append(probe.read(host, HOST))
            time.sleep(EVERY_SECONDS)
    finally:
        load.terminate()
        status = load.wait(10)
    told = [tick.gpus.items for tick in ticks if isinstance(tick.gpus, Map)]
    keys = sorted({key for items in told for key in items})
    return {
        "load": "none: no CUDA" if status == 3 else "cuMemsetD32 on the first GPU",
        "ticks": len(ticks),
        "answered": len(told),
        "gpus": {key: _summary([items[key] for items in told if key in items]) for key in keys},
    }


def _summary(readings: list[Gpu]) -> dict[str, Any]:
    reasons = sorted({str(one.clocks_event_reasons.active) for one in readings if _is_told(one)})
    busy = sum(one.busy == 1 for one in readings)
    return {"busy": busy, "reasons": reasons, **{name: _spread(readings, read) for name, read in FACTS.items()}}


def _is_told(one: Gpu) -> bool:
    return not isinstance(one.clocks_event_reasons.active, Gap)


def _spread(readings: list[Gpu], read: Any) -> object:
    values = [value for value in map(read, readings) if not isinstance(value, Gap)]
    return {"least": min(values), "median": median(values), "most": max(values)} if values else "not told"
