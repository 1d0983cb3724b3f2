"""The runs of what serves: each server a series, an attempt of it for as long as nothing changed, an hour at most."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from fingerprint.runs.attached import AttachedRun, Attachment
from fingerprint.runs.benchmark import benchmark_of
from fingerprint.runs.beside import Rates
from fingerprint.runs.ray import with_workers
from fingerprint.runs.record import Ending
from fingerprint.runs.recording import Means
from fingerprint.runs.serving import Serving
from fingerprint.runs.watch import stepped
from fingerprint.service.watching import Looked, Seen
from fingerprint.store import Journal
from fingerprint.trouble import Trouble
from probes.kit.facts import seen_or
from probes.kit.host import Host

SEGMENT_SECONDS = 3600.0
MOST_BEGUN = 64
"""Of those that somebody asked for: each takes three descriptors, and its share of each second."""
RATES = Rates(first_minute_hz=1, then_hz=1)


class Workshop(NamedTuple):
    """means: what one run is recorded with, and its journal; what it holds is let go with the stack. ended: told of
    the name and id of each run that ended."""

    host: Host
    host_name: str
    means: Callable[[ExitStack], tuple[Means, Journal]]
    ended: Callable[[str, str], object] = lambda _name, _id: None


class Segment:
    """One attempt of a server's series, or of a run that somebody began."""

    def __init__(self, workshop: Workshop, asked: Attachment) -> None:
        self.asked = asked
        self._held = ExitStack()
        means, self._journal = workshop.means(self._held)
        self._run = AttachedRun(asked, means)
        self._run.begin()
        self._began = time.monotonic()
        self._duties = list(self._run.duties)

    @property
    def run_id(self) -> str:
        return self._journal.run_id

    @property
    def trouble(self) -> str:
        """What was not stored, and where it is; empty where all was."""
        return self._journal.trouble

    @property
    def why(self) -> str:
        """It was not stored; empty where it was."""
        return self._journal.why

    @property
    def age(self) -> float:
        """Seconds."""
        return time.monotonic() - self._began

    @property
    def is_over(self) -> bool:
        return not self._run.lives or (self.asked.seconds is not None and self.age >= self.asked.seconds)

    def step(self, now: float) -> None:
        """Whatever is due. A duty that raises is told, and left out from there on."""
        self._duties = [duty for duty in self._duties if stepped(duty, now, self._run.recording.trouble)]

    def end(self) -> None:
        how: Ending = "server ran on" if self._run.lives else "server ended"
        try:
            self._run.end(how)
        finally:
            self._held.close()


class Served:
    """What is recorded now, by the run's name. Asked by one thread."""

    def __init__(self, workshop: Workshop, seconds: float = SEGMENT_SECONDS) -> None:
        """seconds: after which an attempt of a server's series goes on as the next one."""
        self._workshop, self._seconds = workshop, seconds
        self._segments: dict[str, Segment] = {}
        self._servers: dict[str, Seen] = {}
        self._is_over = False

    @property
    def serving(self) -> Mapping[str, str]:
        """The ids of the runs that are open, by name."""
        return {name: segment.run_id for name, segment in tuple(self._segments.items())}  # by any thread

    @property
    def troubles(self) -> list[str]:
        """What was not stored of the runs that are open."""
        return [segment.trouble for segment in tuple(self._segments.values()) if segment.trouble]

    def why(self, name: str) -> str:
        """Why the store did not take a run that is open; empty where it did."""
        return self._segments[name].why

    def take(self, looked: Looked) -> tuple[list[tuple[Seen, str]], list[tuple[Seen, str]]]:
        """Opens and closes; the servers that came and that went, each with the id of its run."""
        went = [(seen, self._close(name)) for seen in looked.went for name in self._names_of(seen)]
        came = () if self._is_over else looked.came
        names = [self._named(seen) for seen in came]
        return [(seen, self._begin(name)) for seen, name in zip(came, names, strict=True)], went

    def begin(self, asked: Attachment) -> str:
        """The id of a run that somebody asked for; it goes on until `end`, or until its servers are gone. Raises
        Trouble where a run of this name goes on."""
        if self._is_over:
            raise Trouble("the service ends: begin it again in a moment")
        if len(self._segments.keys() - self._servers.keys()) >= MOST_BEGUN:
            raise Trouble(f"{MOST_BEGUN} runs that were begun go on, and more may not at a time: end one first")
        if asked.name in self._segments:
            raise Trouble(f"a run named {asked.name} goes on: end it first, or choose another name")
        self._segments[asked.name] = Segment(self._workshop, asked)
        return self._segments[asked.name].run_id

    def end(self, name_or_id: str) -> str:
        """The id of the run that ended. Raises Trouble where none of this name or id goes on; what nobody asked for
        goes on for as long as it serves."""
        found = next((name for name, one in self._segments.items() if name_or_id in (name, one.run_id)), None)
        if found is None:
            raise Trouble(f"no run '{name_or_id}' was begun here and goes on: `fingerprint runs` lists what there is")
        if found in self._servers:
            raise Trouble(f"nobody began {found}: the service records it for as long as it serves, and needs no end")
        return self._close(found)

    def step(self) -> None:
        """What is due of each run; those whose servers are gone are closed, those that are long go on as another."""
        now = time.monotonic()
        for name, segment in tuple(self._segments.items()):
            segment.step(now)
            if name not in self._servers and segment.is_over:
                self._close(name)
            elif name in self._servers and segment.age >= self._seconds:
                self._cut(name)
        for name in self._servers.keys() - self._segments.keys():  # one that could not be begun
            self._begin(name)

    def cut(self) -> None:
        """A state changed: what serves goes on in another attempt of its series."""
        for name in self._servers.keys() & self._segments.keys():
            self._cut(name)

    def close(self) -> None:
        """No run goes on, and none is begun any more."""
        self._is_over = True
        for name in tuple(self._segments):
            self._close(name)

    def _names_of(self, seen: Seen) -> list[str]:
        return [name for name, one in self._servers.items() if one == seen]

    def _named(self, seen: Seen) -> str:
        name = self._free(seen.server.name)
        self._servers[name] = seen
        return name

    def _cut(self, name: str) -> None:
        self._end(name)
        self._begin(name)

    def _begin(self, name: str) -> str:
        self._segments[name] = Segment(self._workshop, self.attachment(name, [self._servers[name].server]))
        return self._segments[name].run_id

    def _close(self, name: str) -> str:
        """The id of its run; empty where none could be begun."""
        self._servers.pop(name, None)
        return self._end(name) if name in self._segments else ""

    def _end(self, name: str) -> str:
        segment = self._segments.pop(name)
        segment.end()
        self._workshop.ended(name, segment.run_id)
        return segment.run_id

    def _free(self, name: str) -> str:
        """Two servers of one engine on one port, in networks of their own, are two series."""
        found, number = name, 2
        while found in self._segments or found in self._servers:
            found, number = f"{name}+{number}", number + 1
        return found

    def attachment(self, name: str, servers: Sequence[Serving]) -> Attachment:
        host = self._workshop.host
        found, untold = with_workers(host, servers)
        words = [word for server in found for word in seen_or(host.arguments(server.pid), ())]
        return Attachment(
            name=name,
            servers=found,
            host=self._workshop.host_name,
            benchmark=benchmark_of(words or ["server"]),
            service=True,
            untold=untold,
            rates=RATES,
        )
