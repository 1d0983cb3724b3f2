"""What is computed for GET /metrics, kept until what it was made of is another."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from fingerprint.comparing import load, subject
from fingerprint.store import FoundRun

if TYPE_CHECKING:
    from fingerprint.diff import Folded
    from fingerprint.snapshot import Snapshot
    from fingerprint.store import RunRow, Store

MOST_RUNS = 50
Measured = list[tuple[dict[str, str], float]]


class Drift(NamedTuple):
    """How many lasting facts of the host differ now from `run`."""

    run: str
    facts: int


class Computed:
    """Several threads may compute the same at a time."""

    def __init__(self) -> None:
        self._drift: tuple[object, Drift] | None = None
        self._metrics: dict[tuple[str, int], Measured] = {}

    def drift(self, store: "Store", now: "Snapshot") -> Drift | None:
        """Against the last good run of this host; None where there is none."""
        rows = [row for row in store.runs(good=True) if row.host == now.host]
        if not rows:
            return None
        digests = frozenset((key, it.lasting.digest) for key, it in now.readings.items() if it.lasting)
        of = (rows[-1].id, rows[-1].last_at, digests)
        if self._drift is None or self._drift[0] != of:
            self._drift = (of, _drift(store, rows[-1], now))
        return self._drift[1]

    def run_metrics(self, store: "Store") -> Iterator[tuple[dict[str, str], float]]:
        """Of the newest run of each name."""
        newest = {row.name: row for row in store.runs(limit=20 * MOST_RUNS)}
        rows = sorted(newest.values(), key=lambda row: row.opened_at)[-MOST_RUNS:]
        self._metrics = {(row.id, row.last_at): self._measured(store, row) for row in rows}
        for found in self._metrics.values():
            yield from found

    def _measured(self, store: "Store", row: "RunRow") -> Measured:
        known = self._metrics.get((row.id, row.last_at))
        return known if known is not None else [*_measured(store, row)]


def _drift(store: "Store", row: "RunRow", now: "Snapshot") -> Drift:
    from fingerprint.diff import compare
    from fingerprint.runs.effective import effective_of_snapshot

    changes = compare(subject(FoundRun(store, (row,))).state, effective_of_snapshot(now))
    return Drift(str(row), sum(_counts(folded) for folded in changes.changes))


def _counts(folded: "Folded") -> bool:
    first = folded.first
    return folded.follows is None and first.leads and first.fact.lasting and not first.key.target


def _measured(store: "Store", row: "RunRow") -> Iterator[tuple[dict[str, str], float]]:
    for metric in load(store, row.id).metrics.values():
        if metric.typical is not None:
            labels = {"run": row.name, "attempt": str(row.attempt), "metric": metric.name, "unit": metric.unit}
            yield labels, metric.typical
