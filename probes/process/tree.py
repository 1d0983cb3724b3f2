"""Who descends from a process, and by which names its family goes in fact paths."""

from functools import lru_cache

from probes.kit.facts import Gap
from probes.kit.host import Host
from probes.kit.interpreters import named
from probes.kit.probe import MAIN, Target
from probes.kit.processes import family


class Names:
    """The names of one tree's members, kept between calls: who was named stays so while it runs the same
    program, and no number is given twice."""

    def __init__(self, _host: Host, root: int) -> None:
        self._root = root
        self._given: dict[int, tuple[str, int]] = {}
        self._counts: dict[str, int] = {}

    def of(self, pid: int, program: str) -> str:
        if pid == self._root:
            return MAIN
        if self._given.get(pid, ("", 0))[0] != program:
            self._counts[program] = self._counts.get(program, 0) + 1
            self._given[pid] = program, self._counts[program]
        return f"{MAIN}.{program}.{self._given[pid][1]}"


_names = lru_cache(maxsize=16)(Names)


def tree(host: Host, pid: int) -> tuple[Target, ...]:
    """The process as `main` and its live descendants as `main.PROGRAM.N`, in the order they were started.

    PROGRAM is the executable's name, an interpreter's without its version, and N counts from 1 per name. The
    same Host gives the same process the same name again.
    """
    members = sorted(family(host, pid), key=lambda member: (member[1].started, member[0]))
    names = _names(host, pid)
    return tuple(Target(names.of(member, program_name(host, member)), member) for member, _ in members)


def program_name(host: Host, pid: int) -> str:
    """Of its executable; where that may not be read, the name the kernel has (comm)."""
    executable = host.link(f"/proc/{pid}/exe")
    if isinstance(executable, Gap):
        name = host.line(f"/proc/{pid}/comm")
        return "unknown" if isinstance(name, Gap) or not name else name
    base = executable.removesuffix(" (deleted)").rpartition("/")[2]
    interpreter = named(base)
    return base.removesuffix("t").rstrip("0123456789.") if interpreter and interpreter.version else base
