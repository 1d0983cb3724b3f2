"""Who else was on the machine: the process table, without the run's tree and fingerprint itself, by program.

Only `stat` of other processes is read: it takes no lock that a process in state D may hold, and every user
may read it. Programs below one hundredth of a CPU are left out, so a quiet host tells nothing.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from probes.kit.facts import Gap, Map, Section, Seen, telemetry, then
from probes.kit.host import Host
from probes.kit.probe import Target, probe

LEAST = 10  # thousandths of a CPU
_HZ = 100  # USER_HZ, in which stat counts times, on every architecture that serves
_KTHREADD = 2


class Program(Section):
    """All processes of one name; kernel threads are bracketed and without what follows a slash."""

    cpu: Seen[int] = telemetry(
        "Who took CPU time that the run may have waited for", "/proc/*/stat utime, stime", "1/1000 of a CPU"
    )
    processes: Seen[int] = telemetry(
        "One process at work, or a fleet of them that leaves no core alone", "/proc/*/stat", "processes"
    )
    blocked: Seen[int] = telemetry(
        "In state D: it hangs in a driver or on storage that the run may share", "/proc/*/stat", "processes"
    )


class Neighbours(Section):
    programs: Seen[Map[Program]] = telemetry(
        "Since the reading before, who was at work beside the run; nobody by name is nobody of weight",
        "/proc/*/stat",
        context=True,
    )


class Row(NamedTuple):
    """One process. Times are clock ticks of 1/100 s; `started` counts them since boot."""

    program: str
    state: str
    parent: int
    cpu: int
    started: int


class Table:
    """The rows of the reading before, against which those of now are held."""

    def __init__(self, _host: Host, _pid: int) -> None:
        self._before: Mapping[int, Row] = {}
        self._at = 0

    def programs(self, rows: Mapping[int, Row], at: int) -> Seen[Map[Program]]:
        """at: clock ticks since boot."""
        before, since = self._before, self._at
        self._before, self._at = rows, at
        if not since or at <= since:
            return Gap("absent", "nothing to compare with yet")
        used = {pid: row.cpu - _cpu_before(before.get(pid), row, since) for pid, row in rows.items()}
        busy = _sums((row.program, 1000 * used[pid]) for pid, row in rows.items())
        return Map(
            {
                program: _program(rows.values(), program, ticks // (at - since))
                for program, ticks in sorted(busy.items())
                if ticks // (at - since) >= LEAST
            }
        )


_table = lru_cache(maxsize=4)(Table)


@probe(of="process", cadence="slow")
def neighbours(host: Host, target: Target) -> Neighbours:
    at = then(host.text("/proc/uptime"), lambda text: int(_HZ * float(text.split()[0])))
    rows = then(host.names("/proc"), lambda names: _others(host, names, target.pid))
    return Neighbours(
        programs=then(at, lambda ticks: then(rows, lambda found: _table(host, target.pid).programs(found, ticks)))
    )


def _others(host: Host, names: Iterable[str], main: int) -> Mapping[int, Row]:
    """Everybody's row, less the tree of main and that of fingerprint, which is the parent of this reader."""
    found = {int(name): then(host.text(f"/proc/{name}/stat"), _row) for name in names if name.isdecimal()}
    rows = {pid: row for pid, row in found.items() if not isinstance(row, Gap)}
    reader = then(host.text("/proc/self/stat"), _row)
    ours = _family(rows, {main} if isinstance(reader, Gap) else {main, reader.parent})
    return {pid: row for pid, row in rows.items() if pid not in ours}


def _family(rows: Mapping[int, Row], roots: Iterable[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, row in rows.items():
        children.setdefault(row.parent, []).append(pid)
    members, left = set(), list(roots)
    while left:
        member = left.pop()
        members.add(member)
        left.extend(children.get(member, ()))
    return members


def _row(text: str) -> Row:
    """Of /proc/PID/stat (proc_pid_stat(5)); the name, in brackets, may hold brackets itself."""
    head, _, tail = text.rpartition(")")
    pid, _, name = head.partition(" (")
    state, parent, *rest = tail.split()
    kernel = _KTHREADD in (int(parent), int(pid))
    program = f"[{name.partition('/')[0]}]" if kernel else name
    # rest[0] is field 5 of the manual page
    return Row(program, state, int(parent), int(rest[9]) + int(rest[10]), int(rest[17]))


def _cpu_before(before: Row | None, now: Row, since: int) -> int:
    """What it had used already. Of one that was not seen, nothing if it is younger than the reading before."""
    if before is not None and before.started == now.started:
        return before.cpu
    return 0 if now.started >= since else now.cpu


def _sums(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for name, value in pairs:
        sums[name] = sums.get(name, 0) + value
    return sums


def _program(rows: Iterable[Row], name: str, cpu: int) -> Program:
    states = [row.state for row in rows if row.program == name]
    return Program(cpu=cpu, processes=len(states), blocked=states.count("D"))
