"""Made-up runs and snapshots as sides of a diff."""

import json
from collections.abc import Iterable
from typing import Any

import jsonschema
import msgspec

from fingerprint.explain import Subject, explain
from fingerprint.explain.contract import Diff
from fingerprint.runs.effective import Samples, effective
from fingerprint.runs.record import (
    AnyRecord,
    Closed,
    Growth,
    Process,
    Sampled,
    Snapped,
)
from fingerprint.runs.run import Run
from fingerprint.snapshot import Reading, reading_of
from probes.kit.facts import Section
from tests.diff.made_up import Made, known, snapshot
from tests.runs.recorded import SECOND, closed, measured, run

START = 1_700_000_000 * SECOND
CALM = {"pressure/cpu/some/total": Growth(first=0, last=1000, grown=1000, seconds=10.0)}
BUSY = {"pressure/cpu/some/total": Growth(first=0, last=9_000_000, grown=9_000_000, seconds=10.0)}
VALID = jsonschema.Draft202012Validator(msgspec.json.schema(Diff))


def subject(
    name: str,
    made: Section | Reading | None = None,
    task: Section | None = None,
    *records: AnyRecord,
    samples: Samples = CALM,
    after: Section | None = None,
    at: int = START,
    area: str = "made",
    **opened: Any,
) -> Subject:
    """A run with a snapshot before and after, a reading of `main` and samples. area: that `made` and `after` are of."""
    host = {area: made if made is not None else Made(mode="a")}
    taken = {
        "s1": snapshot(host, id_="s1", at=at),
        "s2": snapshot({area: after} if after is not None else host, id_="s2", at=at + 9 * SECOND),
    }
    told: list[AnyRecord] = [
        Snapped(at=at, moment="before", snapshot="s1"),
        Snapped(at=at, moment="after", snapshot="s2"),
    ]
    if task is not None:
        told.append(Process(at=at, area="process", target="main", reading=reading_of(task)))
    told += [Sampled(at=at, ticks=9, missed=0, facts=samples), *records]
    if not any(isinstance(record, Closed) for record in records):
        told.append(closed())
    folded = run(*told, id_=f"01{name}", name=name, at=at, **opened)
    return Subject(name=name, state=effective(folded, taken), attempts=(folded,))


def on_host(side: Subject, **areas: Section) -> Subject:
    """The same, where these areas of the host were read as well."""
    read = (subject("A", section, area=area).state.sections for area, section in areas.items())
    sections = {key: standing for found in (side.state.sections, *read) for key, standing in found.items()}
    return msgspec.structs.replace(side, state=msgspec.structs.replace(side.state, sections=sections))


def reading(area: str, section: Section, target: str = "main") -> Process:
    """Of a process, while it ran."""
    return Process(at=START, area=area, target=target, reading=reading_of(section))


def explained(a: Subject, b: Subject, history: Iterable[Run] = (), **more: Any) -> Diff:
    diff = explain(a, b, history, known=known, **more)
    VALID.validate(json.loads(msgspec.json.encode(diff)))
    return diff


def wall(name: str, seconds: float, **more: Any) -> Subject:
    return subject(name, None, None, measured("wall_time", seconds), **more)


def others(*seconds: float) -> list[Run]:
    return [run(measured("wall_time", s), closed(), id_=f"01other{n}") for n, s in enumerate(seconds)]


STEADY = others(4.0, 4.04, 4.08, 3.98, 4.02, 4.05)
