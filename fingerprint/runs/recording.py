"""What is written of one run, whatever goes wrong meanwhile."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from fingerprint.runs.readers import Reader
from fingerprint.runs.record import AnyRecord, Asked, Measured, Moment, Opened, Snapped, Trouble
from fingerprint.runs.wrap import printable
from fingerprint.snapshot import Reading, Snapshot
from probes.kit.facts import Section
from probes.kit.host import Host
from probes.kit.probe import Probe

if TYPE_CHECKING:
    from fingerprint.canary.measure import Serving

R = TypeVar("R")


class Journal(Protocol):
    """Where one run's records go. It never raises."""

    def open_run(self, name: str, make: Callable[[int], Opened]) -> object: ...
    def append(self, record: AnyRecord) -> object: ...
    def save(self, snapshot: Snapshot) -> object: ...


class Means(NamedTuple):
    """What a run works with.

    probes    by area; those of cadence `tick` or with a `sample` are sampled, the others of processes read for the
              processes that the run is about
    reader    for the tree and, when nothing is awaited, for `snapshot` and `given`; idle when given
    sampler   a second one, for the ticks: of the same probes `at_samples`
    snapshot  takes a whole snapshot
    given     reads what exec is given: arguments, environment, working directory
    """

    probes: Mapping[str, Probe[Section]]
    reader: Reader
    sampler: Reader
    journal: Journal
    host: Host
    snapshot: Callable[[], Snapshot]
    given: Callable[[], Reading]


class Recording:
    """One run's way into the journal. unwritten: why records are missing that the journal did not take."""

    def __init__(self, means: Means) -> None:
        self.means = means
        self.unwritten = ""

    def open(self, name: str, workload: Mapping[str, Any], make: Callable[[int], Opened]) -> None:
        self.means.journal.open_run(name, make)
        for key, value in workload.items():
            self.write(Asked(time.time_ns(), key, value))

    def write(self, record: AnyRecord) -> None:
        self._keep(lambda: self.means.journal.append(record))

    def trouble(self, what: str) -> None:
        self.write(Trouble(time.time_ns(), printable(what)))

    def attempt(self, what: str, act: Callable[[], R]) -> R | None:
        """None where it raised, which is then recorded."""
        try:
            return act()
        except Exception as error:  # noqa: BLE001  # no bug of ours may stop the command
            self.trouble(f"{what}: {type(error).__name__}: {error}")
            return None

    def snap(self, moment: Moment) -> None:
        snapshot = self.attempt(f"the snapshot {moment}", self.means.snapshot)
        if snapshot is not None:
            self._keep(lambda: self.means.journal.save(snapshot))
            self.write(Snapped(time.time_ns(), moment, snapshot.id))

    def canary(self, moment: Literal["before", "after"], serving: "Serving | None", stop: Callable[[], bool]) -> None:
        """See `measured`."""
        from fingerprint.canary.measure import measured

        for metric in self.attempt("the canary", lambda: measured(moment, serving, stop)) or ():
            self.write(Measured(time.time_ns(), metric))

    def tell_hung(self) -> None:
        for reader in (self.means.reader, self.means.sampler):
            for key, since in reader.hung.items():
                self.trouble(f"{key} hung since {since}: it was given up, and not read again")

    def _keep(self, act: Callable[[], object]) -> None:
        """The journal never raises; if it does, the command's end is still to be awaited and passed on."""
        try:
            act()
        except Exception as error:  # noqa: BLE001  # its own trouble cannot be written with it
            self.unwritten = self.unwritten or f"{type(error).__name__}: {error}"
