"""Processes and who descends from whom, as two or more areas read them."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from probes.kit.facts import Gap, Seen, then
from probes.kit.host import Host

_THREADS = 8
"""That are asked, those of the lowest numbers: mostly the oldest."""
TICKS = 100
"""Clock ticks a second, in which `stat` counts times: USER_HZ is 100 on every architecture that serves."""


class Stat(NamedTuple):
    """Of /proc/PID/stat (proc_pid_stat(5)). Times are clock ticks; `started` counts them since boot."""

    name: str
    state: str
    parent: int
    major_faults: int
    waited_major_faults: int
    user: int
    system: int
    waited_user: int
    waited_system: int
    nice: int
    threads: int
    started: int
    rt_priority: int
    policy: int

    @property
    def dead(self) -> bool:
        return self.state in "ZX"


def stat(host: Host, pid: int | Literal["self"]) -> Seen[Stat]:
    return then(host.text(f"/proc/{pid}/stat"), stat_of)


def stat_of(text: str) -> Stat:
    """The name, in brackets, may hold spaces and brackets itself: it ends with the last one."""
    name = text[text.index("(") + 1 : text.rindex(")")]
    state, *rest = text[text.rindex(")") + 1 :].split()
    n = [int(word) for word in rest]
    # n[0] is field 4 of the manual page
    return Stat(name, state, n[0], n[8], n[9], n[10], n[11], n[12], n[13], n[15], n[16], n[18], n[36], n[37])


def began(host: Host, pid: int) -> Seen[int]:
    """When the process was forked, in ns since 1970, to a second or two."""
    return _since_1970(host, then(stat(host, pid), lambda seen: seen.started))


def _since_1970(host: Host, since: Seen[int]) -> Seen[int]:
    """since: in ticks since boot."""
    boot = then(host.matching("/proc/stat", r"^btime (\d+)$"), lambda found: int(found[0]))
    return then(boot, lambda seconds: then(since, lambda ticks: seconds * 10**9 + ticks * (10**9 // TICKS)))


def ran(host: Host, pid: int) -> Seen[int]:
    """A time by which the process ran the program that it runs now, in ns since 1970, to a second or two: exec ends all
    threads but the first (execve(2)), so that each other one was started since. A start script that installs packages
    before it becomes the server began long before."""
    threads = then(host.names(f"/proc/{pid}/task"), lambda names: sorted(int(n) for n in names if int(n) != pid))
    seen = then(
        threads, lambda tids: [then(host.text(f"/proc/{pid}/task/{tid}/stat"), stat_of) for tid in tids[:_THREADS]]
    )
    ticks = then(seen, lambda all_: min((one.started for one in all_ if not isinstance(one, Gap)), default=None))
    since = then(
        ticks, lambda at: Gap("not_observable", "it has one thread: nothing tells since when") if at is None else at
    )
    return _since_1970(host, since)


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

    def now(self) -> Mapping[int, int]:
        """Pid -> parent."""
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
        return self._parents


_parents = lru_cache(maxsize=4)(Parents)


def family(host: Host, pid: int) -> Iterator[tuple[int, Stat]]:
    """The process and its descendants that are alive, with their `stat`; in no order."""
    for member in descended(_parents(host).now(), [pid]):
        seen = stat(host, member)
        if not isinstance(seen, Gap) and not seen.dead:
            yield member, seen


def descended(parents: Mapping[int, int], roots: Iterable[int]) -> frozenset[int]:
    """The roots and all that descend from them. parents: pid -> parent."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    members: set[int] = set()
    left = list(roots)
    while left:
        member = left.pop()
        if member not in members:
            members.add(member)
            left.extend(children.get(member, ()))
    return frozenset(members)
