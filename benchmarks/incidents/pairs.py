"""Two whole runs of an incident, as sides of a diff: a machine before and after what changed on it."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

import msgspec

from benchmarks.incidents.environments import packages_told
from benchmarks.incidents.machines import MACHINES, copied
from benchmarks.incidents.printing import printed
from benchmarks.incidents.programs import started
from benchmarks.incidents.putting import Place, Plain, Sections, places, put, type_of
from benchmarks.incidents.rows import Facts, Incident, Number
from benchmarks.incidents.sampling import (
    SECONDS,
    Samples,
    add,
    count_on,
    facts_of_place,
    fit,
    gpu_samples,
    grown,
    host_samples,
    settle,
)
from benchmarks.incidents.surroundings import MAPPED, PROCESS, follow, load, not_imported, scene_of
from fingerprint.explain.subject import Subject
from fingerprint.metrics import Metric
from fingerprint.runs.effective import Effective, effective
from fingerprint.runs.record import AnyRecord, Closed, Measured, Opened, Opener, Process, Said, Sampled, Snapped
from fingerprint.runs.run import Run, fold
from fingerprint.sections import decoder_of
from fingerprint.snapshot import Key, Provenance, Reading, Snapshot, reading_of

STARTS = 5
NOISE = 0.004
"""Of a metric from start to start, as a share."""
BEGAN = 1_760_000_000 * 10**9
EXIT_STATUS = "exit_status"


class Changed(NamedTuple):
    """facts: a change by itself, applied as one. origin: of which row, or whose capture. program: of a row's."""

    origin: str
    facts: Facts
    program: tuple[str, ...] = ()


class Runs(NamedTuple):
    a: Subject
    b: Subject


def runs_of(incident: Incident, changes: Sequence[Changed], random: Random, *, seen: bool = True) -> Runs:
    """changes: all that differs, the trigger among them or not. seen: whether what the row says was seen and printed,
    was."""
    texts = printed(incident, random, seen=seen)
    every = (incident.also, *(change.facts for change in changes))
    sides = []
    for side in (0, 1):
        sections = scene_of(incident.machine, incident.program)
        sections[PROCESS].update(started(incident.program))
        sections[MAPPED].update(_opened(incident))
        load(sections, packages_told(incident), not_imported(incident.computes))
        samples = {**host_samples(sections, random), **gpu_samples(sections, random)}
        for facts in every:
            _apply(sections, samples, facts, side)
        follow(sections)
        fit(samples, sections, random)
        for item in incident.seen if seen else ():
            add(samples, sections, item.fact, (item.before, item.after)[side], random)
        start = _of_a_start(sections, samples, texts[side])
        sides.append(_subject("AB"[side], sections, samples, start, _numbers(incident.metric, side, random)))
    return Runs(*sides)


def _opened(incident: Incident) -> Plain:
    """The devices that the program opened, where they are known."""
    gpus = MACHINES[incident.machine].gpus
    of_nvidia = (*(f"/dev/nvidia{at}" for at in range(gpus)), "/dev/nvidia-uvm", "/dev/nvidiactl")
    devices = of_nvidia if gpus else incident.devices
    return {} if devices is None else {"devices": list(devices)}


def _apply(sections: Sections, samples: Samples, facts: Facts, side: int) -> None:
    for pattern, pair in facts.items():
        for place in places(sections, pattern):
            _change(sections, samples, place, pair[side])


def _change(sections: Sections, samples: Samples, place: Place, wanted: Any) -> None:
    fact = facts_of_place(place)
    if fact.kind == "counter":
        samples[place.path] = grown(wanted / SECONDS)
        return
    put(sections, place, wanted)
    if not fact.lasting:
        settle(samples, place, wanted)


def _numbers(metric: Number, side: int, random: Random) -> tuple[tuple[Metric, ...], ...]:
    """The metrics of each start."""
    level = (metric.before, metric.after)[side]
    if metric.name == EXIT_STATUS:
        return tuple((_metric(metric, level),) for _ in range(STARTS))
    noisy = [level * (1 + random.gauss(0, NOISE)) for _ in range(STARTS)]
    return tuple((_metric(metric, one), Metric(EXIT_STATUS, "", "lower", (0.0,), "wait4")) for one in noisy)


def _metric(metric: Number, level: float) -> Metric:
    return Metric(metric.name, metric.unit, metric.better, (float(level),), "played back")


def _subject(
    name: str, sections: Sections, samples: Samples, start: "_Start", starts: Sequence[Sequence[Metric]]
) -> Subject:
    after = copied(sections)
    count_on(after, samples)
    taken = {"before": _snapshot("before", sections, BEGAN), "after": _snapshot("after", after, BEGAN + _NS)}
    runs = [_run(name, at, told, start) for at, told in enumerate(starts, start=1)]
    state: Effective = effective(runs[-1], taken)
    return Subject(name=name, state=state, attempts=tuple(runs), earlier=(state,) * (len(runs) - 1))


_NS = int(SECONDS * 1e9)


def _snapshot(id_: str, sections: Sections, at: int) -> Snapshot:
    readings = {key: _reading(key, section) for key, section in sections.items() if not key.target}
    return Snapshot(id_, at, 100.0, "host", Provenance("0", "3.11", 0, "k"), readings)


def _reading(key: Key, section: Plain) -> Reading:
    return _read(key, msgspec.json.encode(section))


@lru_cache(maxsize=512)
def _read(key: Key, told: bytes) -> Reading:
    """Through a strict decode, as what a probe sends. Most sections are alike on both sides, and of many rows."""
    return reading_of(decoder_of(type_of(key))(told))


class _Start(NamedTuple):
    """What every start of a side has: its command, what was read of its process, what was sampled and printed."""

    argv: tuple[str, ...]
    records: tuple[AnyRecord, ...]


def _of_a_start(sections: Sections, samples: Samples, text: Said) -> _Start:
    read = (
        Process(at=BEGAN, area=key.area, target=key.target, reading=_reading(key, section))
        for key, section in sections.items()
        if key.target
    )
    sampled = Sampled(at=BEGAN + _NS, ticks=300, missed=0, facts=samples)
    return _Start(tuple(_argv(sections[PROCESS])), (*read, sampled, text))


def _run(name: str, attempt: int, metrics: Sequence[Metric], start: _Start) -> Run:
    status = next(int(metric.samples[0]) for metric in metrics if metric.name == EXIT_STATUS)
    opened = Opened(
        at=BEGAN, name=f"run-{name}", attempt=attempt, benchmark="b", host="host",
        opener=Opener(pid=1, start_ticks=1, boot_id="boot"), argv=start.argv,
    )  # fmt: skip
    told: list[AnyRecord] = [
        Snapped(at=BEGAN, moment="before", snapshot="before"),
        Snapped(at=BEGAN + _NS, moment="after", snapshot="after"),
        *start.records,
        *(Measured(at=BEGAN + _NS, metric=metric) for metric in metrics),
        Closed(at=BEGAN + _NS, how="exited", status=status),
    ]
    return fold(f"01{name}{attempt}", (opened, *told))


def _argv(process: Plain) -> Iterator[str]:
    yield from (process["argv0"], *process["operands"])
    for flag, values in process["flags"]["items"].items():
        yield from (flag, *values)
