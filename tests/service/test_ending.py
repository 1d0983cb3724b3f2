"""fingerprintd ends in time, whatever hangs, and has closed what it records."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fingerprint.runs.record import Closed, Snapped
from fingerprint.service.client import Client
from fingerprint.snapshot import Snapshot
from fingerprint.trouble import Trouble
from tests.service.test_daemon import Daemon, daemon
from tests.service.test_faults import health, reader_of
from tests.standin import StandIn
from tests.waiting import until

__all__ = ["daemon"]
pytestmark = pytest.mark.long  # tests/reader/test_remote.py, tests/service/test_daemon.py: every day
GENEROUS_SECONDS = 8.0
"""4 s on a machine that has nothing else to do."""


def below(pid: int) -> list[int]:
    """The processes that it started, its own included."""
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [pid, *(each for child in children for each in below(child))]


@contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def asked(daemon: Daemon) -> None:
    """For a snapshot, which is not answered."""
    with suppress(Trouble):
        Client(str(daemon.folder / "api.sock")).post("/v1/snapshot", seconds=30)


def ends(daemon: Daemon) -> dict[str, Snapshot]:
    """Of each run the snapshot after it, all of which are closed."""
    found = {}
    with daemon.store as store:
        for run in store.runs():
            records = store.records(run.id)
            assert isinstance(records[-1], Closed), run.name
            last = next(record for record in reversed(records) if isinstance(record, Snapped))
            assert last.moment == "after"
            found[run.name] = store.snapshot(last.snapshot)
    return found


@contextmanager
def two_runs(daemon: Daemon, stand_in: StandIn) -> Iterator[None]:
    """One that the service noticed, and one that was begun."""
    client = Client(str(daemon.folder / "api.sock"))
    with stand_in.serving():
        until(lambda: daemon.runs(stand_in), 60)
        until(lambda: json.loads(client.post("/v1/runs", {"name": "run-A", "pid": os.getpid()}))["name"] == "run-A")
        time.sleep(5.5)  # what was read then is too old for an end
        yield


def ends_in_time(daemon: Daemon) -> int:
    """While a snapshot is asked for. When that was: ns since 1970."""
    hung_since = time.time_ns()
    asking = threading.Thread(target=asked, args=(daemon,))
    asking.start()
    time.sleep(0.3)
    began = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - began < GENEROUS_SECONDS
    asking.join()
    return hung_since


def says_that_nobody_waited(daemon: Daemon, stand_in: StandIn, hung_since: int) -> None:
    found = ends(daemon)
    assert {"run-A", daemon.runs(stand_in)[0].name} <= set(found)
    for name, snapshot in found.items():
        if snapshot.taken_at < hung_since:  # one of just before: another server came or went on this host
            continue
        told = {(reading.outcome, reading.detail) for reading in snapshot.readings.values()}
        assert told == {("failed", "the service ended, and nobody waited for this")}, name


def test_a_reader_that_hangs_with_all_its_processes_keeps_no_run_open(daemon: Daemon, tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "engine", "vllm")
    with two_runs(daemon, stand_in), stopped(below(reader_of(daemon))):
        hung_since = ends_in_time(daemon)
    says_that_nobody_waited(daemon, stand_in, hung_since)


@pytest.mark.root
def test_probes_that_no_signal_ends_keep_no_run_open_and_the_service_from_no_end(
    daemon: Daemon, tmp_path: Path, freezing: Callable[[list[int]], None]
) -> None:
    stand_in = StandIn(tmp_path / "engine", "vllm")
    with two_runs(daemon, stand_in):
        stuck = below(reader_of(daemon))
        freezing(stuck)
        hung_since = ends_in_time(daemon)
        assert all(Path(f"/proc/{pid}").exists() for pid in stuck)  # as long as that lasts
    says_that_nobody_waited(daemon, stand_in, hung_since)


@pytest.mark.root
def test_after_an_end_with_probes_that_no_signal_ends_another_service_begins_and_reads(
    daemon: Daemon, freezing: Callable[[list[int]], None]
) -> None:
    freezing(below(reader_of(daemon)))
    ends_in_time(daemon)
    daemon.start()
    until(lambda: health(daemon)["ok"], 60)


def test_without_anything_that_hangs_the_state_after_is_read(daemon: Daemon, tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "engine", "vllm")
    with stand_in.serving():
        until(lambda: daemon.runs(stand_in), 60)
        time.sleep(5.5)
        assert daemon.stop() == 0
    snapshot = ends(daemon)[daemon.runs(stand_in)[0].name]
    assert {reading.outcome for reading in snapshot.readings.values()} == {"ok"}
