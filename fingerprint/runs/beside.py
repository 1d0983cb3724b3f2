"""What is done for a run while its processes live: they are read, and what moves is sampled."""

import time
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from fingerprint.runs.awaiting import Awaiting
from fingerprint.runs.census import Answering, Areas, Census, Moments, Roots, Telling, Writing
from fingerprint.runs.counts import Counts
from fingerprint.runs.record import Measured, Process, Renamed
from fingerprint.runs.recording import Recording
from fingerprint.runs.sampling import TICK_SECONDS, Due, Sampling, Saving
from fingerprint.runs.timetable import Timetable, looks, process_readings, saves, slow_ticks, ticks
from fingerprint.runs.watch import Duty
from fingerprint.snapshot import Job, Key, Reading
from probes.kit.facts import Gap, Section
from probes.kit.probe import HOST, Cadence, Probe


class Rates(NamedTuple):
    """Samples a second."""

    first_minute_hz: float = 5
    then_hz: float = 1


class Beside:
    """The duties of one run, and their end."""

    def __init__(self, recording: Recording, roots: Roots, rates: Rates) -> None:
        self._recording = recording
        self._roots = roots
        self._probes = list(recording.means.probes.values())
        self._sampling = self._sampled(rates)
        self._counts = Counts()
        self._census = self._counting()

    @property
    def duties(self) -> list[Duty]:
        began = self._roots.began
        awaiting = Awaiting(self._roots.ports, self._recording.means.host, self._census, began)
        return [self._census, awaiting, self._sampling, Saving(Timetable(saves(), began), self._save)]

    def finish(self) -> None:
        """After the end of the processes, or of the run that is about them."""
        self._recording.attempt("the last reading of processes", self._census.finish)
        self._recording.attempt("the last sample", self._sampling.finish)
        self._recording.attempt("what the server counted", self._measured)

    def save_last(self) -> None:
        self._save()

    def highest(self, path: str) -> float | None:
        """The largest sample of a telemetry fact; None where it was not sampled twice."""
        return self._sampling.sampler.highest(path, least=2)

    def _save(self) -> None:
        self._recording.write(self._sampling.sampler.record(time.time_ns()))

    def _measured(self) -> None:
        for metric in self._counts.metrics():
            self._recording.write(Measured(time.time_ns(), metric))

    def _sampled(self, rates: Rates) -> Sampling:
        sections = {probe.area: probe.section for probe in self._probes}
        seconds = TICK_SECONDS + sum(probe.budget for probe in self._probes if probe.sample)
        often, seldom = Timetable(ticks(*rates), self._roots.began), Timetable(slow_ticks(), self._roots.began)
        return Sampling(
            Due(self._jobs("tick"), often, seconds),
            Due(self._jobs("slow"), seldom),
            sections,
            self._recording.means.sampler,
        )

    def _jobs(self, cadence: Cadence) -> list[Job]:
        """What may take its time, because it has a `sample`, comes last."""
        targets = {"host": (HOST,), "process": self._roots.targets}
        due = [probe for probe in self._probes if ("tick" if probe.sample else probe.cadence) == cadence]
        last = sorted(due, key=lambda probe: probe.sample is not None)
        return [Job(probe.area, target) for probe in last for target in targets.get(probe.of, ())]

    def _counting(self) -> Census:
        due = [probe for probe in self._probes if probe.cadence in ("border", "serving")]
        began = self._roots.began
        return Census(
            self._roots,
            areas_of(due),
            self._recording.means.reader,
            Moments(Timetable(process_readings(), began), Timetable(looks(), began)),
            Writing(self._process, self._renamed, self._recording.trouble, self._served),
            Telling(_is_passing, environment_of, _is_gone, _answering),
        )

    def _process(self, key: Key, reading: Reading) -> None:
        self._recording.write(Process(time.time_ns(), key.area, key.target, reading))

    def _served(self, key: Key, reading: Reading) -> None:
        from probes.engine import Engine

        section = reading.section(Engine)
        if section is not None and not isinstance(section.metrics, Gap):
            self._counts.take(key.target, section.metrics)

    def _renamed(self, was: str, name: str) -> None:
        self._recording.write(Renamed(time.time_ns(), was, name))


def areas_of(probes: Sequence[Probe[Section]]) -> Areas:
    environments = [probe for probe in probes if probe.of == "environment"]
    serving = [probe for probe in probes if probe.cadence == "serving"]
    return Areas(
        [probe.area for probe in probes if probe.of == "process" and probe not in serving],
        [probe.area for probe in environments],
        max((probe.budget for probe in environments), default=0),
        [probe.area for probe in serving],
        max((probe.budget for probe in serving), default=0),
    )


def _is_passing(key: Key, reading: Reading) -> bool:
    from probes.process import Process as Section
    from probes.process import is_wrapper

    section = reading.section(Section) if key.area == "process" else None
    return section is not None and is_wrapper(section)


def environment_of(key: Key, reading: Reading) -> Hashable:
    """What decides what it can import; None for what is no Python. Of a server that may not be read it is asked all the
    same, so that the run says that it was denied."""
    from probes.process import Process as Section

    section = reading.section(Section) if key.area == "process" else None
    told = section.interpreter.environment if section else Gap("absent")
    if section is not None and told == Gap("denied") and "." not in key.target:
        return key.target if _is_called_python(section.argv0) else None
    if section is None or (isinstance(told, Gap) and told.code != "not_observable"):
        return None
    if isinstance(section.env, Gap) and "." in key.target:
        return None  # a title stands over it: it was handed on by who stands above, whose environment is read
    variables = {} if isinstance(section.env, Gap) else section.env.items
    steering = tuple(variables.get(name) for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE", "PYTHONUSERBASE"))
    return told, section.interpreter.options, steering


def _is_called_python(name: object) -> bool:
    from probes.kit.interpreters import named

    known = named(name) if isinstance(name, str) else None
    return known is not None and known.family == "python"


def _answering(_key: Key, reading: Reading) -> Answering:
    from probes.engine import Engine

    section = reading.section(Engine)
    if section is None or section.version == section.model == Gap("settling"):
        return "loads" if section else "is mute"
    return "is mute" if isinstance(section.version, Gap) and isinstance(section.model, Gap) else "answers"


def _is_gone(key: Key, reading: Reading) -> bool:
    from probes.libraries import Libraries

    section = reading.section(Libraries) if key.area == "libraries" else None
    return section is not None and isinstance(section.packages, Gap)
