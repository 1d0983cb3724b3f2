"""Which servers came and went since the last look."""

import time
from collections.abc import Set
from typing import NamedTuple

from fingerprint.runs.serving import NotFound, Serving, all_servers
from probes.kit.engines import LIKELY
from probes.kit.facts import Gap, seen_or
from probes.kit.host import Host
from probes.kit.processes import stat

YOUNG_SECONDS, SURELY_SECONDS = 30.0, 60.0
"""A process may become another program while it is young; whoever did later is found by a look at all of them."""


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
        self._pids: Set[str] = frozenset()
        self._young: dict[str, float] = {}
        self._looked = 0.0

    def look(self) -> Looked:
        """Of an idle host it costs one listing: what each process is, is asked where it may have become another."""
        if not self._is_worth_it(time.monotonic()):
            return Looked((), ())
        now = {(seen.server.pid, seen.started): seen for seen in self._servers()}
        came = [seen for who, seen in now.items() if who in self._new and who not in self._there]
        went = [seen for who, seen in self._there.items() if who not in now]
        self._new = {who: seen for who, seen in now.items() if who not in self._there}
        kept = {who: seen for who, seen in self._there.items() if who in now}
        self._there = {**kept, **{(seen.server.pid, seen.started): seen for seen in came}}
        return Looked(tuple(came), tuple(went))

    def _is_worth_it(self, now: float) -> bool:
        pids = {name for name in seen_or(self._host.names("/proc"), ()) if name.isdecimal()}
        self._young = {pid: since for pid, since in self._young.items() if pid in pids and now < since + YOUNG_SECONDS}
        self._young.update(dict.fromkeys(pids - self._pids, now))
        self._pids = pids
        one_is_gone = any(str(pid) not in pids for pid, _ in self._there)
        worth = one_is_gone or self._new or now >= self._looked + SURELY_SECONDS or self._may_serve()
        self._looked = now if worth else self._looked
        return bool(worth)

    def _may_serve(self) -> bool:
        return any(LIKELY.match(seen_or(self._host.line(f"/proc/{pid}/comm"), "")) for pid in self._young)

    def _servers(self) -> list[Seen]:
        try:
            servers = all_servers(self._host)
        except NotFound:
            return []
        found = []
        for server in servers:
            told = stat(self._host, server.pid)
            if not isinstance(told, Gap) and not told.dead:
                found.append(Seen(server, told.started))
        return found
