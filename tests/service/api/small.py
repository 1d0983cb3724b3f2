"""A small service of a test's own: a real store, a real reader of few areas, and runs that last until their end."""

import os
import threading
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from fingerprint.areas import host_areas, probes_of
from fingerprint.metrics import Metric
from fingerprint.reader import Reader, take_snapshot
from fingerprint.runs.opener import opener
from fingerprint.runs.record import Asked, Attached, Closed, Measured, Opened, Snapped
from fingerprint.service.api.asked import Area, Health
from fingerprint.service.broadcast import Broadcast
from fingerprint.settings import Settings
from fingerprint.snapshot import Job, Snapshot
from fingerprint.store import RunRow, Store
from fingerprint.trouble import Trouble
from fingerprint.version import __version__
from probes.kit.host import Host

AREAS = ("cpu", "kernel", "memory")


class Small:
    """Make it before any thread: it forks the reader."""

    def __init__(self, path: Path) -> None:
        self.host, self.path = Host(), path
        self.host_name = os.uname().nodename
        probes = probes_of(AREAS, Settings())
        self._reader = Reader(self.host, probes)
        self._jobs = [Job(area) for area in host_areas(probes)]
        self._reading = threading.Lock()
        self._stores = threading.local()
        self._newest: Snapshot | None = None
        self.events = Broadcast()
        self.trouble = ""
        self.taken = 0
        self.opened: list[Store] = []

    def store(self) -> Store:
        if not hasattr(self._stores, "store"):
            self._stores.store = Store.open(self.path)
            self.opened.append(self._stores.store)
        found: Store = self._stores.store
        return found

    def newest(self) -> Snapshot | None:
        return self._newest

    def take(self, areas: Collection[str] = ()) -> Snapshot:
        with self._reading:
            jobs = [job for job in self._jobs if not areas or job.area in areas]
            self._newest = take_snapshot(self._reader, jobs, "", 20)
            self.taken += 1
        self.store().save(self._newest)
        return self._newest

    def begin(
        self,
        name: str,
        *,
        pid: int | None = None,
        port: int | None = None,
        benchmark: str = "",
        workload: Mapping[str, Any] = {},
        vary: Collection[str] = (),
    ) -> RunRow:
        if port is not None or not os.path.exists(f"/proc/{pid}"):
            raise Trouble("no such server runs here")
        attached = (Attached("main", pid or 0, 1),)

        def opened(attempt: int) -> Opened:
            return Opened(
                time.time_ns(), name, attempt, benchmark, self.host_name, opener(self.host), vary=tuple(vary),
                attached=attached,
            )  # fmt: skip

        run = self.store().open_run(name, opened)
        self.store().append(run, Snapped(time.time_ns(), "before", self.take().id))
        for key, value in workload.items():
            self.store().append(run, Asked(time.time_ns(), key, value))
        return self.store().run(run)

    def end(self, name_or_id: str) -> RunRow:
        row = self.store().run(name_or_id)
        if row.closed:
            raise Trouble(f"{row} is over")
        self.store().append(row.id, Snapped(time.time_ns(), "after", self.take().id))
        self.store().append(row.id, Closed(time.time_ns(), "server ran on"))
        return self.store().run(row.id)

    def metric(self, name_or_id: str, *metrics: Metric) -> None:
        for metric in metrics:
            self.store().append(name_or_id, Measured(time.time_ns(), metric))

    def health(self) -> Health:
        area = Area(age_s=1.5, outcome="ok") if self._newest else Area(age_s=None, outcome="skipped")
        return Health(
            ok=not self.trouble, says=self.trouble or "all is well", host=self.host_name, fingerprint=__version__,
            started=1, areas={"cpu": area}, overruns={"minutely": 2}, hung={}, store=self.trouble, store_bytes=4096,
            reader="", serving=(),
        )  # fmt: skip

    def close(self) -> None:
        self._reader.close()
