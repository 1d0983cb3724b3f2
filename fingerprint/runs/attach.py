"""A run of servers that run already: before, samples while they serve, after. None of them is a child of ours.

It ends when it is told to (SIGINT, SIGTERM), when its time has passed, or when the last of the servers has ended.
"""

import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from fingerprint.runs.beside import Beside, Rates
from fingerprint.runs.census import Roots
from fingerprint.runs.measures import peak_of_servers
from fingerprint.runs.opener import opener
from fingerprint.runs.record import Attached, Closed, Ending, Measured, Opened
from fingerprint.runs.recording import Means, Recording
from fingerprint.runs.relay import Relay, stop_self
from fingerprint.runs.serving import Serving
from fingerprint.runs.watch import Duty, watch
from fingerprint.version import __version__
from probes.kit.facts import Gap, seen_or, then
from probes.kit.filepaths import link_of
from probes.kit.host import Host
from probes.kit.probe import MAIN, Target
from probes.kit.processes import stat

ASKED_TO_END = frozenset({signal.SIGINT, signal.SIGTERM})
"""A script ends by the latter what it started in the background, and so does `end`; others interrupt the run."""


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """Which servers to record, and how: see `session.Plan`. seconds: for how long; None: until told. detached: in the
    background. untold: what is known not to be read."""

    name: str
    servers: tuple[Serving, ...]
    host: str
    benchmark: str = ""
    vary: tuple[str, ...] = ()
    workload: Mapping[str, Any] = {}
    seconds: float | None = None
    detached: bool = False
    untold: str = ""
    rates: Rates = Rates()


class Detached(NamedTuple):
    """How a run of servers ended. how: in words of its record. unwritten: see `session.Finished`."""

    how: Ending
    unwritten: str = ""


def attach(asked: Attachment, means: Means, begun: Callable[[], None] = lambda: None) -> Detached:
    """Records one run. begun: called once it is open and the host's state before it is kept."""
    with Relay() as relay:
        return _Attached(asked, means, relay).conduct(begun)


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


class _Attached:
    """What `watch` watches: the servers, and the time."""

    in_our_group = False
    stopped = 0

    def __init__(self, asked: Attachment, means: Means, relay: Relay) -> None:
        self._asked = asked
        self._host = means.host
        self._relay = relay
        self._recording = Recording(means)
        self._targets = targets_of(asked.servers)
        self._since = {server.pid: _started(means.host, server.pid) for server in asked.servers}
        self._ends = math.inf

    def conduct(self, begun: Callable[[], None]) -> Detached:
        recording = self._recording
        recording.open(self._asked.name, self._asked.workload, self._opened)
        recording.snap("before")
        begun()
        how = recording.attempt("what is done beside the servers", self._accompany) or self._watch([])
        recording.snap("after")
        recording.tell_hung()
        interrupted = self._relay.told not in (0, *ASKED_TO_END)
        recording.write(Closed(time.time_ns(), how, interrupted=interrupted))
        return Detached(how, recording.unwritten)

    def _accompany(self) -> Ending:
        if self._asked.untold:
            self._recording.trouble(self._asked.untold)
        began = time.monotonic()
        self._ends = began + (math.inf if self._asked.seconds is None else self._asked.seconds)
        ports = frozenset(server.port for server in self._asked.servers if server.port)
        roots = Roots(self._targets, began, lambda: self._lives, ports, started=True)
        beside = Beside(self._recording, roots, self._asked.rates)
        how = self._watch(beside.duties)
        beside.finish()
        for metric in peak_of_servers([beside.highest(f"usage/{target.name}/hwm") for target in self._targets]):
            self._recording.write(Measured(time.time_ns(), metric))
        beside.save_last()
        return how

    def _watch(self, duties: Sequence[Duty]) -> Ending:
        return watch(self, self._relay, [*duties, _EachSecond()], self._recording.trouble)

    def poll(self) -> Ending | None:
        """None while it goes on."""
        if not self._lives:
            return "server ended"
        return "server ran on" if self._relay.told or time.monotonic() >= self._ends else None

    def send(self, number: int) -> None:
        """A signal that came to us. It is passed on to nobody."""
        if number == signal.SIGTSTP:
            stop_self(number)

    @property
    def _lives(self) -> bool:
        return any(_started(self._host, pid) == since for pid, since in self._since.items())

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
        )

    def _attached(self, target: Target, server: Serving) -> Attached:
        started = seen_or(self._since[target.pid], 0)
        return Attached(target.name, target.pid, started, server.engine or "", server.port or 0)


class _EachSecond:
    """No signal tells that a process ended which is not our child."""

    def fileno(self) -> int | None:
        return None

    def timeout(self, now: float) -> float | None:
        return 1.0

    def step(self, now: float) -> None:
        """`watch` asks by itself whether it is over."""


def _started(host: Host, pid: int) -> int | Gap:
    """Clock ticks since boot; a Gap of one that has ended."""
    return then(stat(host, pid), lambda seen: Gap("absent", "it ended") if seen.dead else seen.started)
