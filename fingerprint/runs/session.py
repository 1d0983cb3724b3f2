"""A run from its opening to its end: before, the command, during, after.

Whatever goes wrong in fingerprint becomes a trouble record; the command is started, passed its
signals and waited for all the same.
"""

import signal
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from fingerprint.runs.census import Areas, Census, Telling
from fingerprint.runs.measures import exit_status_of, metrics_of
from fingerprint.runs.opener import opener
from fingerprint.runs.pump import Pump, Resizing
from fingerprint.runs.readers import Reader
from fingerprint.runs.record import (
    AnyRecord,
    Asked,
    Closed,
    Measured,
    Moment,
    Opened,
    Passed,
    Process,
    Snapped,
    Trouble,
)
from fingerprint.runs.relay import Relay
from fingerprint.runs.sampling import TICK_SECONDS, Due, Sampling, Saving
from fingerprint.runs.timetable import Timetable, process_readings, saves, slow_ticks, ticks
from fingerprint.runs.watch import Duty, watch
from fingerprint.runs.wrap import Command, Ended, Start, own_peak, printable, start
from fingerprint.snapshot import Job, Key, Reading, Snapshot
from fingerprint.version import __version__
from probes.kit.facts import Gap, Section
from probes.kit.host import Host
from probes.kit.probe import HOST, MAIN, Cadence, Probe, Target

R = TypeVar("R")

PEAK = "usage/main/hwm"  # kB
PUMP_SECONDS = 5.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, with which environment, in which working directory. benchmark: which runs may be compared with it.
    workload: what is asked of it, as far as that is known before. streams: 1, 2 or both, whose end is kept for a
    reader of output."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    host: str
    benchmark: str = ""
    vary: tuple[str, ...] = ()
    workload: Mapping[str, Any] = {}
    streams: tuple[int, ...] = ()
    first_minute_hz: float = 5
    then_hz: float = 1


class Journal(Protocol):
    """Where one run's records go. It never raises."""

    def open_run(self, name: str, make: Callable[[int], Opened]) -> object: ...
    def append(self, record: AnyRecord) -> object: ...
    def save(self, snapshot: Snapshot) -> object: ...


class Means(NamedTuple):
    """What a run works with.

    probes    by area; those of cadence `tick` or with a `sample` are sampled, the others of processes read for the
              command's tree
    reader    for the tree and, when the command does not run, for `snapshot` and `given`; idle when given
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


class Finished(NamedTuple):
    """ended: for `wrap.leave`. output: the end of what the streams carried. told: asked to end by this signal.
    unwritten: why records are missing that the journal did not take."""

    ended: Ended
    output: bytes = b""
    told: int = 0
    unwritten: str = ""


class NotRun(Exception):
    """No process could be made, or no record be begun: the command was not started. The text says why."""

    def __init__(self, why: Exception) -> None:
        told = why.strerror if isinstance(why, OSError) else None
        super().__init__(told or f"{type(why).__name__}: {why}")


def run(plan: Plan, means: Means) -> Finished:
    """Runs the plan's command once. Whatever the command does, this returns when it has ended and is recorded.

    Raises NotRun; nothing else until the command was started.
    """
    session = Session(plan, means)
    try:
        with Relay() as relay:
            return session.conduct(relay)
    except Exception as error:
        if session.started:
            raise
        raise NotRun(error) from error


class Session:
    """One run while it goes on."""

    _relay: Relay

    def __init__(self, plan: Plan, means: Means) -> None:
        self.started = False
        self._plan = plan
        self._means = means
        self._unwritten = ""

    def conduct(self, relay: Relay) -> Finished:
        self._relay = relay
        self._means.journal.open_run(self._plan.name, self._opened)
        for key, value in self._plan.workload.items():
            self._write(Asked(time.time_ns(), key, value))
        self._snap("before")
        ended, output = self._command()
        told = self._relay.told
        if ended.started:
            self._snap("after")
        self._tell_hung()
        self._write(Closed(time.time_ns(), ended.how, ended.status, ended.detail, interrupted=bool(told)))
        return Finished(ended, output, told, self._unwritten)

    def _command(self) -> tuple[Ended, bytes]:
        self._relay.step(time.monotonic())
        if told := self._relay.told:
            return Ended("not started", told, f"{signal.Signals(told).name} came before the command was started"), b""
        self._try("what the command is given", self._pass)
        pump = self._try("keeping the output", lambda: Pump(self._plan.streams)) if self._plan.streams else None
        ended = self._start(pump)
        return ended, self._try("the command's output", lambda: self._output(pump)) or b""

    def _start(self, pump: Pump | None) -> Ended:
        peak = self._try("our own size", own_peak) or 0
        plan = self._plan
        command = start(Start(plan.argv, plan.env, self._relay.inherited, pump.streams if pump else {}))
        self.started = True
        if pump:
            pump.started()
        if isinstance(command, Ended):
            self._write(Measured(time.time_ns(), exit_status_of(command)))
            return command
        ended = self._try("what is done beside the command", lambda: self._accompany(command, pump, peak))
        return ended or watch(command, self._relay, [], self._trouble)

    def _accompany(self, command: Command, pump: Pump | None, peak: int) -> Ended:
        sampling = self._sampling(command)
        census = self._census(command)
        ended = watch(command, self._relay, self._duties(command, sampling, census, pump), self._trouble)
        self._try("the last reading of processes", census.finish)
        self._try("the last sample", sampling.finish)
        highest = sampling.sampler.highest(PEAK, least=2)
        for metric in metrics_of(ended, peak, None if highest is None else int(highest) * 1024):
            self._write(Measured(time.time_ns(), metric))
        self._write(sampling.sampler.record(time.time_ns()))
        return ended

    def _duties(self, command: Command, sampling: Sampling, census: Census, pump: Pump | None) -> list[Duty]:
        def save() -> None:
            self._write(sampling.sampler.record(time.time_ns()))

        saving = Saving(Timetable(saves(), command.began), save)
        return [census, sampling, saving, *([Resizing(pump, self._relay, command)] if pump else [])]

    def _sampling(self, command: Command) -> Sampling:
        probes = self._means.probes
        sections = {area: probe.section for area, probe in probes.items()}
        seconds = TICK_SECONDS + sum(probe.budget for probe in probes.values() if probe.sample)
        often = Timetable(ticks(self._plan.first_minute_hz, self._plan.then_hz), command.began)
        seldom = Timetable(slow_ticks(), command.began)
        return Sampling(
            Due(self._sampled(command, "tick"), often, seconds),
            Due(self._sampled(command, "slow"), seldom),
            sections,
            self._means.sampler,
        )

    def _sampled(self, command: Command, cadence: Cadence) -> list[Job]:
        """What may take its time, because it has a `sample`, comes last."""
        targets = {"host": HOST, "process": Target(MAIN, command.pid)}
        probes = [probe for probe in self._means.probes.values() if probe.of in targets]
        due = [probe for probe in probes if ("tick" if probe.sample else probe.cadence) == cadence]
        return [Job(probe.area, targets[probe.of]) for probe in sorted(due, key=lambda probe: probe.sample is not None)]

    def _census(self, command: Command) -> Census:
        due = [probe for probe in self._means.probes.values() if probe.cadence == "border"]
        processes, environments = ([probe for probe in due if probe.of == of] for of in ("process", "environment"))
        seconds = max((probe.budget for probe in environments), default=0)
        areas = Areas([probe.area for probe in processes], [probe.area for probe in environments], seconds)
        moments = Timetable(process_readings(), command.began)
        main, telling = Target(MAIN, command.pid), Telling(_is_passing, _environment)
        return Census(main, areas, self._means.reader, moments, lambda: command.poll() is None, self._process, telling)

    def _process(self, key: Key, reading: Reading) -> None:
        self._write(Process(time.time_ns(), key.area, key.target, reading))

    def _pass(self) -> None:
        reading = self._means.given()
        if reading.outcome == "ok":
            self._write(Passed(time.time_ns(), "process", reading))
        elif reading.outcome == "failed":
            self._trouble(f"what the command is given: {reading.detail}")

    def _output(self, pump: Pump | None) -> bytes:
        if pump is None:
            return b""
        if not pump.drain(PUMP_SECONDS):
            self._trouble(f"the command's output was not taken within {PUMP_SECONDS:g} s: its end is missing here")
        output = pump.output()
        pump.close()
        return output

    def _snap(self, moment: Moment) -> None:
        snapshot = self._try(f"the snapshot {moment}", self._means.snapshot)
        if snapshot is not None:
            self._keep(lambda: self._means.journal.save(snapshot))
            self._write(Snapped(time.time_ns(), moment, snapshot.id))

    def _tell_hung(self) -> None:
        for reader in (self._means.reader, self._means.sampler):
            for key, since in reader.hung.items():
                self._trouble(f"{key} hung since {since}: it was given up, and not read again")

    def _opened(self, attempt: int) -> Opened:
        plan, host = self._plan, self._means.host
        argv = host.redactor.arguments([printable(word) for word in plan.argv])
        return Opened(
            time.time_ns(),
            plan.name,
            attempt,
            plan.benchmark,
            plan.host,
            opener(host),
            argv,
            printable(plan.cwd),
            plan.vary,
            __version__,
        )

    def _try(self, what: str, act: Callable[[], R]) -> R | None:
        """None where it raised, which is then recorded."""
        try:
            return act()
        except Exception as error:  # noqa: BLE001  # no bug of ours may stop the command
            self._trouble(f"{what}: {type(error).__name__}: {error}")
            return None

    def _trouble(self, what: str) -> None:
        self._write(Trouble(time.time_ns(), printable(what)))

    def _write(self, record: AnyRecord) -> None:
        self._keep(lambda: self._means.journal.append(record))

    def _keep(self, act: Callable[[], object]) -> None:
        """The journal never raises; if it does, the command's end is still to be awaited and passed on."""
        try:
            act()
        except Exception as error:  # noqa: BLE001  # its own trouble cannot be written with it
            self._unwritten = self._unwritten or f"{type(error).__name__}: {error}"


def _is_passing(key: Key, reading: Reading) -> bool:
    from probes.process import Process as Section
    from probes.process import is_wrapper

    section = reading.section(Section) if key.area == "process" else None
    return section is not None and is_wrapper(section)


def _environment(key: Key, reading: Reading) -> Hashable:
    """What decides what it can import; None for what is no Python."""
    from probes.process import Process as Section

    section = reading.section(Section) if key.area == "process" else None
    told = section.interpreter.environment if section else Gap("absent")
    if section is None or (isinstance(told, Gap) and told.code != "not_observable"):
        return None
    variables = {} if isinstance(section.env, Gap) else section.env.items
    steering = tuple(variables.get(name) for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE", "PYTHONUSERBASE"))
    return told, section.interpreter.options, steering
