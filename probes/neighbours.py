"""Who else was on the machine: the process table, without the run's tree and fingerprint itself, by program.

Only `stat` of other processes is read: it takes no lock that a process in state D may hold, and every user
may read it. Programs below one hundredth of a CPU are left out, so a quiet host tells nothing.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

from probes.kit.facts import Gap, Map, Section, Seen, telemetry, then
from probes.kit.host import Host
from probes.kit.probe import Target, probe
from probes.kit.processes import TICKS, Stat, descended, stat

LEAST = 10  # thousandths of a CPU
SHORTEST = 20  # clock ticks: of less, one tick more or less is a share of its own
NAMELESS = "(no name)"
"""A process may call itself nothing (PR_SET_NAME); no path has an empty segment."""
_INIT, _KTHREADD = 1, 2


K = TypeVar("K", int, str)


class Program(Section):
    """All processes of one name, with those that they started and that ended since: a compiler that no reading sees
    counts as its make. Kernel threads are bracketed and without what follows a slash."""

    cpu: Seen[int] = telemetry(
        "Who took CPU time that the run may have waited for",
        "/proc/*/stat utime, stime, cutime, cstime",
        "1/1000 of a CPU",
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
    """One process. Times are clock ticks; `started` counts them since boot. cpu: with that of children waited for."""

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
        if not since or at - since < SHORTEST:
            return Gap("absent", "nothing to compare with yet")
        had = _handed_up(before, rows)
        used = {
            pid: max(0, row.cpu - _cpu_before(before.get(pid), row, since) - had.get(pid, 0))
            for pid, row in rows.items()
        }
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
    at = then(host.text("/proc/uptime"), lambda text: int(TICKS * float(text.split()[0])))
    rows = then(host.names("/proc"), lambda names: _others(host, names, target.pid))
    return Neighbours(
        programs=then(at, lambda ticks: then(rows, lambda found: _table(host, target.pid).programs(found, ticks)))
    )


def _others(host: Host, names: Iterable[str], main: int) -> Seen[Mapping[int, Row]]:
    """Everybody's row, less the tree of main and that of fingerprint, which is the parent of this reader."""
    found = {pid: stat(host, pid) for pid in map(int, filter(str.isdecimal, names))}
    rows = {pid: _row(pid, seen) for pid, seen in found.items() if not isinstance(seen, Gap)}
    if _INIT not in rows:
        return Gap("denied", "/proc shows no processes of other users (hidepid)")
    reader = stat(host, "self")
    parents = {pid: row.parent for pid, row in rows.items()}
    ours = descended(parents, {main} if isinstance(reader, Gap) else {main, reader.parent})
    return {pid: row for pid, row in rows.items() if pid not in ours}


def _row(pid: int, seen: Stat) -> Row:
    kernel = _KTHREADD in (seen.parent, pid)
    program = f"[{seen.name.partition('/')[0]}]" if kernel else seen.name or NAMELESS
    cpu = seen.user + seen.system + seen.waited_user + seen.waited_system
    return Row(program, seen.state, seen.parent, cpu, seen.started)


def _cpu_before(before: Row | None, now: Row, since: int) -> int:
    """What it had used already. Of one that was not seen, nothing if it is younger than the reading before."""
    if before is not None and before.started == now.started:
        return before.cpu
    return 0 if now.started >= since else now.cpu


def _handed_up(before: Mapping[int, Row], now: Mapping[int, Row]) -> Mapping[int, int]:
    """What those that ended had used already at the reading before, which whoever waited for them has now."""
    gone = {pid: row for pid, row in before.items() if pid not in now or now[pid].started != row.started}
    return _sums((_heir(row, gone), row.cpu) for row in gone.values())


def _heir(row: Row, gone: Mapping[int, Row]) -> int:
    while row.parent in gone:
        row = gone[row.parent]
    return row.parent


def _sums(pairs: Iterable[tuple[K, int]]) -> dict[K, int]:
    sums: dict[K, int] = {}
    for key, value in pairs:
        sums[key] = sums.get(key, 0) + value
    return sums


def _program(rows: Iterable[Row], name: str, cpu: int) -> Program:
    states = [row.state for row in rows if row.program == name]
    return Program(cpu=cpu, processes=len(states), blocked=states.count("D"))
