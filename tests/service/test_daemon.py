"""fingerprintd as a process, on this host, with stand-ins that serve."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fingerprint.service.client import Client, Refused
from fingerprint.store import NoStore, RunRow, Store
from tests.standin import StandIn
from tests.waiting import until


class Daemon:
    """One that runs, with a store, sockets and settings of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.environ = {
            **os.environ,
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / ".config"),
            "FINGERPRINT_STORE": str(folder / "store.db"),
            "FINGERPRINT_SERVICE_READER": str(folder / "no-reader.sock"),
            "FINGERPRINT_SERVICE_SOCKET": str(folder / "api.sock"),
        }
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command(), env=self.environ, stdout=log, stderr=log)
        until(lambda: (self.folder / "api.sock").exists() or self._ended(), 60)

    def command(self) -> list[str]:
        return [sys.executable, "-m", "fingerprint.service"]

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)

    @property
    def store(self) -> Store:
        return Store.open(self.folder / "store.db", readonly=True)

    def runs(self, stand_in: StandIn) -> tuple[RunRow, ...]:
        """Of this one: whatever else serves on this host is noticed, too."""
        try:
            with self.store as store:
                return store.runs(name=name_of(stand_in))
        except NoStore:
            return ()

    def _ended(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return False


def name_of(stand_in: StandIn) -> str:
    return f"{stand_in.engine}-{stand_in.port}"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    found = Daemon(tmp_path)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.stop()


def serve_once(daemon: Daemon, stand_in: StandIn) -> None:
    before = len(daemon.runs(stand_in))

    def runs() -> tuple[RunRow, ...]:
        return daemon.runs(stand_in)[before:]

    with stand_in.serving():
        until(lambda: runs() and "Process" in kinds(daemon, runs()[-1]), 60)
    until(lambda: all(run.closed for run in runs()), 60)


def kinds(daemon: Daemon, run: RunRow) -> list[str]:
    with daemon.store as store:
        return [type(record).__name__ for record in store.records(run.id)]


def started_and_stopped(daemon: Daemon, stand_in: StandIn, times: int) -> None:
    for _ in range(times):
        serve_once(daemon, stand_in)
    found = daemon.runs(stand_in)
    assert [run.attempt for run in found] == list(range(1, times + 1))
    for run in found:
        told = kinds(daemon, run)
        assert (told.count("Snapped"), "Sampled" in told, "Process" in told) == (2, True, True), told


@pytest.mark.long
def test_a_server_that_came_and_went_twice_is_two_runs_each_with_before_after_and_samples(
    daemon: Daemon, tmp_path: Path
) -> None:
    stand_in = StandIn(tmp_path / "engine", "sglang")
    started_and_stopped(daemon, stand_in, 2)

    def told() -> list[object]:
        with daemon.store as store:
            return [event.is_ for event in store.events(kinds=("serving",), what=name_of(stand_in))]

    until(lambda: told() == [True, False] * 2)  # a run is closed just before it is told


@pytest.mark.long
def test_twenty_starts_of_a_server_are_twenty_runs(daemon: Daemon, tmp_path: Path) -> None:
    started_and_stopped(daemon, StandIn(tmp_path / "engine", "sglang"), 20)


def test_it_ends_within_five_seconds_when_it_is_told_and_closes_what_it_records(daemon: Daemon, tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "engine", "vllm")
    with stand_in.serving():
        until(lambda: daemon.runs(stand_in), 60)
        with pytest.raises(Refused, match=f"nobody began {name_of(stand_in)}: the service records it"):
            Client(str(daemon.folder / "api.sock")).post(f"/v1/runs/{name_of(stand_in)}/end")
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.process.wait(5) == 0
    assert [run.closed and run.closed.how for run in daemon.runs(stand_in)] == ["server ran on"]


def test_a_configuration_that_cannot_be_used_is_told_and_changes_nothing(daemon: Daemon) -> None:
    config = daemon.folder / ".config/fingerprint/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("budget_s = 'soon'\n")
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: "goes on with the configuration that it had" in daemon.log.read_text())
    assert "budget_s" in daemon.log.read_text()
    assert daemon.process.poll() is None


def test_a_second_one_on_the_same_socket_is_refused_in_a_sentence(daemon: Daemon) -> None:
    other = subprocess.run(
        [sys.executable, "-m", "fingerprint.service"], env=daemon.environ, capture_output=True, text=True, timeout=60
    )
    assert (other.returncode, other.stderr.count("\n")) == (2, 1), other.stderr
    assert "is listened on by another process" in other.stderr


@pytest.mark.long
def test_what_was_stored_outlives_a_kill_and_the_next_one_goes_on(daemon: Daemon, tmp_path: Path) -> None:
    serve_once(daemon, StandIn(tmp_path / "engine", "vllm"))
    with daemon.store as store:
        events, runs = store.events(), store.runs()
    daemon.stop(signal.SIGKILL)
    daemon.start()
    with daemon.store as store:
        assert store.events()[: len(events)] == events
        assert store.runs()[: len(runs)] == runs
