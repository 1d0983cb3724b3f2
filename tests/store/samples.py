"""Snapshots and records to store: real sections, of two areas that no probe has."""

import itertools
from pathlib import Path

import msgspec

from fingerprint.ids import new_id
from fingerprint.metrics import Metric
from fingerprint.runs.opener import opener
from fingerprint.runs.record import (
    AnyRecord,
    Asked,
    Closed,
    Distribution,
    Growth,
    Held,
    Measured,
    Noted,
    Opened,
    Opener,
    Passed,
    Process,
    Sample,
    Sampled,
    Snapped,
    Trouble,
    Uncounted,
)
from fingerprint.snapshot import Key, Provenance, Reading, Snapshot, reading_of
from fingerprint.store import Event, EventKind, Store
from probes.kit.facts import Gap, Map, Redacted, Section, Seen, config, counter, telemetry
from probes.kit.host import Host

MINUTE = 60_000_000_000
PROVENANCE = Provenance("0.1.0", "3.11.7", 1000, "abcdef012345")
OPENER = Opener(4711, 123456, "c0ffee00-0000-4000-8000-000000000000")
_clock = itertools.count(1_750_000_000_000_000_000, 1_000_000)


class Link(Section):
    width: Seen[int] = config("lanes decide the bandwidth", "sample")
    errors: Seen[int] = counter("replays cost bandwidth", "sample")


class Bus(Section):
    speed: Seen[int] = config("the speed of the bus", "sample", "kHz")
    heat: Seen[int] = telemetry("a hot bus slows down", "sample", "mC")
    links: Seen[Map[Link]] = config("which links there are", "sample")


class Shell(Section):
    environment: Seen[Map[Seen[str | Redacted]]] = config("variables steer programs", "sample", private=True)


def bus(speed: int = 100, heat: int = 40_000) -> Bus:
    links = {"0000:17:00.0": Link(width=16, errors=3), "0000:18:00.0": Link(width=Gap("denied", "root only"))}
    return Bus(speed=speed, heat=heat, links=Map(links))


def shell() -> Shell:
    return Shell(environment=Map({"OMP_NUM_THREADS": "8", "HF_TOKEN": Redacted("abcdef012345", "5ec2e7")}))


def snapshot(taken_at: int = 0, speed: int = 100, heat: int = 40_000, host: str = "h200x8") -> Snapshot:
    readings = {
        Key("bus"): reading_of(bus(speed, heat), 1.5),
        Key("process", "main"): reading_of(shell()),
        Key("stuck"): Reading("timed_out", "no answer within 1 s", 1000.0),
    }
    return Snapshot(new_id(), taken_at or next(_clock), 12.5, host, PROVENANCE, readings)


def opened(name: str = "run-A", attempt: int = 1, benchmark: str = "decode", at: int = 0) -> Opened:
    argv = ("python", "-m", "server", Redacted("abcdef012345", "a1b2"))
    return Opened(at or next(_clock), name, attempt, benchmark, "h200x8", OPENER, argv, "/srv", ("bus/speed",), "0.1.0")


def records(before: str, after: str, at: int = 0) -> list[AnyRecord]:
    """One of each kind but `opened`, in the order in which a run writes them."""
    tick = itertools.count(at or next(_clock), 1000)
    quantiles = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.5)
    facts: dict[str, Sample] = {
        "bus/heat": Distribution(7, 4.0, quantiles),
        "bus/links/0000:17:00.0/errors": Growth(3, 9, 6, 60.0),
        "bus/links/0000:17:00.0/width": Held(((16, 40), (["x", None], 2)), others=1, left_out=9),
        "bus/links/0000:65:00.0/width": Uncounted(52),
    }
    return [
        Snapped(next(tick), "before", before),
        Passed(next(tick), "process", reading_of(shell())),
        Process(next(tick), "process", "main.worker.1", reading_of(shell(), 2.5)),
        Sampled(next(tick), 300, 1, facts),
        Measured(next(tick), Metric("verify_ms", "ms", "lower", (19.2, 19.4), "log")),
        Asked(next(tick), "concurrency", {"clients": 8, "seed": None}),
        Trouble(next(tick), "the reader was replaced"),
        Noted(next(tick), "after the driver update"),
        Snapped(next(tick), "after", after),
        Closed(next(tick), "exited", 0),
    ]


def whole_run(store: Store, name: str = "run-A", benchmark: str = "decode", at: int = 0, speed: int = 100) -> str:
    """A run as `run` writes it, on a bus of this speed."""
    run_id = store.open_run(name, lambda attempt: opened(name, attempt, benchmark, at))
    before, after = snapshot(at, speed), snapshot(at, speed)
    store.save(before)
    store.save(after)
    for record in records(before.id, after.id, at):
        store.append(run_id, record)
    return run_id


def short_run(store: Store, name: str = "run-A", benchmark: str = "decode", at: int = 0) -> str:
    """Opened and closed at one moment, nothing else."""
    run_id = store.open_run(name, lambda attempt: opened(name, attempt, benchmark, at))
    store.append(run_id, Closed(at or next(_clock), "exited", 0))
    return run_id


def segment(store: Store, since: int, until: int | None, name: str = "sglang-30000") -> str:
    """A run as the service opens one of a server, cut at `until`; this process goes on with it where that is None."""
    who = OPENER if until else opener(Host())

    def make(attempt: int) -> Opened:
        return msgspec.structs.replace(opened(name, attempt, at=since), opener=who, service=True)

    run_id = store.open_run(name, make)
    store.save(before := snapshot(since))
    store.append(run_id, Snapped(since, "before", before.id))
    if until:
        store.append(run_id, Closed(until, "server ran on"))
    return run_id


def event(since: int, until: int = 0, kind: EventKind = "kernel", what: str = "xid", host: str = "h200x8") -> Event:
    return Event(new_id(), host, since, until or since, kind, what, says="Xid 79: the GPU has fallen off the bus")


def store_at(folder: Path) -> Store:
    return Store.open(folder / "state" / "store.db")
