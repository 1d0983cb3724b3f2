"""Who descends from a process, and by which names its family goes in fact paths."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from probes.kit.facts import Gap
from probes.kit.host import Host
from probes.kit.probe import Target
from probes.process.attributes import Stat, stat
from probes.process.interpreters import named

MAIN = "main"


class Parents:
    """Who started whom, on the whole host.

    Kept between calls, so that each call reads the list of processes and the newcomers only: `stat` of 2,000
    processes takes 20 ms, their list 1 ms. /proc/PID/task/TID/children would be exact as well, but has to be
    read for every thread (a server of 8 GPUs has some 3,000) and needs CONFIG_PROC_CHILDREN. A pid that was
    reused between two calls keeps its former parent here.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._parents: dict[int, int] = {}

    def children(self) -> dict[int, list[int]]:
        """Parent -> live children."""
        listed = self._host.names("/proc")
        pids = set() if isinstance(listed, Gap) else {int(name) for name in listed if name.isdecimal()}
        known = self._parents
        # The children of who is gone have a new parent.
        self._parents = {
            pid: parent for pid, parent in known.items() if pid in pids and (parent in pids or parent == 0)
        }
        for pid in pids - self._parents.keys():
            seen = stat(self._host, pid)
            if not isinstance(seen, Gap):
                self._parents[pid] = seen.parent
        return self._grouped()

    def _grouped(self) -> dict[int, list[int]]:
        grouped: dict[int, list[int]] = {}
        for pid, parent in self._parents.items():
            grouped.setdefault(parent, []).append(pid)
        return grouped


_parents = lru_cache(maxsize=4)(Parents)


def family(host: Host, pid: int) -> Iterator[tuple[int, Stat]]:
    """The process and its descendants that are alive, with their `stat`; in no order."""
    children = _parents(host).children()
    left = [pid]
    while left:
        member = left.pop()
        left.extend(children.get(member, ()))
        seen = stat(host, member)
        if not isinstance(seen, Gap) and not seen.dead:
            yield member, seen


def tree(host: Host, pid: int, known: Sequence[Target] = ()) -> tuple[Target, ...]:
    """The process as `main` and its live descendants as `main.PROGRAM.N`, in the order they were started.

    PROGRAM is the executable's name, an interpreter's without its version, and N counts from 1 per name. Who
    is in `known`, as an earlier call gave it, keeps that name while it runs the same program.
    """
    members = sorted(family(host, pid), key=lambda member: (member[1].started, member[0]))
    programs = {member: MAIN if member == pid else program_name(host, member) for member, _ in members}
    names = dict(_kept(known, programs))
    counts = _highest(target.name for target in known)
    for member, program in programs.items():
        if member not in names:
            counts[program] = counts.get(program, 0) + 1
            names[member] = MAIN if member == pid else f"{MAIN}.{program}.{counts[program]}"
    return tuple(Target(names[member], member) for member in programs)


def program_name(host: Host, pid: int) -> str:
    """Of its executable; where that may not be read, the name the kernel has (comm)."""
    executable = host.link(f"/proc/{pid}/exe")
    if isinstance(executable, Gap):
        name = host.line(f"/proc/{pid}/comm")
        return "unknown" if isinstance(name, Gap) or not name else name
    base = executable.removesuffix(" (deleted)").rpartition("/")[2]
    interpreter = named(base)
    return base.removesuffix("t").rstrip("0123456789.") if interpreter and interpreter.version else base


def _kept(known: Sequence[Target], programs: dict[int, str]) -> Iterator[tuple[int, str]]:
    for name, pid in known:
        if pid in programs and _program_of(name) == programs[pid]:
            yield pid, name


def _program_of(name: str) -> str:
    return MAIN if name == MAIN else name.removeprefix(f"{MAIN}.").rpartition(".")[0]


def _highest(names: Iterable[str]) -> dict[str, int]:
    """Per program the highest N that was given."""
    counts: dict[str, int] = {}
    for name in names:
        number = name.rpartition(".")[2]
        if number.isdecimal():
            counts[_program_of(name)] = max(counts.get(_program_of(name), 0), int(number))
    return counts
