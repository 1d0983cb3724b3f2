"""What the run's whole tree uses, at each tick: CPU time, memory, waiting, and where its cgroup held it back."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from probes.kit.cgroups import Groups, groups, memberships
from probes.kit.facts import Gap, Map, Section, Seen, counter, telemetry, then
from probes.kit.host import Host
from probes.kit.parse import fields, kib
from probes.kit.probe import Target, probe
from probes.kit.processes import TICKS, Stat, family

_TICK = 1000 // TICKS  # ms
_ENDED = Gap("absent", "the process ended")
_NOT_COUNTED = Gap("unsupported", "cgroup v1 counts kills since Linux 4.13")


class CgroupUsage(Section):
    """Of the control group that main stands in, and for throttling of its ancestors too, whose quota binds as well."""

    nr_periods: Seen[int] = counter(
        "The yardstick of nr_throttled: periods in which something wanted to run", "cpu.stat", "periods"
    )
    nr_throttled: Seen[int] = counter(
        "A quota counts as a cause only where it bound: each of these periods ended with threads stopped",
        "cpu.stat",
        "periods",
        trouble=True,
    )
    throttled_usec: Seen[int] = counter(
        "Time for which the quota held CPUs back, summed over them",
        "cpu.stat throttled_usec, throttled_time",
        "us",
        trouble=True,
    )
    memory_current: Seen[int] = telemetry(
        "How near the group is to memory.max; its page cache counts", "memory.current, memory.usage_in_bytes", "B"
    )
    memory_peak: Seen[int] = telemetry(
        "The most that the group held since it was made or reset", "memory.peak, memory.max_usage_in_bytes", "B"
    )
    memory_events: Seen[Map[Seen[int]]] = counter(
        "high and max: reclaim or throttling at the limit; oom_kill: somebody died of it",
        "memory.events, memory.failcnt, memory.oom_control",
        "events",
        trouble=True,
    )
    pids_events: Seen[int] = counter(
        "Each is a thread or process that could not be started, because the group had as many as it may",
        "pids.events max",
        "events",
        trouble=True,
    )
    pressure: Seen[Map[Seen[int]]] = counter(
        "Time for which some task of this group waited for CPU, memory or disk, others of the host left out",
        "cpu.pressure, memory.pressure, io.pressure: some",
        "us",
    )


class Usage(Section):
    """Sums over the process and its live descendants."""

    user: Seen[int] = counter(
        "Code of the run itself, children that were waited for included", "/proc/PID/stat utime, cutime", "ms"
    )
    system: Seen[int] = counter(
        "Faults, launches and copies cost here; it grows when the kernel or driver path changed",
        "/proc/PID/stat stime, cstime",
        "ms",
    )
    rss: Seen[int] = telemetry(
        "Resident now; shared pages count in every process that maps them", "/proc/PID/status VmRSS", "kB"
    )
    hwm: Seen[int] = telemetry(
        "The peaks of all live processes; their sum bounds what the run needed at one time",
        "/proc/PID/status VmHWM",
        "kB",
    )
    processes: Seen[int] = telemetry("A worker that died or a helper too many shows here", "/proc/*/stat", "processes")
    threads: Seen[int] = telemetry(
        "More runnable threads than CPUs turn every barrier into a wait", "/proc/PID/stat num_threads", "threads"
    )
    voluntary_switches: Seen[int] = counter(
        "How often main threads waited for something else: locks, queues, the GPU",
        "/proc/PID/status voluntary_ctxt_switches, main threads only",
        "switches",
    )
    involuntary_switches: Seen[int] = counter(
        "How often main threads were pushed off a CPU that others wanted",
        "/proc/PID/status nonvoluntary_ctxt_switches, main threads only",
        "switches",
    )
    run_delay: Seen[int] = counter(
        "Time for which main threads were ready and no CPU was free: neighbours or too narrow an affinity",
        "/proc/PID/schedstat field 2, main threads only",
        "ns",
    )
    major_faults: Seen[int] = counter(
        "Pages that had to come from disk: a cold page cache, or swap", "/proc/PID/stat majflt, cmajflt", "faults"
    )
    read_bytes: Seen[int] = counter(
        "What the storage really delivered: weights that were not in the page cache", "/proc/PID/io", "B"
    )
    write_bytes: Seen[int] = counter("What was sent to storage: logs, caches, compiled kernels", "/proc/PID/io", "B")
    cgroup: CgroupUsage = CgroupUsage()


class Member(NamedTuple):
    """One process of the tree."""

    stat: Stat
    status: Seen[Mapping[str, str]]
    schedstat: Seen[str]
    io: Seen[Mapping[str, str]]

    def status_number(self, name: str, parse: Callable[[str], int] = int) -> Seen[int]:
        return then(self.status, lambda lines: _number(lines, name, parse))

    def io_number(self, name: str) -> Seen[int]:
        return then(self.io, lambda lines: _number(lines, name, int))

    def run_delay(self) -> Seen[int]:
        """Its second number; a kernel without CONFIG_SCHED_INFO has no such file, or zeros."""
        return then(self.schedstat, lambda line: int(line.split()[1]))


def _number(lines: Mapping[str, str], name: str, parse: Callable[[str], int]) -> Seen[int]:
    """A process that is exiting has given back its memory and shows no such line any more."""
    return parse(lines[name]) if name in lines else Gap("absent", f"no {name}")


class Departed:
    """Keeps a sum over processes from falling when one ends: what it had counts on.

    The kernel hands CPU time, faults and bytes of a child to the parent that waits for it, but neither
    switches nor run delay.
    """

    def __init__(self) -> None:
        self._last: Mapping[int, int] = {}
        self._kept = 0

    def total(self, now: Mapping[int, int]) -> int:
        self._kept += sum(value for pid, value in self._last.items() if now.get(pid, -1) < value)
        self._last = now
        return self._kept + sum(now.values())


@lru_cache(maxsize=16)
def _departed(_host: Host, _pid: int, _fact: str) -> Departed:
    return Departed()


class Family:
    """The live members of the tree of `pid`, each read once."""

    def __init__(self, host: Host, pid: int) -> None:
        self._host, self._pid = host, pid
        self.members = {member: _member(host, member, stat) for member, stat in family(host, pid)}

    @property
    def alive(self) -> bool:
        return self._pid in self.members

    def stats(self, read: Callable[[Stat], int]) -> int:
        return sum(read(member.stat) for member in self.members.values())

    def now(self, read: Callable[[Member], Seen[int]]) -> Seen[int]:
        return then(self._column(read), lambda column: sum(column.values()))

    def ever(self, fact: str, read: Callable[[Member], Seen[int]]) -> Seen[int]:
        """The sum with those that ended since the first tick."""
        return then(self._column(read), _departed(self._host, self._pid, fact).total)

    def _column(self, read: Callable[[Member], Seen[int]]) -> Seen[Mapping[int, int]]:
        """Who ends meanwhile is left out; any other gap is the answer, since the rest would be no sum of the tree."""
        column = {}
        for pid, member in self.members.items():
            seen = read(member)
            if not isinstance(seen, Gap):
                column[pid] = seen
            elif seen.code != "absent":
                return seen
        return column or _ENDED


def _member(host: Host, pid: int, stat: Stat) -> Member:
    status, io = (then(host.text(f"/proc/{pid}/{name}"), fields) for name in ("status", "io"))
    return Member(stat, status, host.line(f"/proc/{pid}/schedstat"), io)


@probe(of="process", cadence="tick")
def usage(host: Host, target: Target) -> Usage:
    tree = Family(host, target.pid)
    if not tree.alive:
        return _NOTHING
    return Usage(
        user=_TICK * tree.stats(lambda stat: stat.user + stat.waited_user),
        system=_TICK * tree.stats(lambda stat: stat.system + stat.waited_system),
        rss=tree.now(lambda member: member.status_number("VmRSS", kib)),
        hwm=tree.now(lambda member: member.status_number("VmHWM", kib)),
        processes=len(tree.members),
        threads=tree.stats(lambda stat: stat.threads),
        voluntary_switches=tree.ever("voluntary", lambda member: member.status_number("voluntary_ctxt_switches")),
        involuntary_switches=tree.ever(
            "involuntary", lambda member: member.status_number("nonvoluntary_ctxt_switches")
        ),
        run_delay=tree.ever("delay", Member.run_delay),
        major_faults=tree.stats(lambda stat: stat.major_faults + stat.waited_major_faults),
        read_bytes=tree.now(lambda member: member.io_number("read_bytes")),
        write_bytes=tree.now(lambda member: member.io_number("write_bytes")),
        cgroup=_cgroup(host, target.pid),
    )


_NOTHING = Usage(
    **{name: _ENDED for name in Usage.__struct_fields__ if name != "cgroup"},
    cgroup=CgroupUsage(**dict.fromkeys(CgroupUsage.__struct_fields__, _ENDED)),
)


def _cgroup(host: Host, pid: int) -> CgroupUsage:
    joined = memberships(host, pid)
    cpu = then(groups(host, joined, "cpu"), lambda at: _throttling(host, at))
    memory = groups(host, joined, "memory")
    return CgroupUsage(
        nr_periods=then(cpu, lambda seen: seen["nr_periods"]),
        nr_throttled=then(cpu, lambda seen: seen["nr_throttled"]),
        throttled_usec=then(cpu, lambda seen: seen["throttled_usec"]),
        memory_current=then(memory, lambda at: _own(host, at, ("memory.current", "memory.usage_in_bytes"))),
        memory_peak=then(memory, lambda at: _own(host, at, ("memory.peak", "memory.max_usage_in_bytes"))),
        memory_events=then(memory, lambda at: _events(host, at)),
        pids_events=then(groups(host, joined, "pids"), lambda at: _refused(host, at)),
        pressure=then(memory, lambda at: _pressure(host, at)),
    )


def _own(host: Host, at: Groups, names: tuple[str, str]) -> Seen[int]:
    return host.number(f"{at.folders[0]}/{names[0] if at.version == 2 else names[1]}")


def _throttling(host: Host, at: Groups) -> Seen[Mapping[str, int]]:
    """Summed over the group and its ancestors; only a group with a quota counts periods."""
    sums = dict.fromkeys(("nr_periods", "nr_throttled", "throttled_usec"), 0)
    for folder in at.folders:
        seen = then(host.text(f"{folder}/cpu.stat"), lambda text: _in_microseconds(_words(text)))
        if not isinstance(seen, Gap):
            sums = {name: value + seen.get(name, 0) for name, value in sums.items()}
        elif seen.code not in ("absent", "not_read"):
            return seen
    return sums


def _in_microseconds(lines: dict[str, int]) -> dict[str, int]:
    """v1 has throttled_time, in nanoseconds."""
    return {**lines, "throttled_usec": lines["throttled_time"] // 1000} if "throttled_time" in lines else lines


def _words(text: str) -> dict[str, int]:
    """`NAME NUMBER` lines, as in cpu.stat and memory.events."""
    return {name: int(number) for name, number in (line.split() for line in text.splitlines())}


def _events(host: Host, at: Groups) -> Seen[Map[Seen[int]]]:
    own = at.folders[0]
    if at.version == 2:
        return then(host.text(f"{own}/memory.events"), lambda text: Map(_words(text)))
    killed = then(host.text(f"{own}/memory.oom_control"), lambda text: _words(text).get("oom_kill", _NOT_COUNTED))
    return Map({"max": host.number(f"{own}/memory.failcnt"), "oom_kill": killed})


def _refused(host: Host, at: Groups) -> Seen[int]:
    """The topmost group has no limit and no such file."""
    return then(host.text(f"{at.folders[0]}/pids.events"), lambda text: _words(text)["max"])


def _pressure(host: Host, at: Groups) -> Seen[Map[Seen[int]]]:
    if at.version == 1:
        return Gap("unsupported", "cgroup v1 does not count it")
    return Map({name: then(host.text(f"{at.folders[0]}/{name}.pressure"), _waited) for name in ("cpu", "memory", "io")})


def _waited(text: str) -> int:
    """`some avg10=0.00 avg60=0.00 avg300=0.00 total=12345` in the first line."""
    return int(text.splitlines()[0].rpartition("total=")[2])
