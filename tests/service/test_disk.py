"""A disk that fills up while the service runs: rounds go on, and what was acknowledged stays."""

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from fingerprint.service.client import Client, Refused
from fingerprint.store import Store
from tests.service.disks import Filler, small_disk
from tests.service.test_daemon import Daemon, name_of
from tests.service.test_faults import health, lines, serves
from tests.service.test_goes_on import of_two_areas
from tests.standin import StandIn
from tests.waiting import until

pytestmark = pytest.mark.root
FULL = "no space is left"


class OnSmallDisk(Daemon):
    """Its store alone lies there; what finds no room goes on in a folder beside."""

    @property
    def disk(self) -> Path:
        return self.folder / "disk"

    def start(self) -> None:
        (self.folder / "spilled").mkdir(exist_ok=True)
        self.environ |= {"FINGERPRINT_STORE": str(self.disk / "store.db"), "TMPDIR": str(self.folder / "spilled")}
        self.environ.pop("XDG_RUNTIME_DIR", None)
        super().start()

    @property
    def store(self) -> Store:
        return Store.open(self.disk / "store.db", readonly=True)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[OnSmallDisk]:
    with small_disk(tmp_path / "disk", "8m"):
        found = OnSmallDisk(tmp_path)
        try:
            yield found
        finally:
            found.stop()


def test_rounds_go_on_while_the_disk_is_full_and_are_stored_again_when_there_is_room(tmp_path: Path) -> None:
    from fingerprint.service.daemon import Service

    with small_disk(tmp_path / "disk", "1m") as disk:
        service, filler = of_two_areas(Service, disk), Filler(disk)
        try:
            stored = service.round(keep=True)
            filler.fill()
            until(lambda: (service.round(keep=True), FULL in service.health().store)[1])
            assert not service.health().ok
            meanwhile = service.round(keep=True)
            assert (service.newest(), service.schedule.overruns.total()) == (meanwhile, 0)
            filler.give_back()
            later = service.round(keep=True)
            assert service.health().store == ""
            kept = {row.id for row in service.store().snapshots()}
            assert {stored.id, later.id} <= kept
            assert meanwhile.id not in kept
        finally:
            service.close()


@pytest.mark.long
def test_what_was_acknowledged_before_a_disk_was_full_is_there_and_the_service_says_what_is_wrong_meanwhile(
    small: OnSmallDisk, tmp_path: Path
) -> None:
    client, filler = Client(str(small.folder / "api.sock")), Filler(small.disk)
    first, second = StandIn(tmp_path / "first", "vllm"), StandIn(tmp_path / "second", "sglang")
    measured = {"metrics": [{"name": "verify_ms", "values": [19.2]}]}

    def read() -> int:
        return int(json.loads(client.post("/v1/snapshot"))["taken_at"])

    with first.serving():
        client.post("/v1/runs", {"name": "run-A", "port": first.port})
        client.post("/v1/runs/run-A/metrics", measured)
        until(lambda: name_of(first) in str(client.get("/v1/events?kinds=serving")), 60)
        filler.fill()
        until(lambda: (read(), FULL in str(health(small)["store"]))[1], 60)
        with pytest.raises(Refused, match=FULL) as refused:
            client.post("/v1/runs/run-A/metrics", measured)
        assert refused.value.status == 503
        assert b"fingerprint_store_healthy 0" in client.get("/metrics")
        assert json.loads(client.get("/v1/runs"))["runs"]
        assert read() < read()
        with second.serving():
            until(lambda: serves(small, second), 60)
            assert name_of(second) not in str(client.get("/v1/events?kinds=serving"))
            until(lambda: FULL in small.log.read_text(), 30)
            filler.give_back()
            until(lambda: (read(), not health(small)["store"])[1], 60)
            until(lambda: name_of(second) in str(client.get("/v1/events?kinds=serving")), 30)
        client.post("/v1/runs/run-A/end")
    until(lambda: not serves(small, first) and not serves(small, second), 60)
    assert lines(small, FULL) <= 3  # one a minute
    assert not {"minutely", "hourly"} & dict(health(small)["overruns"]).keys()  # type: ignore[call-overload]
    assert small.stop() == 0
    with small.store as store:
        assert store.runs(name="run-A")
        told = store.events(kinds=("serving",), what=name_of(second))
        assert [event.is_ for event in told] == [True, False]
    assert sqlite3.connect(small.disk / "store.db").execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    _all_of_it_is_here_or_beside(small)


def _all_of_it_is_here_or_beside(small: OnSmallDisk) -> None:
    """A run whose records found no room is whole in a file beside the store."""
    with Store.open(small.disk / "store.db") as store:
        for name in os.listdir(small.folder / "spilled"):
            if name.endswith(".jsonl"):
                store.import_file(small.folder / "spilled" / name)
        for row in store.runs():
            kinds = [type(record).__name__ for record in store.records(row.id)]
            assert kinds.count("Closed") == 1, (row, kinds)
        [run] = store.runs(name="run-A")
        assert "Measured" in [type(record).__name__ for record in store.records(run.id)]
