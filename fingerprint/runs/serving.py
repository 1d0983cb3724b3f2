"""Servers that run on this host: by a process, by a port, or all of them."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from probes.kit.engines import LIKELY, Engine, Server, servers
from probes.kit.facts import Gap, seen_or
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex
from probes.kit.probe import MAIN
from probes.kit.processes import Stat, stat
from probes.process import member_of

_LISTEN = "0A"  # TCP_LISTEN (include/net/tcp_states.h)
_TABLES = ("tcp", "tcp6")
_IN_FRONT = lazy_regex(r"docker-proxy|rootlessport|slirp4netns|pasta|conmon|systemd$")
"""What listens for a server that is in a container, or that a first connection is to start."""


class NotFound(Exception):
    """No server is where one was looked for. The text says what is there, and what to do."""


class Serving(NamedTuple):
    """A process whose tree serves. name: of its target, `main` where no engine is known in it. engine: likewise None.
    port: where it listens, as far as arguments or sockets tell. workers: processes that it has and did not start."""

    pid: int
    name: str
    engine: Engine | None = None
    port: int | None = None
    workers: tuple[int, ...] = ()


def all_servers(host: Host) -> tuple[Serving, ...]:
    """Of every engine, by engine and port. Raises NotFound where none runs."""
    found = tuple(map(_serving, _Look(host).servers))
    if not found:
        raise NotFound("no server of a known engine runs on this host: give --pid or --port of what serves")
    return found


def by_pid(host: Host, pid: int) -> Serving:
    """The process itself, whatever it is; as its server where it is one's launcher. Raises NotFound."""
    seen = stat(host, pid)
    if isinstance(seen, Gap) or seen.dead:
        raise NotFound(f"there is no process {pid}: give the pid of one that runs, as `ps` shows it here")
    return next((_serving(one) for one in _Look(host).servers if one.pid == pid), Serving(pid, MAIN))


def by_port(host: Host, port: int) -> Serving:
    """Who listens on the TCP port, in this network namespace; else the one server whose arguments name the port, which
    may listen in a container's. Raises NotFound."""
    look = _Look(host)
    sockets = listening(host, port)
    owner = look.owner(sockets) if sockets else None
    server = next((one for one in look.servers if owner in (one.pid, *one.parts)), None)
    server = server or look.told_to_listen(port)
    if server is not None:
        return _serving(server)._replace(port=port)
    if owner is not None and _IN_FRONT.match(look.name(owner)):
        raise NotFound(
            f"{look.name(owner)} listens on port {port} for a server behind it: give --pid of that, or its own --port"
        )
    if owner is not None:
        return Serving(owner, MAIN, port=port)
    if sockets:
        raise NotFound(
            f"port {port} is listened on by a process of another user: run as that user or as root, or give --pid"
        )
    raise NotFound(f"nothing listens on port {port} here: give the port that `ss -ltn` shows, or --pid")


def listening(host: Host, port: int, pids: Iterable[int] = ()) -> frozenset[str]:
    """The inodes of the sockets that listen on the TCP port, in this network namespace or in those of the processes."""
    networks = ("/proc/net", *(f"/proc/{pid}/net" for pid in pids))
    return frozenset(
        inode
        for network in networks
        for table in _TABLES
        for at, inode in _listeners(seen_or(host.text(f"{network}/{table}"), ""))
        if at == port
    )


def _listeners(table: str) -> Iterator[tuple[int, str]]:
    """Port and inode of each listening socket (Documentation/networking/proc_net_tcp.rst)."""
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _LISTEN:
            yield int(fields[1].rpartition(":")[2], 16), fields[9]


def _serving(server: Server) -> Serving:
    return Serving(server.pid, server.name, server.engine, server.port)


class _Look:
    """One look at the host's processes."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._stats = dict(_stats(host))
        self._likely = [pid for pid, seen in self._stats.items() if LIKELY.match(seen.name)]
        self.servers = servers([member_of(host, pid, seen) for pid, seen in self._stats.items()])

    def name(self, pid: int) -> str:
        """As the kernel has it."""
        return self._stats[pid].name

    def told_to_listen(self, port: int) -> Server | None:
        """By its arguments. Raises NotFound where several are: each listens in a network of its own."""
        found = [one for one in self.servers if one.port == port]
        if len(found) > 1:
            pids = " or ".join(f"--pid {one.pid}" for one in found)
            raise NotFound(f"{len(found)} servers were told to listen on port {port}: say which, by {pids}")
        return found[0] if found else None

    def owner(self, sockets: frozenset[str]) -> int | None:
        """The first process, engines' before all others, that holds one of the sockets; None where no process that may
        be read does. Of others the one that started the rest, and process 1 where no other does."""
        links = {f"socket:[{inode}]" for inode in sockets}
        rest = sorted(self._stats.keys() - set(self._likely), key=lambda pid: (pid == 1, pid))
        found = next((pid for pid in (*sorted(self._likely), *rest) if self._holds(pid, links)), None)
        while (
            found in rest and (above := self._stats[found].parent) != 1 and above in rest and self._holds(above, links)
        ):
            found = above
        return found

    def _holds(self, pid: int, links: set[str]) -> bool:
        folder = f"/proc/{pid}/fd"
        return any(self._host.link(f"{folder}/{fd}") in links for fd in seen_or(self._host.names(folder), ()))


def _stats(host: Host) -> Iterator[tuple[int, Stat]]:
    for name in seen_or(host.names("/proc"), ()):
        if name.isdecimal():
            seen = stat(host, int(name))
            if not isinstance(seen, Gap) and not seen.dead:
                yield int(name), seen
