"""Workers that Ray started for a server: they stand below raylet, whoever asked for them.

Neither their arguments nor their environment tell whose they are: raylet starts them ahead, and `RAY_JOB_ID` is that of
nobody (Ray 2.60). What tells is that the server calls them: a connection leads from a process of it to each.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fingerprint.runs.serving import Serving
from probes.kit.engines import part_of
from probes.kit.facts import seen_or
from probes.kit.flags import flags
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex
from probes.kit.processes import Parents, descended

RAYLET = "raylet"
_ACTOR = lazy_regex(r"ray::(?!IDLE|\w*Agent\b)\w+")
_ESTABLISHED = "01"  # TCP_ESTABLISHED (include/net/tcp_states.h)
_TABLES = ("tcp", "tcp6")
_SOCKET = lazy_regex(r"socket:\[(\d+)\]")
_ASKING = "--distributed-executor-backend"
BY_RAY = ("vllm", "sglang")
"""Engines that may have Ray start their workers."""
MOST_NAMED = 8

Ends = tuple[str, str]
"""Of a connection: our address and the other's, as /proc/net/tcp writes them."""


class Found(NamedTuple):
    """servers: with the workers that are theirs. untold: what to say of others; empty where there are none."""

    servers: tuple[Serving, ...]
    untold: str = ""


def with_workers(host: Host, servers: Sequence[Serving]) -> Found:
    """Who has none of Ray's is returned as it is."""
    parents = Parents(host).now()
    actors = dict(_actors(host, parents))
    told = tuple(_with(host, server, parents, actors) for server in servers)
    taken = {server: {*server.workers, *descended(parents, [server.pid])} & actors.keys() for server in told}
    without = [server for server, theirs in taken.items() if server.engine in BY_RAY and not theirs]
    left = [pid for pid, title in actors.items() if part_of((title,), {}) and pid not in set().union(*taken.values())]
    return Found(told, _untold(host, without, left))


def _actors(host: Host, parents: Mapping[int, int]) -> Iterator[tuple[int, str]]:
    """What Ray's own daemons on this host started, by age, with its title."""
    raylets = {pid for pids in seen_or(host.pids(RAYLET), {}).values() for pid in pids}
    for pid in sorted(pid for pid, parent in parents.items() if parent in raylets):
        title = next(iter(seen_or(host.arguments(pid), ())), "")
        if isinstance(title, str) and _ACTOR.match(title):
            yield pid, title


def _with(host: Host, server: Serving, parents: Mapping[int, int], actors: Iterable[int]) -> Serving:
    members = descended(parents, [server.pid])
    beside = [pid for pid in actors if pid not in members]
    if not beside:
        return server
    table = dict(_connections(host, server.pid))
    called = {(theirs, ours) for pid in members for ours, theirs in _ends(host, pid, table)}
    return server._replace(workers=tuple(pid for pid in beside if called.intersection(_ends(host, pid, table))))


def _connections(host: Host, pid: int) -> Iterator[tuple[str, Ends]]:
    """Of the network of that process, by inode (Documentation/networking/proc_net_tcp.rst)."""
    for table in _TABLES:
        for line in seen_or(host.text(f"/proc/{pid}/net/{table}"), "").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _ESTABLISHED:
                yield fields[9], (fields[1], fields[2])


def _ends(host: Host, pid: int, table: Mapping[str, Ends]) -> list[Ends]:
    names = seen_or(host.opened(pid, _SOCKET.pattern), ())
    inodes = (match[1] for match in map(_SOCKET.fullmatch, names) if match)
    return [table[inode] for inode in inodes if inode in table]


def _untold(host: Host, without: Sequence[Serving], left: Sequence[int]) -> str:
    """without: any worker of Ray's. left: workers of an engine that are no server's that is recorded."""
    if without and left:
        pids = ", ".join(map(str, left[:MOST_NAMED])) + ", ..." * (len(left) > MOST_NAMED)
        names = " or ".join(server.name for server in without)
        return (
            f"workers that Ray started (pid {pids}) were not read: no connection that may be seen ties them to "
            f"{names}; attach as root, or give --pid of each beside that of the server"
        )
    asking = next((server.name for server in without if _asks_for_ray(host, server.pid)), "")
    return asking and (
        f"{asking} has Ray start its workers, and none of them was found on this host: they were not read; attach "
        "once it serves, and on the hosts that they are on"
    )


def _asks_for_ray(host: Host, pid: int) -> bool:
    given = flags(seen_or(host.arguments(pid), ())).flags.items
    return given.get(_ASKING) == ("ray",)
