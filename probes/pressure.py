"""What the host is busy with and what waits: pressure stall information, load and CPU time.

Read several times a second, so three things only: /proc/pressure, /proc/stat and /proc/loadavg.
"""

from collections.abc import Mapping
from operator import itemgetter

from probes.kit.facts import Gap, Section, Seen, counter, telemetry, then
from probes.kit.host import Host
from probes.kit.probe import Target, probe

STAT = "/proc/stat"
TICKS = "ticks of 1/100 s"  # USER_HZ, 100 on every architecture that GPUs are served from
HUNDREDTHS = "1/100 %"


def _stall(why: str, resource: str, who: str) -> Seen[int]:
    return counter(why, f"/proc/pressure/{resource}, {who} total", "us")  # type: ignore[no-any-return]


def _share(why: str, resource: str, who: str) -> Seen[int]:
    return telemetry(why, f"/proc/pressure/{resource}, {who} avg10", HUNDREDTHS)  # type: ignore[no-any-return]


class CpuPressure(Section):
    """`full` of the CPU has no meaning for a whole host: the kernel tells 0."""

    some_total: Seen[int] = _stall(
        "time in which a thread could run and had no core: a neighbour, or too many threads", "cpu", "some"
    )
    some_avg10: Seen[int] = _share("share of the last 10 s in which a thread waited for a core", "cpu", "some")


class MemoryPressure(Section):
    some_total: Seen[int] = _stall(
        "time in which a thread waited for memory: reclaim, compaction, refault or swap", "memory", "some"
    )
    full_total: Seen[int] = _stall("time in which nothing ran because of memory: thrashing", "memory", "full")
    some_avg10: Seen[int] = _share("share of the last 10 s in which a thread waited for memory", "memory", "some")
    full_avg10: Seen[int] = _share("share of the last 10 s lost whole to memory", "memory", "full")


class IoPressure(Section):
    some_total: Seen[int] = _stall("time in which a thread waited for a disk: weights, cache or logs", "io", "some")
    full_total: Seen[int] = _stall(
        "time in which nothing ran because of disks: start-up bound by storage", "io", "full"
    )
    some_avg10: Seen[int] = _share("share of the last 10 s in which a thread waited for a disk", "io", "some")
    full_avg10: Seen[int] = _share("share of the last 10 s lost whole to disks", "io", "full")


class IrqPressure(Section):
    """Since Linux 6.1, with CONFIG_IRQ_TIME_ACCOUNTING; `full` only."""

    full_total: Seen[int] = _stall(
        "time that interrupts took from running threads: a network card or a storm", "irq", "full"
    )
    full_avg10: Seen[int] = _share("share of the last 10 s that interrupts took", "irq", "full")


class CpuTime(Section):
    """First line of /proc/stat: all CPUs together. The kernel lets idle and iowait fall back a little at times."""

    user: Seen[int] = counter(
        "time in programs, guests included: the run's own and its neighbours'", f"{STAT}, cpu user", TICKS
    )
    nice: Seen[int] = counter("time in programs of lowered priority: background jobs", f"{STAT}, cpu nice", TICKS)
    system: Seen[int] = counter("time in the kernel: system calls, faults, copies", f"{STAT}, cpu system", TICKS)
    idle: Seen[int] = counter("time with nothing to run: what was left to be had", f"{STAT}, cpu idle", TICKS)
    iowait: Seen[int] = counter(
        "idle time with a disk request under way; a hint, no measure", f"{STAT}, cpu iowait", TICKS
    )
    irq: Seen[int] = counter("time in interrupt handlers: an interrupt storm shows here", f"{STAT}, cpu irq", TICKS)
    softirq: Seen[int] = counter(
        "time in deferred interrupt work: packets, timers, block completions", f"{STAT}, cpu softirq", TICKS
    )
    steal: Seen[int] = counter("time the hypervisor gave this guest's CPUs to others", f"{STAT}, cpu steal", TICKS)
    guest: Seen[int] = counter("time spent running virtual machines on this host", f"{STAT}, cpu guest", TICKS)


class Load(Section):
    """/proc/loadavg in hundredths: threads that run, wait for a core or sleep in state D."""

    load1: Seen[int] = telemetry(
        "load of the last minute: whether the host was quiet when the run began", "/proc/loadavg, first", "1/100"
    )
    load5: Seen[int] = telemetry(
        "load of the last 5 minutes: what went on before the run", "/proc/loadavg, second", "1/100"
    )
    load15: Seen[int] = telemetry("load of the last 15 minutes: the host's habit", "/proc/loadavg, third", "1/100")
    threads: Seen[int] = telemetry("all threads of the host: leaks and orphaned workers", "/proc/loadavg, fourth")


class Activity(Section):
    ctxt: Seen[int] = counter("context switches: threads that fight for cores or wake each other", f"{STAT}, ctxt")
    processes: Seen[int] = counter("forks: a monitoring script or a compiler beside the run", f"{STAT}, processes")
    intr: Seen[int] = counter("interrupts of all kinds: devices and timers that break into the run", f"{STAT}, intr")
    softirq: Seen[int] = counter("deferred interrupts of all kinds: network and timer load", f"{STAT}, softirq")
    procs_running: Seen[int] = telemetry(
        "threads running or waiting for a core now, against the number of cores", f"{STAT}, procs_running"
    )
    procs_blocked: Seen[int] = telemetry("threads waiting for a disk now, in state D", f"{STAT}, procs_blocked")


class Pressure(Section):
    cpu: CpuPressure = CpuPressure()
    memory: MemoryPressure = MemoryPressure()
    io: IoPressure = IoPressure()
    irq: IrqPressure = IrqPressure()
    cpu_time: CpuTime = CpuTime()
    load: Load = Load()
    activity: Activity = Activity()


Stalls = Mapping[str, int]
Stat = Mapping[str, str]


@probe(of="host", cadence="tick")
def pressure(host: Host, _target: Target) -> Pressure:
    stat = then(host.text(STAT), _stat)
    return Pressure(
        cpu=CpuPressure(**_stalls(host, "cpu", CpuPressure)),
        memory=MemoryPressure(**_stalls(host, "memory", MemoryPressure)),
        io=IoPressure(**_stalls(host, "io", IoPressure)),
        irq=IrqPressure(**_stalls(host, "irq", IrqPressure)),
        cpu_time=_cpu_time(stat),
        load=_load(then(host.text("/proc/loadavg"), loadavg)),
        activity=Activity(**{name: _first(stat, name) for name in Activity.__facts__}),
    )


def _stalls(host: Host, resource: str, section: type[Section]) -> dict[str, Seen[int]]:
    table = then(host.text(f"/proc/pressure/{resource}"), stalls)
    return {name: _named(table, name) for name in section.__facts__}


def stalls(text: str) -> Stalls:
    """`some avg10=0.26 avg60=0.06 avg300=0.01 total=1138578`, likewise `full`: totals in us, shares in 1/100 %."""
    table: dict[str, int] = {}
    for line in text.splitlines():
        who, *pairs = line.split()
        for name, _, value in (pair.partition("=") for pair in pairs):
            table[f"{who}_{name}"] = int(value) if name == "total" else hundredths(value)
    return table


def hundredths(decimal: str) -> int:
    """`2.83` -> 283: the kernel prints two decimals."""
    whole, point, part = decimal.partition(".")
    if not point or len(part) != 2:
        raise ValueError(f"expected two decimals, got {decimal!r}")
    return int(whole) * 100 + int(part)


def _named(table: Seen[Stalls], name: str) -> Seen[int]:
    if isinstance(table, Gap):
        return table
    return table.get(name, Gap("unsupported", f"this kernel does not tell {name}"))


def _stat(text: str) -> Stat:
    """The lines by name, without those of single CPUs."""
    lines = (line.partition(" ") for line in text.splitlines())
    return {name: rest for name, _, rest in lines if not name[3:].isdigit()}


def _first(stat: Seen[Stat], name: str) -> Seen[int]:
    """The first number of a line: the total of `intr` and `softirq`, which go on for each kind."""
    return then(stat, lambda lines: int(lines[name].split(None, 1)[0]))


def _cpu_time(stat: Seen[Stat]) -> CpuTime:
    numbers = then(stat, lambda lines: tuple(map(int, lines["cpu"].split())))
    return CpuTime(**{name: then(numbers, itemgetter(at)) for at, name in enumerate(CpuTime.__facts__)})


def loadavg(text: str) -> tuple[int, ...]:
    """`0.03 0.06 0.02 1/96 9190` -> (3, 6, 2, 96)."""
    *averages, threads, _ = text.split()
    return (*map(hundredths, averages), int(threads.partition("/")[2]))


def _load(numbers: Seen[tuple[int, ...]]) -> Load:
    return Load(**{name: then(numbers, itemgetter(at)) for at, name in enumerate(Load.__facts__)})
