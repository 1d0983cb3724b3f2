"""What fails around the service: it goes on, loses nothing that it said was stored, and says what is wrong."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fingerprint.service.client import Client, Refused
from fingerprint.service.daemon import Service
from fingerprint.service.schedule import Job, Schedule
from tests.service.test_daemon import Daemon, daemon, name_of
from tests.service.test_goes_on import of_two_areas
from tests.standin import StandIn
from tests.waiting import until

__all__ = ["daemon"]


def health(daemon: Daemon) -> dict[str, object]:
    return dict(json.loads(Client(str(daemon.folder / "api.sock")).get("/v1/health")))


def serves(daemon: Daemon, stand_in: StandIn) -> bool:
    """As the service sees it; others on this host may, too."""
    return name_of(stand_in) in str(health(daemon)["serving"])


def lines(daemon: Daemon, text: str) -> int:
    """Of its journal."""
    return sum(text in line for line in daemon.log.read_text().splitlines())


def reader_of(daemon: Daemon) -> int:
    told = subprocess.run(["pgrep", "-P", str(daemon.process.pid)], capture_output=True, text=True)
    return int((told.stdout.split() or ["0"])[0])  # none for a second, after one died


@pytest.mark.long
def test_a_reader_that_died_is_started_again_and_rounds_go_on(daemon: Daemon) -> None:
    first = reader_of(daemon)
    os.kill(first, signal.SIGKILL)
    until(lambda: reader_of(daemon) not in (0, first), 30)

    def taken() -> bool:
        sections = json.loads(Client(str(daemon.folder / "api.sock")).post("/v1/snapshot"))["sections"]
        return all(section["outcome"] == "ok" for section in sections.values())

    until(taken, 30)
    until(lambda: health(daemon)["ok"], 30)


@pytest.mark.long
def test_a_reader_that_is_stopped_does_not_keep_it_from_its_end(daemon: Daemon) -> None:
    reader = reader_of(daemon)
    os.kill(reader, signal.SIGSTOP)
    assert daemon.stop() == 0
    until(lambda: not Path(f"/proc/{reader}").exists())


@pytest.fixture
def locked(daemon: Daemon) -> Iterator[sqlite3.Connection]:
    until((daemon.folder / "store.db").exists, 30)
    connection = sqlite3.connect(daemon.folder / "store.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


@pytest.mark.long
def test_events_wait_while_the_store_is_locked_and_are_there_once_afterwards(
    daemon: Daemon, locked: sqlite3.Connection, tmp_path: Path
) -> None:
    stand_in = StandIn(tmp_path / "engine", "vllm")
    with stand_in.serving():
        until(lambda: serves(daemon, stand_in) and health(daemon)["store"], 60)
        locked.execute("ROLLBACK")
        until(lambda: not health(daemon)["store"], 60)
    with daemon.store as store:
        told = until(lambda: store.events(kinds=("serving",), what=name_of(stand_in)), 30)
    assert [event.is_ for event in told][:1] == [True]
    assert len({event.id for event in told}) == len(told)


@pytest.mark.long
def test_a_run_that_the_store_does_not_take_is_refused_and_goes_on_nowhere(
    daemon: Daemon, locked: sqlite3.Connection, tmp_path: Path
) -> None:
    stand_in = StandIn(tmp_path / "engine", "vllm")
    client = Client(str(daemon.folder / "api.sock"))
    asked = {"name": "run-A", "port": stand_in.port}
    with stand_in.serving():
        with pytest.raises(Refused, match="no run goes on: .* is locked by another process") as refused:
            client.post("/v1/runs", asked)
        assert refused.value.status == 503
        locked.execute("ROLLBACK")
        assert json.loads(client.post("/v1/runs", asked))["name"] == "run-A"
        client.post("/v1/runs/run-A/end")


def holding(path: Path) -> sqlite3.Connection:
    """Another process's hand on the database: nobody else writes until it is closed."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    return connection


def test_rounds_keep_their_distance_while_the_store_is_locked_for_seconds(tmp_path: Path) -> None:
    service = of_two_areas(Service, tmp_path)
    taken: list[int] = []
    round_ = Job("minutely", 2, "rounds", lambda: taken.append(service.round(keep=True).taken_at))
    schedule = Schedule((round_,), lambda job, error: pytest.fail(f"{job}: {error}"))
    try:
        stored = service.round(keep=True)
        with closing(holding(tmp_path / "store.db")):
            schedule.start()
            until(lambda: len(taken) == 2)
            assert "is locked by another process" in service.health().says
            assert [row.id for row in service.store().snapshots()] == [stored.id]
        until(lambda: not service.health().store)
        schedule.stop()
        assert schedule.overruns["minutely"] <= 1  # the first round begins at once, just before the next is due perhaps
        assert len(service.store().snapshots()) >= 2
    finally:
        schedule.stop()
        service.close()


@pytest.mark.long
def test_a_store_that_is_locked_for_a_minute_keeps_nothing_else_waiting_and_takes_all_afterwards(
    daemon: Daemon, tmp_path: Path
) -> None:
    client = Client(str(daemon.folder / "api.sock"))
    before, meanwhile = StandIn(tmp_path / "before", "vllm"), StandIn(tmp_path / "meanwhile", "sglang")
    with before.serving(), meanwhile.serving():
        until(lambda: serves(daemon, before) and serves(daemon, meanwhile), 60)
        meanwhile.stop()
        client.post("/v1/runs", {"name": "run-A", "port": before.port})
        kept = json.loads(client.get("/v1/snapshots"))["snapshots"]
        with closing(holding(daemon.folder / "store.db")):
            until_released = time.monotonic() + 60
            while time.monotonic() < until_released:
                _is_answered(client)
            assert "is locked by another process" in str(health(daemon)["store"])
            assert 1 <= lines(daemon, "is locked by another process") <= 3  # one a minute
        until(lambda: not health(daemon)["store"], 70)
        client.post("/v1/runs/run-A/end")
    until(lambda: not serves(daemon, before) and not serves(daemon, meanwhile), 60)
    assert not {"minutely", "hourly"} & dict(health(daemon)["overruns"]).keys()  # type: ignore[call-overload]
    assert daemon.stop() == 0
    with daemon.store as store:
        assert {row["id"] for row in kept} <= {row.id for row in store.snapshots()}
        for stand_in in (before, meanwhile):
            told = store.events(kinds=("serving",), what=name_of(stand_in))
            assert [event.is_ for event in told] == [True, False]


def _is_answered(client: Client) -> None:
    """Whatever needs no writing, at once; and the host is read on."""
    began = time.monotonic()
    for path in ("/v1/health", "/v1/runs", "/v1/events", "/metrics"):
        assert client.get(path)
    assert time.monotonic() - began < 5
    asked = time.time_ns()
    assert json.loads(client.post("/v1/snapshot"))["taken_at"] > asked
    assert time.monotonic() - began < 15
    time.sleep(1)
