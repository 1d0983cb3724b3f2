"""The frozen Run: the fold of its records."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from fingerprint.metrics import Metric
from fingerprint.runs.record import (
    AnyRecord,
    Asked,
    Closed,
    Marked,
    Measured,
    Moment,
    Noted,
    Opened,
    Passed,
    Process,
    Renamed,
    Said,
    Sampled,
    Snapped,
    Trouble,
)
from fingerprint.snapshot import Key, Reading

State = Literal["open", "closed", "interrupted"]
NO_HOST = "the host of "
"""What stands before a run's name, as no host's name can, where nobody told which host an imported one is of."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one start of a command.

    snapshots  ids by moment, in the order taken
    passed     what was given to exec for the target `main`, by area
    processes  the last complete reading of each section of the run's tree
    samples    the last record, which holds all
    metrics    by name, the last of each
    said       by the text that was searched, the last of each; none where nobody read any
    """

    id: str
    opened: Opened
    snapshots: Mapping[Moment, tuple[str, ...]]
    passed: Mapping[str, Reading]
    processes: Mapping[Key, Reading]
    samples: Sampled | None
    metrics: Mapping[str, Metric]
    workload: Mapping[str, Any]
    troubles: tuple[str, ...]
    notes: tuple[str, ...]
    good: bool
    closed: Closed | None
    said: Mapping[str, Said] = {}

    @property
    def label(self) -> str:
        """The name as a run argument: the first attempt of a series needs no number."""
        return self.opened.name if self.opened.attempt == 1 else f"{self.opened.name}#{self.opened.attempt}"


def state_of(closed: Closed | None, opener_alive: bool) -> State:
    """`interrupted`: fingerprint was told to stop, or is gone without having closed the run."""
    if closed is None:
        return "open" if opener_alive else "interrupted"
    return "interrupted" if closed.interrupted else "closed"


def ended(closed: Closed | None, state: State) -> str:
    """How a run ended, in words."""
    if closed is None:
        return "still open" if state == "open" else "interrupted: fingerprint ended before the run did"
    return f"{closed.in_words}: {closed.detail}" if closed.detail else closed.in_words


def fold(run_id: str, records: Iterable[AnyRecord]) -> Run:
    """The Run that these records tell. Raises ValueError unless exactly one of them opens it."""
    found = list(records)
    opened = _all(found, Opened)
    if len(opened) != 1:
        raise ValueError(f"run {run_id} has {len(opened)} records that open it: its records are incomplete or mixed up")
    return Run(
        id=run_id,
        opened=opened[0],
        snapshots=_by_moment(_all(found, Snapped)),
        passed={record.area: record.reading for record in _all(found, Passed)},
        processes=_last_complete(found),
        samples=_last(_all(found, Sampled)),
        metrics={record.metric.name: record.metric for record in _all(found, Measured)},
        workload={record.key: record.value for record in _all(found, Asked)},
        troubles=tuple(record.what for record in _all(found, Trouble)),
        notes=tuple(record.text for record in _all(found, Noted)),
        good=any(record.good for record in _all(found, Marked)[-1:]),
        closed=_last(_all(found, Closed)),
        said={record.source: record for record in _all(found, Said)},
    )


def _all(records: Iterable[AnyRecord], kind: type[Any]) -> list[Any]:
    return [record for record in records if type(record) is kind]


def _last(records: list[Any]) -> Any:
    return records[-1] if records else None


def _by_moment(records: Iterable[Snapped]) -> Mapping[Moment, tuple[str, ...]]:
    moments: dict[Moment, tuple[str, ...]] = {}
    for record in records:
        moments[record.moment] = (*moments.get(record.moment, ()), record.snapshot)
    return moments


def _last_complete(records: Iterable[AnyRecord]) -> Mapping[Key, Reading]:
    """The last reading of each section that went dark nowhere; where all did, the one that saw most."""
    kept: dict[Key, Reading] = {}
    for record in records:
        if isinstance(record, Renamed):
            for key in [key for key in kept if key.target == record.was]:
                _keep(kept, Key(key.area, record.target), kept.pop(key))
        elif isinstance(record, Process):
            _keep(kept, Key(record.area, record.target), record.reading)
    return kept


def _keep(kept: dict[Key, Reading], key: Key, reading: Reading) -> None:
    if key not in kept or _replaces(reading, kept[key]):
        kept[key] = reading


def _replaces(new: Reading, old: Reading) -> bool:
    if new.lasting is None or old.lasting is None:
        return old.lasting is None
    return not _broke_off(new) or (_broke_off(old) and new.lasting.seen >= old.lasting.seen)


# What /proc/PID answers once the process is gone: ENOENT on open, ESRCH on read. `process` tells both in these words.
_ENDED = b"the process ended"


def _broke_off(reading: Reading) -> bool:
    """Whether the process ended while it was read. The details of gaps stand in the volatile half."""
    return _ENDED in bytes(reading.volatile)
