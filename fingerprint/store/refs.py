"""What a run argument means.

    @            the last run            run-A          a series: all attempts of that name
    @-1          the one before          run-A#2        one attempt
    @good        the last good one       01JD5X         a unique beginning of an id, 4 characters at least
                                         run-A@-1h      the attempts of that time: see windows.py
                                         FILE           an exported file

tried in this order. What the service recorded by itself is never @ or @-N. Where no series is named `server`, that is
the one that the service recorded, if there is only one.
"""

import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Union

from fingerprint.store.errors import NoStore, StoreError
from fingerprint.store.events import Event
from fingerprint.store.place import default_path, service_path
from fingerprint.store.runs import RunRow
from fingerprint.store.schema import ALWAYS
from fingerprint.store.snapshots import SnapshotRow
from fingerprint.store.store import Store
from fingerprint.store.windows import TIMES, Span, nearest, span, within
from fingerprint.words import moment
from probes.kit.lazy import lazy_regex

SHORTEST_ID = 4
_LAST = lazy_regex(r"@(?:-([0-9]{1,9}))?")
_NAME = lazy_regex(r"([A-Za-z0-9._+-]+)(?:#([0-9]{1,9}))?")
_ANY_SERVER = "server"
_LISTS = "`fingerprint runs` lists what there is"


class FoundRun(NamedTuple):
    """attempts: oldest first; more than one only where a whole series was named."""

    store: Store
    attempts: tuple[RunRow, ...]

    @property
    def latest(self) -> RunRow:
        return self.attempts[-1]


class FoundSnapshot(NamedTuple):
    store: Store
    id: str


Found = Union[FoundRun, FoundSnapshot]


class Stores:
    """All stores that a reference may mean.

    unreadable: a sentence for each that is there and cannot be read.
    """

    def __init__(self, stores: Iterable[Store], unreadable: Iterable[str] = ()) -> None:
        self.stores = tuple(stores)
        self.unreadable = tuple(unreadable)

    @classmethod
    def open(cls, environ: Mapping[str, str] = os.environ) -> "Stores":
        """This user's store and the service's, for reading; FINGERPRINT_STORE alone where it is set.

        Raises StoreError if the user's own is of no use.
        """
        own = default_path(environ)
        found = [store for store in [_if_filled(own)] if store is not None]
        if environ.get("FINGERPRINT_STORE"):
            return cls(found)
        try:
            service = _if_filled(service_path())
        except StoreError as error:
            return cls(found, [str(error)])
        return cls([*found, service] if service else found)

    def runs(
        self,
        *,
        name: str | None = None,
        benchmark: str | None = None,
        good: bool | None = None,
        service: bool | None = None,
        limit: int = -1,
    ) -> tuple[RunRow, ...]:
        """Of all stores, the newest `limit` (all when negative), oldest first. service: see RunRow."""
        asked: dict[str, Any] = {"name": name, "benchmark": benchmark, "good": good, "service": service}
        of_each = [store.runs(**asked, limit=limit) for store in self.stores]
        found = sorted((row for rows in of_each for row in rows), key=lambda row: (row.opened_at, row.id))
        return tuple(found[-limit:] if limit >= 0 else found)

    def snapshots(self, *, host: str = "", since: int = 0, until: int = ALWAYS) -> tuple[SnapshotRow, ...]:
        """Of all stores, oldest first."""
        found = [row for store in self.stores for row in store.snapshots(host=host, since=since, until=until)]
        return tuple(sorted(found, key=lambda row: row.taken_at))

    def events(
        self,
        *,
        host: str = "",
        since: int = 0,
        until: int = ALWAYS,
        kinds: Collection[str] = (),
        what: str = "",
        limit: int = -1,
    ) -> tuple[Event, ...]:
        """Of all stores, the newest `limit` (all when negative), oldest first. See Store.events."""
        asked: dict[str, Any] = {"host": host, "since": since, "until": until, "kinds": kinds, "what": what}
        of_each = [store.events(**asked, limit=limit) for store in self.stores]
        found = sorted(
            (event for events in of_each for event in events),
            key=lambda event: (max(event.since, event.until), event.id),
        )
        return tuple(found[-limit:] if limit >= 0 else found)

    def resolve(self, text: str, benchmark: str | None = None) -> Found:
        """Raises StoreError for what means nothing, or two things. benchmark: limits `@`, `@-N` and `@good`."""
        if text.startswith("@"):
            return self._relative(text, benchmark)
        return self._named(text) or self._by_id(text) or self._of_time(text) or self._file(text)

    def close(self) -> None:
        for store in self.stores:
            store.close()

    def _relative(self, text: str, benchmark: str | None) -> FoundRun:
        last = _LAST.fullmatch(text)
        if last is None and text != "@good":
            raise StoreError(f"'{text}' is no run: write @ for the last one, @-1 for the one before, or @good")
        back = int(last[1] or 0) if last else 0
        asked: dict[str, Any] = {"service": False} if last else {"good": True}
        found = self.runs(benchmark=benchmark, **asked, limit=back + 1)
        if len(found) <= back:
            raise StoreError(_too_few(text, len(found), benchmark))
        return self._of(found[0])

    def _named(self, text: str) -> FoundRun | None:
        parts = _NAME.fullmatch(text)
        if parts is None:
            return None
        series = self._series(parts[1])
        if parts[2] is not None:
            series = [FoundRun(store, rows) for store, every in series if (rows := _attempt(every, int(parts[2])))]
        return _only(text, series) if series else None

    def _of_time(self, text: str) -> FoundRun | None:
        name, at, when = text.partition("@")
        if not at or _NAME.fullmatch(name) is None:
            return None
        try:
            asked = span(when, time.time_ns())
        except ValueError:
            return None  # a file may have that name
        series = self._series(name)
        if not series:
            raise self._unknown(name)
        found = [FoundRun(store, rows) for store, every in series if (rows := within(every, asked, _goes_on))]
        if not found:
            raise StoreError(_elsewhen(text, asked, series))
        return _only(text, found)

    def _series(self, name: str) -> list[FoundRun]:
        """The series of this name in each store that has one; else, of `server`, all that the service recorded."""
        found = [FoundRun(store, rows) for store in self.stores if (rows := store.runs(name=name))]
        if found or name != _ANY_SERVER:
            return found
        served = [(store, store.runs(service=True)) for store in self.stores]
        return [FoundRun(store, rows) for store, every in served for rows in _by_name(every)]

    def _by_id(self, text: str) -> Found | None:
        prefix = text.upper()
        if len(prefix) < SHORTEST_ID or not prefix.isalnum():
            return None
        found: dict[str, Found] = {}
        for store in self.stores:
            run_ids, snapshot_ids = store.ids(prefix)
            found.update((run_id, FoundRun(store, (store.run(run_id),))) for run_id in run_ids)
            found.update((snapshot_id, FoundSnapshot(store, snapshot_id)) for snapshot_id in snapshot_ids)
        if len(found) > 1:
            some = " and ".join(sorted(found)[:2])
            raise StoreError(f"{len(found)} ids begin with {text}, e.g. {some}: write more of it")
        return next(iter(found.values()), None)

    def _file(self, text: str) -> Found:
        path = Path(text)
        # Unlike Path's own these do not raise for a name that is too long.
        if not text or not os.path.exists(path) or os.path.isdir(path):
            raise self._unknown(text)
        store = Store.of_file(path)
        if series := store.runs():
            return FoundRun(store, _one_series(series, path))
        return FoundSnapshot(store, _one_snapshot(store.snapshots(), path))

    def _unknown(self, text: str) -> StoreError:
        name, at, when = text.partition("@")
        if at and self._series(name):
            return StoreError(f"there is no run '{text}', for {_why_no_time(when)}: behind {name}@ write {TIMES}")
        return StoreError(f"there is no run '{text}'{self._nearest(name)}: {_LISTS}")

    def _nearest(self, text: str) -> str:
        from difflib import get_close_matches

        names = {name.lower(): name for row in self.runs() for name in (row.name, str(row))}
        near = [names[name] for name in get_close_matches(text.lower(), names, n=2)]
        return f", but {' and '.join(near)}" if near else ""

    def _of(self, row: RunRow) -> FoundRun:
        return FoundRun(next(store for store in self.stores if store.origin == row.origin), (row,))


def _if_filled(path: Path) -> Store | None:
    try:
        return Store.open(path, readonly=True)
    except NoStore:
        return None


def _attempt(rows: Iterable[RunRow], attempt: int) -> tuple[RunRow, ...]:
    return tuple(row for row in rows if row.attempt == attempt)


def _by_name(rows: Iterable[RunRow]) -> Iterable[tuple[RunRow, ...]]:
    series: dict[str, list[RunRow]] = {}
    for row in rows:
        series.setdefault(row.name, []).append(row)
    return map(tuple, series.values())


def _why_no_time(text: str) -> str:
    try:
        span(text, time.time_ns())
    except ValueError as error:
        return str(error)
    return ""


def _goes_on(row: RunRow) -> bool:
    from fingerprint.runs.opener import is_alive
    from probes.kit.host import Host

    return is_alive(Host(), row.opener)


def _only(text: str, found: Sequence[FoundRun]) -> FoundRun:
    """Raises StoreError for several."""
    names = sorted({each.latest.name for each in found})
    if len(names) > 1:
        raise StoreError(f"'{text}' may be {' or '.join(names)}: write the one that is meant instead of {_ANY_SERVER}")
    if len(found) > 1:
        raise StoreError(_ambiguous(text, [row for each in found for row in each.attempts]))
    return found[0]


def _elsewhen(text: str, asked: Span, series: Iterable[FoundRun]) -> str:
    row, life = nearest((each.attempts for each in series), asked, _goes_on)
    when = " to ".join(dict.fromkeys(map(moment, asked)))
    return (
        f"'{text}' ({when}) is a time at which no attempt ran, the nearest is {row}, from {moment(life.since)} until"
        f" {'now' if life.until == ALWAYS else moment(life.until)}: write its name or another time"
    )


def _too_few(text: str, count: int, benchmark: str | None) -> str:
    runs = ("good run" if text == "@good" else "run") + ("" if count == 1 else "s")
    of = f" of benchmark {benchmark}" if benchmark else ""
    remedy = "mark one with `fingerprint good RUN`" if text == "@good" else _LISTS
    return f"'{text}' means nothing yet, the stores hold {count or 'no'} {runs}{of}: {remedy}"


def _ambiguous(text: str, rows: Sequence[RunRow]) -> str:
    each = " and ".join(f"{row.id} ({row.origin})" for row in rows)
    return f"'{text}' is in both stores, as {each}: write one of these ids, or set FINGERPRINT_STORE to one store"


def _one_series(rows: tuple[RunRow, ...], path: Path) -> tuple[RunRow, ...]:
    names = sorted({row.name for row in rows})
    if len(names) > 1:
        raise StoreError(f"{path} holds several runs ({', '.join(names)}): `fingerprint import {path}`, then name one")
    return rows


def _one_snapshot(rows: tuple[SnapshotRow, ...], path: Path) -> str:
    if len(rows) != 1:
        raise StoreError(f"{path} holds no run and {len(rows)} snapshots: name a file with one run or one snapshot")
    return rows[0].id
