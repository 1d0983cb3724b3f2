"""Who descends from a process, and by which names its family goes in fact paths."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from probes.kit.engines import LIKELY, Member, names_of, part_of
from probes.kit.facts import Gap, seen_or
from probes.kit.host import Host
from probes.kit.interpreters import named
from probes.kit.probe import MAIN, Target
from probes.kit.processes import Stat, family

Family = Iterable[tuple[int, Stat]]


class Names:
    """The names of one tree's members, kept between calls: who was named stays so while it runs the same
    program, and no number is given twice."""

    def __init__(self, _host: Host, root: Target) -> None:
        self._root = root
        self._numbered: dict[int, tuple[str, int]] = {}
        self._counts: dict[str, int] = {}

    def of(self, pid: int, program: str) -> str:
        if pid == self._root.pid:
            return self._root.name
        if self._numbered.get(pid, ("", 0))[0] != program:
            self._counts[program] = self._counts.get(program, 0) + 1
            self._numbered[pid] = program, self._counts[program]
        return f"{self._root.name}.{program}.{self._numbered[pid][1]}"


class Face(NamedTuple):
    """What a process looked like, and how often that told nothing of an engine."""

    started: int
    name: str
    member: Member
    asked: int


class Faces:
    """The members of one tree, with arguments that are not read again of who looks the same.

    Redacting them takes far longer than all else here, and compilers start Pythons by the hundred. A process that
    gets a title gets another name with it; one that tells nothing is asked some times more, as it may yet become
    another program of the same name.
    """

    def __init__(self, _host: Host, _root: Target) -> None:
        self._faces: dict[int, Face] = {}

    def members(self, host: Host, family: Family) -> list[Member]:
        self._faces = {pid: self._face(host, pid, seen) for pid, seen in family}
        return [face.member for face in self._faces.values()]

    def _face(self, host: Host, pid: int, seen: Stat) -> Face:
        before = self._faces.get(pid)
        same = before if before and (before.started, before.name) == (seen.started, seen.name) else None
        if same and same.asked >= _ENOUGH:
            return same._replace(member=same.member._replace(parent=seen.parent))
        member = member_of(host, pid, seen)
        told = part_of(member.argv, member.env) is not None
        return Face(seen.started, seen.name, member, _ENOUGH if told else 1 + (same.asked if same else 0))


_ENOUGH = 10
_names = lru_cache(maxsize=16)(Names)
_faces = lru_cache(maxsize=16)(Faces)


def tree(host: Host, root: Target) -> tuple[Target, ...]:
    """The process under its own name and its live descendants, in the order they were started.

    A server of an engine, and what it is made of, goes by the engine and its part, `sglang-30000.tp3`; any other
    descendant is `ROOT.PROGRAM.N`. PROGRAM is the executable's name, an interpreter's without its version, and N
    counts from 1 per name. The same Host gives the same process the same name again, until its engine tells more.
    """
    members = sorted(family(host, root.pid), key=lambda member: (member[1].started, member[0]))
    names, told = _names(host, root), _told(host, root, members)
    return tuple(Target(told.get(pid) or names.of(pid, program_name(host, pid)), pid) for pid, _ in members)


def _told(host: Host, root: Target, members: Family) -> Mapping[int, str]:
    """Of all but the root. Where that is a server itself the parts begin with its name, unless that is `main`."""
    names = names_of(_faces(host, root).members(host, members))
    own = root.name if root.name == MAIN else names.get(root.pid, root.name)
    return {pid: _renamed(name, own, root.name) for pid, name in names.items() if pid != root.pid}


def _renamed(name: str, server: str, called: str) -> str:
    head, dot, part = name.partition(".")
    return f"{called}{dot}{part}" if head == server else name


def member_of(host: Host, pid: int, seen: Stat) -> Member:
    """With its arguments where it may be an engine's, and its variables where the arguments say so. Both are read
    under a lock that a process in state D may hold, and of such a one neither is."""
    if not LIKELY.match(seen.name) or seen.state == "D":
        return Member(pid, seen.parent, ())
    argv = seen_or(host.arguments(pid), ())
    return Member(pid, seen.parent, argv, _variables(host, pid) if part_of(argv, {}) else {})


def _variables(host: Host, pid: int) -> Mapping[str, str]:
    environ = host.environ(pid)
    items = {} if isinstance(environ, Gap) else environ.items
    return {name: value for name, value in items.items() if isinstance(value, str)}


def program_name(host: Host, pid: int) -> str:
    """Of its executable; where that may not be read, the name the kernel has (comm)."""
    executable = host.link(f"/proc/{pid}/exe")
    if isinstance(executable, Gap):
        name = host.line(f"/proc/{pid}/comm")
        return "unknown" if isinstance(name, Gap) or not name else name
    base = executable.removesuffix(" (deleted)").rpartition("/")[2]
    interpreter = named(base)
    return base.removesuffix("t").rstrip("0123456789.") if interpreter and interpreter.version else base
