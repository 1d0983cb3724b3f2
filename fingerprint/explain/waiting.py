"""What a run waited for, and who used CPUs beside it: shares of its time, from its samples."""

from collections.abc import Callable, Iterable, Mapping

from fingerprint.runs.effective import Samples
from fingerprint.runs.record import Distribution, Growth
from probes.kit.paths import parse_glob, parse_path

ENOUGH = 0.9
"""Seconds of samples from which a share is told: a run of less has no reading of its neighbours either."""
OF_MAIN, OF_SERVERS = "usage/main/", "usage/*/"
RUN_DELAY = f"{OF_MAIN}run_delay"
THROTTLED = f"{OF_MAIN}cgroup/throttled_usec"
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


def of_run(samples: Samples, path: str, together: Callable[[Iterable[float]], float] = sum) -> float | None:
    """Of a path below `usage/main`; of a run of several servers, which has no `main`, what their trees used together.
    None where that of one is not known."""
    if path in samples:
        return rate(samples, path)
    rates = [rate(samples, each) for each in _of_servers(samples, path)]
    known = [one for one in rates if one is not None]
    return together(known) if known and len(known) == len(rates) else None


def _of_servers(samples: Samples, path: str) -> list[str]:
    if any(each.startswith(OF_MAIN) for each in samples):
        return []
    glob = parse_glob(path.replace(OF_MAIN, OF_SERVERS))
    return [each for each in samples if each.startswith("usage/") and glob.matches(parse_path(each))]


def ready(samples: Samples) -> float | None:
    """Of the run's time, the share in which its main threads were ready and others had the CPUs, summed over its
    processes. The kernel counts what a quota holds back as well, which is left out here.

    None where that is not known: a kernel without CONFIG_SCHED_INFO has no such file, or zeros.
    """
    delay = of_run(samples, RUN_DELAY)
    if delay is None or (used(samples) and not _was_counted(samples)):
        return None
    return max(0.0, delay / 1e9 - (throttled(samples) or 0))


def _was_counted(samples: Samples) -> bool:
    growths = (samples.get(path) for path in (RUN_DELAY, *_of_servers(samples, RUN_DELAY)))
    return any(isinstance(growth, Growth) and growth.last != 0 for growth in growths)


def throttled(samples: Samples) -> float | None:
    """The time for which a quota held CPUs back, summed over them. Of several servers that of one: they may be in one
    group."""
    held = of_run(samples, THROTTLED, max)
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
    modes = [of_run(samples, f"{OF_MAIN}{mode}") for mode in ("user", "system")]
    return None if None in modes else sum(mode or 0 for mode in modes) / 1000


def cpus(samples: Samples) -> float | None:
    """CPUs of the host, by the time that they had together; within a few percent."""
    modes = [rate(samples, f"pressure/cpu_time/{mode}") for mode in _MODES]
    return None if None in modes else sum(mode or 0 for mode in modes) / _TICKS


def was_at_work(samples: Samples) -> bool:
    """Whether it can have been held up by anything: a run that sleeps is not."""
    moved = sum(of_run(samples, f"{OF_MAIN}{name}_bytes") or 0 for name in ("read", "write"))
    return (used(samples) or 0) + (ready(samples) or 0) >= AT_WORK or moved >= MOVES


def beside(samples: Samples) -> Mapping[str, float]:
    """CPUs that each foreign program took on average. A reading that does not name it found it idle."""
    found = {path: sample for path, sample in samples.items() if path.startswith("neighbours/main/")}
    busy = {parse_path(p)[2]: s for p, s in found.items() if p.endswith("/cpu") and isinstance(s, Distribution)}
    readings = max((sample.count for sample in busy.values()), default=1)
    return {program: sample.mean * sample.count / readings / 1000 for program, sample in busy.items()}
