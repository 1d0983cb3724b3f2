"""The service: rounds, what serves, events, and what the API asks of them."""

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from fingerprint.areas import host_areas, names_of_host, probes_of
from fingerprint.metrics import Metric
from fingerprint.reader import Reader
from fingerprint.runs.record import Measured
from fingerprint.runs.recording import Means
from fingerprint.runs.serving import NotFound, by_pid, by_port
from fingerprint.service.api.asked import Area, Health
from fingerprint.service.broadcast import Broadcast
from fingerprint.service.changes import Changes
from fingerprint.service.clocks import Clocks, clocks, jumps
from fingerprint.service.containers import Containers
from fingerprint.service.failures import Failures
from fingerprint.service.happened import of_change, of_jump, of_restart, of_server, of_trouble
from fingerprint.service.outbox import Outbox
from fingerprint.service.recent import Recent
from fingerprint.service.rounds import Rounds
from fingerprint.service.samples import Sampler
from fingerprint.service.schedule import Job, Schedule
from fingerprint.service.served import Served, Workshop
from fingerprint.service.spills import WRITER, Spills
from fingerprint.service.troubles import Troubles
from fingerprint.service.turns import Shared, Turn
from fingerprint.service.watching import Watching
from fingerprint.settings import Settings
from fingerprint.snapshot import Reading, Snapshot
from fingerprint.store import Event, FoundRun, Journal, Patience, RunRow, Store, StoreError, Stores, check_name
from fingerprint.store.errors import UnusableNow
from fingerprint.trouble import Trouble
from fingerprint.version import __version__
from probes.kit.facts import Gap, Section
from probes.kit.host import Host
from probes.kit.probe import Probe, areas
from probes.kit.processes import stat

LOOK_SECONDS, MINUTE, HOUR, DAY = 2.0, 60.0, 3600.0, 86_400.0
RECENT_SECONDS = 5.0
LOCK_SECONDS, SILENT_SECONDS = 2.2, 3.0
"""At the end what goes on is waited for: readers are given up meanwhile, and no journal waits longer for the store."""
INIT = 1
PATIENCE_SECONDS = 0.5
"""With another writer; who waits longer than a second misses samples, and what waits is tried again."""
LAST_PATIENCE_SECONDS = 0.3
"""Of all runs together, when the service ends."""
BUDGET_SECONDS = 20.0
"""Of one round: nobody waits for it."""


class Service:
    """One host's. Jobs run on the threads of its schedule; whatever else is called may be called by any thread."""

    def __init__(
        self,
        settings: Settings,
        host: Host,
        readers: Callable[[bool], Reader],
        store: Path,
        silent_since: Callable[[], str] = lambda: "",
    ) -> None:
        """readers: makes one, for samples or not. store: the database's file. silent_since: since when the reader
        answers nobody, empty where it does."""
        self.settings, self.host, self._path = settings, host, store
        self.host_name = os.uname().nodename
        self._readers, self._silent_since = readers, silent_since
        self._probes = probes_of([area for area in areas() if area not in settings.areas.skip], settings)
        types = {area: probe.section for area, probe in self._probes.items()}
        self._changes, self._troubles = Changes(types), Troubles(types)
        self._watching, self._containers = Watching(host), Containers()
        self._served = Served(Workshop(host, self.host_name, self._means, self._ended))
        self._serving_lock, self._round_lock = threading.Lock(), threading.Lock()
        self._rounds = Rounds(readers(False), self._areas(), "", BUDGET_SECONDS)
        recent = Recent(types)
        self._reader, self._sampler = Shared(readers(False)), Shared(readers(True), recent)
        self.for_others = Sampler(readers(True), self._sampled(), recent, host.redactor.key_id)
        self.events = Broadcast()
        self._patience = Patience()
        self._outbox = Outbox(self._save_events, self.events)
        self._spills = Spills(store, host)
        self._stores = threading.local()
        self._clocks, self._sure_again, self._was_set = clocks(), 0.0, False
        self._since = time.time_ns()
        self._good: dict[str, int] = {}
        self._last: Mapping[str, Reading] = {}
        self._failures = Failures()
        self._store_trouble = ""
        self.schedule = Schedule(self.jobs(), self._failures.add)

    def jobs(self) -> tuple[Job, ...]:
        return (
            Job("boot", 0, "rounds", lambda: self.round(keep=True)),
            Job("minutely", MINUTE, "rounds", lambda: self.round(keep=False)),
            Job("hourly", HOUR, "rounds", lambda: self.round(keep=True)),
            Job("daily", DAY, "keeping house", self.keep_house),
            Job("look", LOOK_SECONDS, "serving", self.look),
            Job("second", 1, "serving", self.step),
        )

    # What the jobs do

    def round(self, *, keep: bool) -> Snapshot:
        """keep: its volatile values, too, however little changed."""
        with self._round_lock:
            if self.newest() is None:
                self._spills.find()
                self._begin_from_stored()
            snapshot = self._rounds.take()
            self._note(snapshot)
            self._save(snapshot, keep=keep)
            if not self._store_trouble:
                self._spills.take_in(self.store)
            changes, troubles = self._changes.take(snapshot), self._troubles.take(snapshot)
        host = self.host_name
        told = [*(of_change(host, one) for one in changes), *(of_trouble(host, one) for one in troubles)]
        self._outbox.add(told)
        if changes:
            with self._serving_lock:
                self._served.cut()
        return snapshot

    def look(self) -> None:
        """At who serves; and what waits for the store, while nobody does."""
        self._outbox.flush()
        self._release_readers()
        if self._was_set:  # times before and after are of two clocks
            self._was_set = False
            with self._serving_lock:
                self._served.cut()
        looked = self._watching.look()
        if not looked.came and not looked.went:
            return
        with self._serving_lock:
            came, went = self._served.take(looked)
        now = time.time_ns()
        self._outbox.add(
            [
                *(of_server(self.host_name, seen, now, run, came=False) for seen, run in went),
                *(of_server(self.host_name, seen, now, run, came=True) for seen, run in came),
            ]
        )

    def step(self) -> None:
        """Each second while something serves."""
        with self._serving_lock:
            self._served.step()

    def keep_house(self) -> None:
        """Not within a day of a clock that was set: by a wrong one everything is old."""
        if time.monotonic() < self._sure_again or jumps(self._clocks, clocks()):
            return
        older = time.time_ns() - int(self.settings.service.keep_days * DAY * 1e9)
        try:
            self.store().retain(older_than=older, most_bytes=self.settings.service.keep_bytes)
        except StoreError as error:
            self._store_trouble = str(error)

    def tend(self, now: Clocks | None = None) -> None:
        """Asked each second, by the thread that nothing else may hold up, and that calls `close`."""
        self.schedule.pause("second", paused=not self._served.serving)
        now = now or clocks()
        found = jumps(self._clocks, now)
        self._clocks = now
        if found:
            self.schedule.clock_was_set()
            self._sure_again = time.monotonic() + DAY
            self._outbox.add([of_jump(self.host_name, jump, time.time_ns()) for jump in found])
        for jump in found:
            if jump.kind == "clock jump":
                self._was_set = True
                self._good = {area: at + round(jump.seconds * 1e9) for area, at in tuple(self._good.items())}

    def close(self) -> None:
        """Ends what is recorded, whatever hangs; nothing that was said to be stored is lost."""
        self.schedule.stop()
        is_free = self._serving_lock.acquire(timeout=LOCK_SECONDS)
        self._patience.seconds = LAST_PATIENCE_SECONDS
        self._served.close()
        if is_free:
            self._serving_lock.release()
        self._outbox.flush()
        for one in (self._rounds, self._reader, self._sampler, self.for_others):
            one.close()

    # What the API asks

    def store(self) -> Store:
        """One for each thread. Where the file was moved away, another that is made in its place."""
        found: Store | None = getattr(self._stores, "store", None)
        if found is not None and found.is_gone:
            found.close()
            found = None
        if found is None:
            found = self._stores.store = Store.open(self._path, patience=PATIENCE_SECONDS)
        return found

    def newest(self) -> Snapshot | None:
        return self._rounds.newest

    def take(self, areas: Collection[str] = ()) -> Snapshot:
        """A fresh one: a round like any other where it is whole, and else stored nowhere."""
        if not areas:
            return self.round(keep=True)
        snapshot = self._rounds.take(areas)
        self._note(snapshot)
        return snapshot

    def begin(
        self,
        name: str,
        *,
        pid: int | None = None,
        port: int | None = None,
        benchmark: str = "",
        workload: Mapping[str, Any] = MappingProxyType({}),
        vary: Collection[str] = (),
    ) -> RunRow:
        """Brackets a run against a server that runs. Raises Trouble where there is none, or a run of this name goes
        on, or the store takes none."""
        try:
            found = by_pid(self.host, pid) if pid is not None else by_port(self.host, port or 0)
        except NotFound as why:
            raise Trouble(str(why)) from None
        asked = self._served.attachment(check_name(name), [found])
        asked = replace(
            asked, service=False, benchmark=benchmark or asked.benchmark, workload=workload, vary=tuple(vary)
        )
        with self._serving_lock:
            run_id = self._served.begin(asked)
            try:
                return self.store().run(run_id)
            except StoreError as error:  # it began in a spill file, where nobody could end it by its name
                reason = self._served.why(asked.name) or error
                self._served.end(run_id)
                self._spills.remove(run_id)
                raise UnusableNow(f"no run goes on: {reason}") from None

    def end(self, name_or_id: str) -> RunRow:
        """Raises Trouble where no run of this name or id goes on here."""
        with self._serving_lock:
            run_id = self._served.end(name_or_id)
        self._spills.take_in(self.store)
        return self.store().run(run_id)

    def metric(self, name_or_id: str, *metrics: Metric) -> None:
        """Of a run that goes on, or of one that ended. Raises Trouble where there is none."""
        run_id = self._served.serving.get(name_or_id, "") or self._run_of(name_or_id)
        for metric in metrics:
            self.store().append(run_id, Measured(time.time_ns(), metric))

    def health(self) -> Health:
        now = time.time_ns()
        ages = {
            area: Area(
                age_s=(now - good) / 1e9 if (good := self._good.get(area)) else None,
                outcome=reading.outcome,
                detail=reading.detail,
            )
            for area, reading in self._last.items()
        }
        hung = {str(key): since for key, since in self._rounds.hung.items()}
        reader = _of_all([area for area in ages.values() if area.outcome != "ok"], len(ages)) or self._silence()
        store = self._store_trouble or self._outbox.trouble
        troubles = [store, reader, *(f"{area} hung since {since}" for area, since in hung.items()), *self._raised()]
        serving = tuple(self._served.serving)
        said = [trouble for trouble in troubles if trouble]
        return Health(
            ok=not said,
            says="; ".join([*said, f"records {', '.join(serving)}" if serving else "nothing serves"]),
            host=self.host_name,
            fingerprint=__version__,
            started=self._since,
            areas=ages,
            overruns=dict(self.schedule.overruns),
            hung=hung,
            store=store,
            store_bytes=self._path.stat().st_size if self._path.exists() else 0,
            reader=reader,
            serving=serving,
        )

    # Inside

    def _release_readers(self) -> None:
        """Unless they are at work."""
        if self._serving_lock.acquire(blocking=False):
            self._reader.release()
            self._sampler.release()
            self._serving_lock.release()

    def _areas(self) -> tuple[str, ...]:
        of_host = set(names_of_host())
        return host_areas({area: probe for area, probe in self._probes.items() if area in of_host})

    def _sampled(self) -> Mapping[str, Probe[Section]]:
        """What moves of the host, by area."""
        of_host = {area: probe for area, probe in self._probes.items() if probe.of == "host"}
        return {area: it.at_samples for area, it in of_host.items() if it.sample or it.cadence != "border"}

    def _means(self, held: ExitStack) -> tuple[Means, Journal]:
        """Of one run: its turns at the readers of all runs, and the newest round as its borders."""
        journal = Journal(self._path, patience=self._patience, writer=WRITER)
        held.callback(journal.close)
        return Means(
            probes=self._probes,
            reader=Turn(self._reader),
            sampler=Turn(self._sampler),
            journal=journal,
            host=self.host,
            snapshot=self._recent,
            given=lambda: Reading("skipped", "the server was there before"),
        ), journal

    def _recent(self) -> Snapshot:
        """A run's border: the newest round where that is of just now, else one more."""
        newest = self.newest()
        is_recent = newest is not None and 0 <= time.time_ns() - newest.taken_at < RECENT_SECONDS * 1e9
        return newest if newest is not None and is_recent else self._rounds.take()

    def _run_of(self, name_or_id: str) -> str:
        found = Stores([self.store()]).resolve(name_or_id)
        if not isinstance(found, FoundRun):
            raise Trouble(f"'{name_or_id}' is no run: `fingerprint runs` lists what there is")
        return found.latest.id

    def _ended(self, name: str, run_id: str) -> None:
        """In a file, because the store took it not? And if it is of what serves: in another start of its container than
        the one before?"""
        self._spills.ended(run_id)
        try:
            for earlier in () if self._containers.knows(name) else self.store().runs(name=name, limit=2):
                if earlier.id != run_id:  # of a service that ran before this one
                    self._containers.take(name, self.store().records(earlier.id))
            restart = self._containers.take(name, self.store().records(run_id))
        except StoreError:  # it went on in a spill file
            return
        if restart:
            self._outbox.add([of_restart(self.host_name, restart, run_id)])

    def _silence(self) -> str:
        """What is told of a reader before the round that it holds up is over."""
        seconds = max(self._rounds.silence, self._reader.reader.silence, self._sampler.reader.silence)
        if since := self._silent_since():
            return f"the reader has answered nobody since {since}"
        return f"the reader has said nothing for {seconds:.0f} s" if seconds >= SILENT_SECONDS else ""

    def _raised(self) -> Iterator[str]:
        yield from (*self._failures.told, *self._served.troubles, *self._spills.troubles)
        if isinstance(stat(self.host, INIT), Gap):
            yield "/proc hides processes of other users (hidepid), whose servers are not noticed: see docs/service.md"
        if self._outbox.lost:
            yield f"{self._outbox.lost} events were lost while the store took nothing"

    def _begin_from_stored(self) -> None:
        """What changed while nobody looked, a boot perhaps, is noticed by the last that was stored."""
        try:
            rows = self.store().snapshots(host=self.host_name, limit=1)
            if rows:
                self._changes.take(self.store().snapshot(rows[-1].id), rows[-1].seen_until)
        except StoreError as error:
            self._store_trouble = str(error)

    def _note(self, snapshot: Snapshot) -> None:
        read = {key.area: reading for key, reading in snapshot.readings.items() if not key.target}
        self._last = {**self._last, **read}
        self._good.update((area, snapshot.taken_at) for area, one in read.items() if one.outcome == "ok")

    def _save(self, snapshot: Snapshot, *, keep: bool) -> None:
        try:
            self.store().save(snapshot, keep_volatile=keep)
            self._store_trouble = ""
        except StoreError as error:
            self._store_trouble = str(error)

    def _save_events(self, events: tuple[Event, ...]) -> None:
        self.store().add_events(events)


def _of_all(failed: list[Area], of: int) -> str:
    """Where no area answers it is the reader that does not."""
    return failed[0].detail or failed[0].outcome if failed and len(failed) == of else ""
