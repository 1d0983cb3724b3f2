"""The service's store for whoever may not read its file: through the service."""

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import msgspec

from fingerprint.runs.record import AnyRecord
from fingerprint.service.client import Client, Refused, named
from fingerprint.snapshot import Snapshot
from fingerprint.store import RunRow, SnapshotRow, Store, StoreError
from fingerprint.store.database import InMemory
from fingerprint.store.events import Event
from fingerprint.store.foreign import parsed
from fingerprint.store.schema import ALWAYS

MOST_RUNS, MOST_SNAPSHOTS, MOST_EVENTS = 10_000, 1000, 1000
"""Of one answer of the API."""
Ids = tuple[tuple[str, ...], tuple[str, ...]]
"""Of runs and of snapshots."""


class StoreAway(Store):
    """What is asked of a run or a snapshot is fetched as an export, once, and looked at here. Raises Trouble where the
    service does not answer."""

    def __init__(self, client: Client) -> None:
        super().__init__(InMemory(Path(client.path)), "service")
        self._client = client
        self._fetched: dict[str, Ids] = {}

    def writable(self) -> Store:
        raise StoreError("the store of the service is written by the service alone: do this as root, or ask who is")

    def runs(
        self,
        *,
        name: str | None = None,
        benchmark: str | None = None,
        good: bool | None = None,
        service: bool | None = None,
        limit: int = -1,
    ) -> tuple[RunRow, ...]:
        asked: dict[str, Any] = {"name": name, "benchmark": benchmark, "good": _word(good), "recorded": _word(service)}
        if limit == 0 or name == "":
            return ()
        content = self._client.get(named("runs"), **asked, limit=_most(limit, MOST_RUNS))
        rows = json.loads(content)["runs"]
        return tuple(msgspec.convert({**row, "origin": self.origin}, RunRow) for row in rows)

    def run(self, run_id: str) -> RunRow:
        self._fetch(run_id)
        return super().run(run_id)

    def records(self, run_id: str) -> tuple[AnyRecord, ...]:
        self._fetch(run_id)
        return super().records(run_id)

    def snapshot(self, snapshot_id: str) -> Snapshot:
        if not super().ids(snapshot_id)[1]:
            self._fetch(snapshot_id)
        return super().snapshot(snapshot_id)

    def snapshots(
        self, *, host: str = "", since: int = 0, until: int = ALWAYS, limit: int = -1
    ) -> tuple[SnapshotRow, ...]:
        asked: dict[str, Any] = {"host": host, "since": since, "until": until, "limit": _most(limit, MOST_SNAPSHOTS)}
        rows = json.loads(self._client.get(named("snapshots"), **asked))["snapshots"]
        return tuple(msgspec.convert(row, SnapshotRow) for row in rows)

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
        asked: dict[str, Any] = {"since": since, "until": until, "kinds": sorted(kinds), "what": what}
        content = self._client.get(named("events"), **asked, limit=_most(limit, MOST_EVENTS))
        found = msgspec.json.decode(content, type=tuple[Event, ...])
        return tuple(event for event in found if not host or event.host == host)

    def ids(self, prefix: str) -> Ids:
        try:
            return self._fetch(prefix)
        except Refused as refused:
            if refused.status == 404:
                return (), ()
            raise

    def export(self, run_ids: Iterable[str], snapshot_ids: Iterable[str] = ()) -> bytes:
        runs, snapshots = tuple(run_ids), tuple(snapshot_ids)
        for each in (*runs, *snapshots):
            self._fetch(each)
        return super().export(runs, snapshots)

    def _fetch(self, ref: str) -> Ids:
        """Of the runs, or of the snapshot, that it means."""
        if ref not in self._fetched:
            export = parsed(self._client.get(named("runs", ref, "export")), f"the answer of {self._client.path}")
            self._take_in(export, None)
            runs = tuple(run.id for run in export.runs)
            self._fetched[ref] = runs, () if runs else tuple(snapshot.id for snapshot in export.snapshots)
        return self._fetched[ref]


def _word(flag: bool | None) -> str | None:
    return None if flag is None else str(flag).lower()


def _most(limit: int, most: int) -> int:
    """All that one answer holds where a limit is negative."""
    return most if limit < 0 else min(max(limit, 1), most)
