"""A run of servers that run already, step by step: whoever records it says when it goes on, and when it ends."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from fingerprint.runs.beside import Beside, Rates
from fingerprint.runs.census import Roots
from fingerprint.runs.measures import peak_of_servers
from fingerprint.runs.opener import opener
from fingerprint.runs.record import Attached, Closed, Ending, Measured, Noted, Opened
from fingerprint.runs.recording import Means, Recording
from fingerprint.runs.serving import Serving
from fingerprint.runs.watch import Duty
from fingerprint.version import __version__
from probes.kit.facts import Gap, seen_or, then
from probes.kit.filepaths import link_of
from probes.kit.host import Host
from probes.kit.probe import MAIN, Target
from probes.kit.processes import stat

BESIDE = "the canary worked at both ends of this run, for two seconds each, beside what served"


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """Which servers to record, and how: see `session.Plan`. seconds: for how long; None: until told. detached: in the
    background. service: that nobody asked for it, the service noticed what serves. untold: what is known not to be
    read. canary: whether to do its work of the host at both ends, beside the servers."""

    name: str
    servers: tuple[Serving, ...]
    host: str
    benchmark: str = ""
    vary: tuple[str, ...] = ()
    workload: Mapping[str, Any] = {}
    seconds: float | None = None
    detached: bool = False
    service: bool = False
    untold: str = ""
    canary: bool = False
    rates: Rates = Rates()


def targets_of(servers: Sequence[Serving]) -> tuple[Target, ...]:
    """One server is what the run is about, `main`, as if the run had started it; several go by their own names, of
    which none is above another. Two unknown ones are told apart by a number. Behind them the workers that they did not
    start, as their parts are called."""
    workers = (target for server in servers for target in _workers_of(server))
    if len(servers) == 1:
        return (Target(MAIN, servers[0].pid), *workers)
    unnamed = [server.pid for server in servers if server.name == MAIN]
    named = (
        Target(f"server-{unnamed.index(server.pid) + 1}" if server.name == MAIN else server.name, server.pid)
        for server in servers
    )
    return (*named, *workers)


def _workers_of(server: Serving) -> Iterator[Target]:
    for at, pid in enumerate(server.workers, start=1):
        yield Target(f"{server.name}.worker" + (f".{at}" if at > 1 else ""), pid)


class AttachedRun:
    """`begin`; then each of `duties` whenever it is due; then `end`."""

    def __init__(self, asked: Attachment, means: Means) -> None:
        self._asked = asked
        self._host = means.host
        self._targets = targets_of(asked.servers)
        self._since = {server.pid: _started(means.host, server.pid) for server in asked.servers}
        self._beside: Beside | None = None
        self.recording = Recording(means)
        self.duties: Sequence[Duty] = ()

    def begin(self) -> None:
        """It is open, and the state before is kept, when this returns."""
        self.recording.open(self._asked.name, self._asked.workload, self._opened)
        self._canary("before")
        self.recording.snap("before")
        if self._asked.untold:
            self.recording.trouble(self._asked.untold)
        self._beside = self.recording.attempt("what is done beside the servers", self._accompanied)
        self.duties = self._beside.duties if self._beside else ()

    def end(self, how: Ending, *, interrupted: bool = False) -> str:
        """Why records are missing that the journal did not take; empty where none are."""
        if self._beside is not None:
            self.recording.attempt("what is done beside the servers", self._finish)
        self.recording.snap("after")
        self._canary("after")
        self.recording.tell_hung()
        self.recording.write(Closed(time.time_ns(), how, interrupted=interrupted))
        return self.recording.unwritten

    def _canary(self, moment: Literal["before", "after"]) -> None:
        if self._asked.canary:
            if moment == "before":
                self.recording.write(Noted(time.time_ns(), BESIDE))
            self.recording.canary(moment, None, lambda: False)

    @property
    def lives(self) -> bool:
        return any(_started(self._host, pid) == since for pid, since in self._since.items())

    def _accompanied(self) -> Beside:
        ports = frozenset(server.port for server in self._asked.servers if server.port)
        roots = Roots(self._targets, time.monotonic(), lambda: self.lives, ports, started=True)
        return Beside(self.recording, roots, self._asked.rates)

    def _finish(self) -> None:
        assert self._beside is not None
        self._beside.finish()
        for metric in peak_of_servers([self._beside.highest(f"usage/{target.name}/hwm") for target in self._targets]):
            self.recording.write(Measured(time.time_ns(), metric))
        self._beside.save_last()

    def _opened(self, attempt: int) -> Opened:
        asked, first = self._asked, self._asked.servers[0]
        return Opened(
            time.time_ns(),
            asked.name,
            attempt,
            asked.benchmark,
            asked.host,
            opener(self._host),
            seen_or(self._host.arguments(first.pid), ()),
            seen_or(link_of(self._host, first.pid, "cwd"), ""),
            asked.vary,
            __version__,
            tuple(map(self._attached, self._targets, asked.servers)),
            asked.detached,
            asked.service,
        )

    def _attached(self, target: Target, server: Serving) -> Attached:
        started = seen_or(self._since[target.pid], 0)
        return Attached(target.name, target.pid, started, server.engine or "", server.port or 0)


def _started(host: Host, pid: int) -> int | Gap:
    """Clock ticks since boot; a Gap of one that has ended."""
    return then(stat(host, pid), lambda seen: Gap("absent", "it ended") if seen.dead else seen.started)
