"""What the stores hold of a host and a time, loaded as far as it is needed."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fingerprint.runs.effective import effective
from fingerprint.runs.run import Run, fold
from fingerprint.store import RunRow, SnapshotRow, Store
from fingerprint.timeline.readings import Look
from fingerprint.timeline.starts import Start

MOST_RUNS, MOST_SNAPSHOTS = 200, 400
LESS = "of this time are left out: ask for less of it with --since and --until"


class Loaded(NamedTuple):
    """until: ns since 1970, when it was over as far as is known."""

    store: Store
    row: RunRow
    run: Run

    @property
    def until(self) -> int:
        return self.run.closed.at if self.run.closed else self.row.last_at


class Found(NamedTuple):
    """runs: in the order in which they were opened. left_out: of what there was too much, in sentences."""

    runs: tuple[Loaded, ...]
    left_out: tuple[str, ...]


def newest(sources: Sequence[Store], hosts: Sequence[str], since: int, until: int) -> Found:
    """The runs of that time. One that is in a file and in a store is one."""
    rows = {
        row.id: (store, row)
        for store in sources
        for row in store.runs()
        if row.host in hosts and row.opened_at <= until and _over(row) >= since
    }
    ordered = sorted(rows.values(), key=lambda it: (it[1].opened_at, it[1].id))
    loaded = tuple(Loaded(store, row, fold(row.id, store.records(row.id))) for store, row in ordered[-MOST_RUNS:])
    looked_at = max((len(_rows(sources, host, since, until)) for host in hosts), default=0)
    counted = ((len(ordered) - MOST_RUNS, "runs"), (looked_at - MOST_SNAPSHOTS, "snapshots"))
    return Found(loaded, tuple(f"{less} older {what} {LESS}" for less, what in counted if less > 0))


def _over(row: RunRow) -> int:
    """A note or a mark comes later."""
    return row.closed.at if row.closed else row.last_at


def starts(host: str, found: Found) -> Iterator[Sequence[Start]]:
    """By benchmark. What the service opens tells by itself how it differs from the one before."""
    groups: dict[str, list[Loaded]] = defaultdict(list)
    for it in found.runs:
        if it.row.host == host and not it.run.opened.service:
            groups[it.row.benchmark].append(it)
    return ([_start(it) for it in group] for group in groups.values() if group[1:])


def _start(it: Loaded) -> Start:
    """Of servers a part was read at the borders; of a command all while it ran."""
    ids = [id_ for ids in it.run.snapshots.values() for id_ in ids] if it.run.opened.attached else []
    return Start(it.run, effective(it.run, {id_: it.store.snapshot(id_) for id_ in ids}), it.until)


def looks(sources: Sequence[Store], host: str, since: int, until: int, found: Found) -> Iterator[Look]:
    """The snapshots of that time and the last one before it, but for those of the service, which tells by itself what
    changed. Of equal ones in a row only the first is loaded; manifests are of one store each."""
    runs = {id_: it for it in found.runs for ids in it.run.snapshots.values() for id_ in ids}
    last: Look | None = None
    stood: tuple[Store, str] | None = None
    for store, row in _rows(sources, host, since, until)[-MOST_SNAPSHOTS:]:
        run = runs[row.id].run.id if row.id in runs else ""
        if last is not None and (store, row.manifest) == stood:
            last = last._replace(until=max(last.until, row.seen_until), last_run=run or last.last_run)
            continue
        if last is not None:
            yield last
        last = Look(store.snapshot(row.id), _at(row, runs), row.seen_until, run, run)
        stood = store, row.manifest
    if last is not None:
        yield last


def _rows(sources: Sequence[Store], host: str, since: int, until: int) -> list[tuple[Store, SnapshotRow]]:
    rows = {
        row.id: (store, row)
        for store in sources
        if store.origin != "service"
        for row in (*store.snapshots(host=host, until=since, limit=1), *store.snapshots(host=host, since=since))
        if row.taken_at <= until
    }
    return sorted(rows.values(), key=lambda it: (it[1].taken_at, it[1].id))


def _at(row: SnapshotRow, runs: Mapping[str, Loaded]) -> int:
    """What a run found before it began was so when it began."""
    before = row.id in runs and row.id in runs[row.id].run.snapshots.get("before", ())
    return runs[row.id].run.opened.at if before else row.taken_at
