"""A Run is an append-only list of records; the frozen Run is their fold.

Records are written as things happen, so a run that was killed keeps what it had: opened and not closed,
with its opener gone, it is interrupted.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Union

import msgspec

from fingerprint.metrics import Metric
from fingerprint.said.heard import Heard
from fingerprint.snapshot import Reading
from probes.kit.facts import Redacted

Moment = Literal["before", "during", "after"]
Ending = Literal[
    "exited",
    "killed",
    "not found",
    "not executable",
    "not started",
    "server ran on",  # of a run about servers that were there before: it was ended, they were not
    "server ended",
    "imported",  # of other tools' dumps: nothing ran
]


OUTPUT, BOTH_STREAMS = "output", "output and errors"
"""What a command printed, as the source of a text."""


class Record(msgspec.Struct, frozen=True, tag_field="record", omit_defaults=True):
    """at: ns since 1970."""

    at: int


class Opener(msgspec.Struct, frozen=True):
    """Which process holds the run open: a pid alone is reused, so with its start time (clock ticks) and boot id."""

    pid: int
    start_ticks: int
    boot_id: str


class Attached(msgspec.Struct, frozen=True, omit_defaults=True):
    """A process that ran before its run did. target: its name there. started: as the Opener's start_ticks. engine:
    empty where none is known in it. port: where it listens, 0 where that is not known."""

    target: str
    pid: int
    started: int
    engine: str = ""
    port: int = 0


class Opened(Record, frozen=True, tag="opened"):
    """argv is redacted: of the command, or of the first of those that the run is attached to. vary: globs whose
    changes were declared. detached: the opener samples in the background, until it is told to end. service: nobody
    asked for it, the service noticed what serves."""

    name: str
    attempt: int
    benchmark: str
    host: str
    opener: Opener
    argv: tuple[str | Redacted, ...] = ()
    cwd: str = ""
    vary: tuple[str, ...] = ()
    fingerprint: str = ""
    attached: tuple[Attached, ...] = ()
    detached: bool = False
    service: bool = False


class Snapped(Record, frozen=True, tag="snapshot"):
    moment: Moment
    snapshot: str


class Passed(Record, frozen=True, tag="passed"):
    """What `run` gave to exec for the target `main`: it stands until a reading replaces it."""

    area: str
    reading: Reading


class Process(Record, frozen=True, tag="process"):
    """A section about a process of the run's tree, read while it lived; the last complete one counts."""

    area: str
    target: str
    reading: Reading


class Renamed(Record, frozen=True, tag="renamed"):
    """A process that went by the name `was` turned out to be what `target` says: what was read of it is of that."""

    was: str
    target: str


class Distribution(msgspec.Struct, frozen=True, tag="distribution"):
    """Of a telemetry fact during a run; quantiles are those of 0, 5, 25, 50, 75, 95, 100 %.

    count     the samples that counted
    left_out  those taken while the condition that the fact needs did not hold
    """

    count: int
    mean: float
    quantiles: tuple[float, ...]
    left_out: int = 0


class Growth(msgspec.Struct, frozen=True, tag="growth"):
    """Of a counter during a run; `resets` counts the times it fell."""

    first: int
    last: int
    grown: int
    seconds: float
    resets: int = 0


class Held(msgspec.Struct, frozen=True, tag="held"):
    """Of a state that settles in a condition: how many samples held each value, the most frequent first.

    others: samples of values beyond those that are kept. left_out: as of a Distribution.
    """

    values: tuple[tuple[Any, int], ...]
    others: int = 0
    left_out: int = 0

    @property
    def count(self) -> int:
        return sum(times for _, times in self.values) + self.others


class Uncounted(msgspec.Struct, frozen=True, tag="uncounted"):
    """Of a fact that was sampled, and never while the condition that it needs held."""

    left_out: int
    count: ClassVar[int] = 0


Sample = Union[Distribution, Growth, Held, Uncounted]


class Sampled(Record, frozen=True, tag="samples"):
    """What was made of the samples so far, by fact path; the last record holds all.

    ticks: samples taken, missed: given up.
    """

    ticks: int
    missed: int
    facts: Mapping[str, Sample]


class Measured(Record, frozen=True, tag="metric"):
    metric: Metric


class Asked(Record, frozen=True, tag="workload"):
    """One workload fact: what was asked of the server."""

    key: str
    value: Any


class Said(Record, frozen=True, tag="said"):
    """Which known messages stood in a text that the run wrote, by their id. None of them is told, too: it was read.

    source: the file, OUTPUT or BOTH_STREAMS. cut: only the end of it was kept.
    """

    source: str
    messages: Mapping[str, Heard] = {}
    cut: bool = False


class Trouble(Record, frozen=True, tag="trouble"):
    """What went wrong in fingerprint itself; the command went on."""

    what: str


class Noted(Record, frozen=True, tag="note"):
    text: str


class Marked(Record, frozen=True, tag="good"):
    good: bool


class Closed(Record, frozen=True, tag="closed"):
    """status: the exit code, or the signal's number where `how` is killed.

    interrupted: fingerprint was told to stop.
    """

    how: Ending
    status: int | None = None
    detail: str = ""
    interrupted: bool = False

    @property
    def in_words(self) -> str:
        """`exited 0`, `killed by signal 9`, `not found`: equal where two runs ended alike."""
        words = {"exited": f"exited {self.status}", "killed": f"killed by signal {self.status}"}
        said = words.get(self.how, self.how)
        return f"{said}, interrupted" if self.interrupted else said


AnyRecord = Union[
    Opened, Snapped, Passed, Process, Renamed, Sampled, Measured, Asked, Said, Trouble, Noted, Marked, Closed
]  # fmt: skip
