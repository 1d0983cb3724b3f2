"""What a run waited for, and who used CPUs beside it: shares of its time, from its samples."""

from collections.abc import Mapping

from fingerprint.runs.effective import Samples
from fingerprint.runs.record import Distribution, Growth
from probes.kit.paths import parse_path

ENOUGH = 0.9
"""Seconds of samples from which a share is told: a run of less has no reading of its neighbours either."""
RUN_DELAY = "usage/main/run_delay"
THROTTLED = "usage/main/cgroup/throttled_usec"
STOLEN = "pressure/cpu_time/steal"
# Without guest and guest_nice, which user and nice hold already: proc_stat(5).
_MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_TICKS = 100
AT_WORK = 0.05
"""CPUs that a run uses at least whose waiting for anything is worth a word; or it moves this many bytes a second:"""
MOVES = 1 << 20


def rate(samples: Samples, path: str) -> float | None:
    """Growth per second; None where the counter was not sampled for long enough."""
    growth = samples.get(path)
    if not isinstance(growth, Growth) or growth.seconds < ENOUGH:
        return None
    return growth.grown / growth.seconds


def ready(samples: Samples) -> float | None:
    """Of the run's time, the share in which its main threads were ready and others had the CPUs, summed over its
    processes. The kernel counts what a quota holds back as well, which is left out here.

    None where that is not known: a kernel without CONFIG_SCHED_INFO has no such file, or zeros.
    """
    delay = rate(samples, RUN_DELAY)
    growth = samples.get(RUN_DELAY)
    if delay is None or not isinstance(growth, Growth) or (growth.last == 0 and used(samples)):
        return None
    return max(0.0, delay / 1e9 - (throttled(samples) or 0))


def throttled(samples: Samples) -> float | None:
    """The time for which a quota held CPUs back, summed over them."""
    held = rate(samples, THROTTLED)
    return None if held is None else held / 1e6


def stolen(samples: Samples) -> float | None:
    """Of the CPU time of the host, what the hypervisor gave to other guests."""
    every, steal = cpus(samples), rate(samples, STOLEN)
    return None if not every or steal is None else steal / _TICKS / every


def stalled(samples: Samples, path: str) -> float | None:
    """Of the time, that in which some task of the host waited for a resource."""
    total = rate(samples, path)
    return None if total is None else total / 1e6


def used(samples: Samples) -> float | None:
    """CPUs that the run's whole tree used."""
    modes = [rate(samples, f"usage/main/{mode}") for mode in ("user", "system")]
    return None if None in modes else sum(mode or 0 for mode in modes) / 1000


def cpus(samples: Samples) -> float | None:
    """CPUs of the host, by the time that they had together; within a few percent."""
    modes = [rate(samples, f"pressure/cpu_time/{mode}") for mode in _MODES]
    return None if None in modes else sum(mode or 0 for mode in modes) / _TICKS


def was_at_work(samples: Samples) -> bool:
    """Whether it can have been held up by anything: a run that sleeps is not."""
    moved = sum(rate(samples, f"usage/main/{name}_bytes") or 0 for name in ("read", "write"))
    return (used(samples) or 0) + (ready(samples) or 0) >= AT_WORK or moved >= MOVES


def beside(samples: Samples) -> Mapping[str, float]:
    """CPUs that each foreign program took on average. A reading that does not name it found it idle."""
    found = {path: sample for path, sample in samples.items() if path.startswith("neighbours/main/")}
    busy = {parse_path(p)[2]: s for p, s in found.items() if p.endswith("/cpu") and isinstance(s, Distribution)}
    readings = max((sample.count for sample in busy.values()), default=1)
    return {program: sample.mean * sample.count / readings / 1000 for program, sample in busy.items()}
