"""What the host is busy with and what waits: pressure stall information, load and CPU time.

Read several times a second, so three things only: /proc/pressure, /proc/stat and /proc/loadavg.
"""

from collections.abc import Mapping
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

from probes.kit.facts import Gap, Section, Seen, counter, telemetry, then
from probes.kit.host import Host
from probes.kit.probe import Target, probe

STAT = "/proc/stat"
RESOURCES = ("cpu", "memory", "io", "irq")
TICKS = "ticks of 1/100 s"  # USER_HZ, 100 on every architecture that GPUs are served from
HUNDREDTHS = "1/100 %"


def _stall(why: str, resource: str, who: str) -> Any:
    return counter(why, f"/proc/pressure/{resource}, {who} total", "us")


def _share(why: str, resource: str, who: str) -> Any:
    return telemetry(why, f"/proc/pressure/{resource}, {who} avg10", HUNDREDTHS)


class CpuSome(Section):
    total: Seen[int] = _stall(
        "Time in which a thread could run and had no core: neighbours, too many threads", "cpu", "some"
    )
    avg10: Seen[int] = _share("Share of the last 10 s in which a thread waited for a core", "cpu", "some")


class MemorySome(Section):
    total: Seen[int] = _stall(
        "Time in which a thread waited for reclaim, compaction, refault or swap", "memory", "some"
    )
    avg10: Seen[int] = _share("Share of the last 10 s in which a thread waited for memory", "memory", "some")


class MemoryFull(Section):
    total: Seen[int] = _stall("Time in which nothing ran because of memory: thrashing", "memory", "full")
    avg10: Seen[int] = _share("Share of the last 10 s lost whole to memory", "memory", "full")


class IoSome(Section):
    total: Seen[int] = _stall("Time in which a thread waited for a disk: weights, cache or logs", "io", "some")
    avg10: Seen[int] = _share("Share of the last 10 s in which a thread waited for a disk", "io", "some")


class IoFull(Section):
    total: Seen[int] = _stall("Time in which nothing ran because of disks: start-up bound by storage", "io", "full")
    avg10: Seen[int] = _share("Share of the last 10 s lost whole to disks", "io", "full")


class IrqFull(Section):
    total: Seen[int] = _stall(
        "Time that interrupts took from running threads: a network card or a storm", "irq", "full"
    )
    avg10: Seen[int] = _share("Share of the last 10 s that interrupts took", "irq", "full")


class CpuPressure(Section):
    """`full` of the CPU has no meaning for a whole host: the kernel tells 0."""

    some: CpuSome = CpuSome()


class MemoryPressure(Section):
    some: MemorySome = MemorySome()
    full: MemoryFull = MemoryFull()


class IoPressure(Section):
    some: IoSome = IoSome()
    full: IoFull = IoFull()


class IrqPressure(Section):
    """Since Linux 6.1, with CONFIG_IRQ_TIME_ACCOUNTING; `full` only."""

    full: IrqFull = IrqFull()


class CpuTime(Section):
    """First line of /proc/stat: all CPUs together. The kernel lets idle and iowait fall back a little at times."""

    user: Seen[int] = counter(
        "Time in programs, guests included: the run's own and its neighbours'", f"{STAT}, cpu user", TICKS
    )
    nice: Seen[int] = counter("Time in programs of lowered priority: background jobs", f"{STAT}, cpu nice", TICKS)
    system: Seen[int] = counter("Time in the kernel: system calls, faults, copies", f"{STAT}, cpu system", TICKS)
    idle: Seen[int] = counter("Time with nothing to run: what was left to be had", f"{STAT}, cpu idle", TICKS)
    iowait: Seen[int] = counter(
        "Idle time with a disk request under way; a hint, no measure", f"{STAT}, cpu iowait", TICKS
    )
    irq: Seen[int] = counter("Time in interrupt handlers: an interrupt storm shows here", f"{STAT}, cpu irq", TICKS)
    softirq: Seen[int] = counter(
        "Time in deferred interrupt work: packets, timers, block completions", f"{STAT}, cpu softirq", TICKS
    )
    steal: Seen[int] = counter("Time the hypervisor gave this guest's CPUs to others", f"{STAT}, cpu steal", TICKS)
    guest: Seen[int] = counter("Time spent running virtual machines on this host", f"{STAT}, cpu guest", TICKS)


class Load(Section):
    """/proc/loadavg in hundredths: threads that run, wait for a core or sleep in state D."""

    load1: Seen[int] = telemetry(
        "Load of the last minute: whether the host was quiet when the run began", "/proc/loadavg, first", "1/100"
    )
    load5: Seen[int] = telemetry(
        "Load of the last 5 minutes: what went on before the run", "/proc/loadavg, second", "1/100"
    )
    load15: Seen[int] = telemetry("Load of the last 15 minutes: the host's habit", "/proc/loadavg, third", "1/100")
    threads: Seen[int] = telemetry("All threads of the host: leaks and orphaned workers", "/proc/loadavg, fourth")


class Activity(Section):
    ctxt: Seen[int] = counter("Context switches: threads that fight for cores or wake each other", f"{STAT}, ctxt")
    processes: Seen[int] = counter("Forks: a monitoring script or a compiler beside the run", f"{STAT}, processes")
    intr: Seen[int] = counter("Interrupts of all kinds: devices and timers that break into the run", f"{STAT}, intr")
    softirq: Seen[int] = counter("Deferred interrupts of all kinds: network and timer load", f"{STAT}, softirq")
    procs_running: Seen[int] = telemetry(
        "Threads running or waiting for a core now, against the number of cores", f"{STAT}, procs_running"
    )
    procs_blocked: Seen[int] = telemetry("Threads waiting for a disk now, in state D", f"{STAT}, procs_blocked")


class Pressure(Section):
    cpu: CpuPressure = CpuPressure()
    memory: MemoryPressure = MemoryPressure()
    io: IoPressure = IoPressure()
    irq: IrqPressure = IrqPressure()
    cpu_time: CpuTime = CpuTime()
    load: Load = Load()
    activity: Activity = Activity()


Stat = Mapping[str, str]
Stall = TypeVar("Stall", bound=Section)


@probe(of="host", cadence="tick")
def pressure(host: Host, _target: Target) -> Pressure:
    stat = then(host.text(STAT), _stat)
    cpu, memory, io, irq = (then(host.text(f"/proc/pressure/{name}"), stalls) for name in RESOURCES)
    return Pressure(
        cpu=CpuPressure(some=_read(CpuSome, cpu, "some")),
        memory=MemoryPressure(some=_read(MemorySome, memory, "some"), full=_read(MemoryFull, memory, "full")),
        io=IoPressure(some=_read(IoSome, io, "some"), full=_read(IoFull, io, "full")),
        irq=IrqPressure(full=_read(IrqFull, irq, "full")),
        cpu_time=_cpu_time(stat),
        load=_load(then(host.text("/proc/loadavg"), loadavg)),
        activity=Activity(**{name: _first(stat, name) for name in Activity.__facts__}),
    )


def stalls(text: str) -> Mapping[str, tuple[int, int]]:
    """`some avg10=0.26 avg60=0.06 avg300=0.01 total=1138578` -> some: (1138578, 26), in us and 1/100 %."""
    table: dict[str, tuple[int, int]] = {}
    for line in text.splitlines():
        who, *pairs = line.split()
        values = dict(pair.split("=") for pair in pairs)
        table[who] = int(values["total"]), hundredths(values["avg10"])
    return table


def hundredths(decimal: str) -> int:
    """`2.83` -> 283: the kernel prints two decimals."""
    whole, point, part = decimal.partition(".")
    if not point or len(part) != 2:
        raise ValueError(f"expected two decimals, got {decimal!r}")
    return int(whole) * 100 + int(part)


def _read(section: type[Stall], table: Seen[Mapping[str, tuple[int, int]]], who: str) -> Stall:
    values = then(table, lambda lines: lines.get(who, Gap("unsupported", f"this kernel does not tell `{who}`")))
    return section(total=then(values, itemgetter(0)), avg10=then(values, itemgetter(1)))


def _stat(text: str) -> Stat:
    """The lines by name, without those of single CPUs."""
    lines = (line.partition(" ") for line in text.splitlines())
    return {name: rest for name, _, rest in lines if not name[3:].isdigit()}


def _first(stat: Seen[Stat], name: str) -> Seen[int]:
    """The first number of a line: the total of `intr` and `softirq`, which go on for each kind."""
    return then(_line(stat, name), lambda rest: int(rest.split(None, 1)[0]))


def _line(stat: Seen[Stat], name: str) -> Seen[str]:
    return then(stat, lambda lines: lines.get(name, Gap("unsupported", f"this kernel does not tell `{name}`")))


def _cpu_time(stat: Seen[Stat]) -> CpuTime:
    """Columns were added on the right: steal with Linux 2.6.11, guest with 2.6.24."""
    numbers = then(_line(stat, "cpu"), lambda rest: tuple(map(int, rest.split())))
    return CpuTime(**{name: then(numbers, partial(_column, at)) for at, name in enumerate(CpuTime.__facts__)})


def _column(at: int, numbers: tuple[int, ...]) -> Seen[int]:
    return numbers[at] if at < len(numbers) else Gap("unsupported", "this kernel has fewer columns in /proc/stat")


def loadavg(text: str) -> tuple[int, ...]:
    """`0.03 0.06 0.02 1/96 9190` -> (3, 6, 2, 96)."""
    *averages, threads, _ = text.split()
    return (*map(hundredths, averages), int(threads.partition("/")[2]))


def _load(numbers: Seen[tuple[int, ...]]) -> Load:
    return Load(**{name: then(numbers, itemgetter(at)) for at, name in enumerate(Load.__facts__)})
