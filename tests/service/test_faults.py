"""What fails around the service: it goes on, loses nothing that it said was stored, and says what is wrong."""

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fingerprint.service.client import Client, Refused
from tests.service.test_daemon import Daemon, daemon, name_of
from tests.standin import StandIn
from tests.waiting import until

__all__ = ["daemon"]


def health(daemon: Daemon) -> dict[str, object]:
    return dict(json.loads(Client(str(daemon.folder / "api.sock")).get("/v1/health")))


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
        until(lambda: name_of(stand_in) in str(health(daemon)["serving"]) and health(daemon)["store"], 60)
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
