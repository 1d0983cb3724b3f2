"""Which servers came and went since the last look."""

from collections.abc import Sequence
from typing import NamedTuple

from fingerprint.runs.serving import NotFound, Serving, all_servers
from probes.kit.facts import Gap
from probes.kit.host import Host
from probes.kit.processes import stat


class Seen(NamedTuple):
    """One server, and when its first process started: clock ticks since boot. A pid alone is reused."""

    server: Serving
    started: int


class Looked(NamedTuple):
    """came: seen at two looks and not before."""

    came: tuple[Seen, ...]
    went: tuple[Seen, ...]


class Watching:
    """What was there at the last look. A process that is gone by the next one never served anybody."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._new: dict[tuple[int, int], Seen] = {}
        self._there: dict[tuple[int, int], Seen] = {}

    def look(self) -> Looked:
        now = {(seen.server.pid, seen.started): seen for seen in self._servers()}
        came = [seen for who, seen in now.items() if who in self._new and who not in self._there]
        went = [seen for who, seen in self._there.items() if who not in now]
        self._new = {who: seen for who, seen in now.items() if who not in self._there}
        kept = {who: seen for who, seen in self._there.items() if who in now}
        self._there = {**kept, **{(seen.server.pid, seen.started): seen for seen in came}}
        return Looked(tuple(came), tuple(went))

    def _servers(self) -> Sequence[Seen]:
        try:
            servers = all_servers(self._host)
        except NotFound:
            return ()
        found = []
        for server in servers:
            told = stat(self._host, server.pid)
            if not isinstance(told, Gap) and not told.dead:
                found.append(Seen(server, told.started))
        return found
