"""The host is sampled once, however many runs go on beside the service; without its answers each run does it itself."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from fingerprint.reader import Reader, Relieved
from fingerprint.reader.remote import connect
from fingerprint.reader.worker import Probes
from fingerprint.runs.readers import rest_of
from fingerprint.service.api.listening import unix_socket
from fingerprint.service.recent import Recent
from fingerprint.service.samples import MOST_PEERS, Sampler, Samples
from fingerprint.service.turns import Shared, Turn
from fingerprint.snapshot import Job, Key, Reading
from probes.kit.host import Host
from probes.kit.probe import MAIN, Target
from tests.e2e.conftest import Cli
from tests.service.listening import Area, Listening, Peer, a_probe, ask, by_area, listening, stuck
from tests.service.test_daemon import Daemon, daemon
from tests.waiting import until

__all__ = ["daemon"]
HERE = Target(MAIN, os.getpid())
TICK = [Job("host"), Job("own", HERE)]


class Told:
    """How often somebody read something: a line each in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def probes(self) -> Probes:
        """Of the host and of a process."""

        def read(_: Any) -> Area:
            with self.path.open("a") as file:
                file.write("x")
            return Area(value=1)

        return by_area(a_probe("host", read), a_probe("own", lambda _: Area(value=2), of="process"))

    @property
    def times(self) -> int:
        return len(self.path.read_text())


class Beside:
    """A service's samples, and runs beside it."""

    def __init__(self, folder: Path, reader: Listening, probes: Probes) -> None:
        self.path, self._reader, self._probes = str(folder / "api.samples"), reader, probes
        self.recent = Recent({area: probe.section for area, probe in probes.items()})
        self.own = Told(folder / "own")
        self.runs: list[Relieved] = []
        self.samples: Samples | None = None
        self.sampler: Sampler | None = None

    def start(self) -> None:
        """Once the readers of all runs are forked: it is a thread."""
        of_host = {area: probe for area, probe in self._probes.items() if probe.of == "host"}
        self.sampler = Sampler(self.reader(), of_host, self.recent, "key")
        self.samples = Samples(unix_socket(Path(self.path), "no-such-group"), self.sampler)
        for run in self.runs:
            run.relieved_by(Reader(Host(), self.own.probes(), connect(self.path, sample=True)))

    def reader(self) -> Reader:
        return Reader(Host(), self._probes, connect(str(self._reader.path), sample=True))

    def run(self) -> Relieved:
        self.runs.append(Relieved(Reader(Host(), self.own.probes())))
        return self.runs[-1]

    def close(self) -> None:
        for run in self.runs:
            run.close()
        if self.samples is not None:
            self.samples.close()
        if self.sampler is not None:
            self.sampler.close()


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path / "told")


@pytest.fixture
def beside(tmp_path: Path, told: Told) -> Iterator[Beside]:
    with listening(tmp_path, *told.probes().values()) as reader:
        found = Beside(tmp_path, reader, told.probes())
        yield found
        found.close()


def tick(run: Relieved | Turn) -> dict[Key, Reading]:
    return dict([*run.begin(TICK, 5), *rest_of(run)])


def outcomes(run: Relieved) -> list[str]:
    return [reading.outcome for reading in tick(run).values()]


def test_two_runs_and_one_of_the_service_sample_the_host_as_often_as_one_does(beside: Beside, told: Told) -> None:
    one, other = beside.run(), beside.run()
    beside.start()
    shared = Shared(beside.reader(), beside.recent)
    of_service = Turn(shared)
    for _ in range(5):
        for run in (one, other, of_service):
            assert [reading.outcome for reading in tick(run).values()] == ["ok", "ok"]
            time.sleep(0.07)
    shared.close()
    assert 5 <= told.times <= 6
    assert beside.own.times == 0


def test_what_a_run_of_the_service_has_read_is_given_to_one_of_the_command_line(
    beside: Beside, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fingerprint.service.recent.LEAST_SECONDS", 60)
    monkeypatch.setattr("fingerprint.service.recent.MOST_SECONDS", 60)
    run = beside.run()
    beside.start()
    shared = Shared(beside.reader(), beside.recent)
    here, there = tick(Turn(shared)), tick(run)
    shared.close()
    assert [readings[Key("host")].section(Area) for readings in (here, there)] == [Area(value=1)] * 2
    assert told.times == 1


def test_a_service_that_is_stopped_costs_one_tick_a_second_and_is_asked_no_more(beside: Beside, told: Told) -> None:
    run = beside.run()
    beside.start()
    assert outcomes(run) == ["ok", "ok"]
    for worker in beside._reader.workers():
        os.kill(worker, signal.SIGSTOP)
    time.sleep(0.2)
    began = time.monotonic()
    assert outcomes(run) == ["ok", "ok"]
    assert 0.9 < time.monotonic() - began < 2
    began = time.monotonic()
    assert outcomes(run) == ["ok", "ok"]
    assert time.monotonic() - began < 0.5
    assert (told.times, beside.own.times) == (1, 2)


def test_a_service_that_went_away_costs_nothing(beside: Beside) -> None:
    run = beside.run()
    beside.start()
    assert beside.samples
    assert outcomes(run) == ["ok", "ok"]
    beside.samples.close()
    beside.samples = None
    assert outcomes(run) == ["ok", "ok"]
    run.relieved_by(beside.reader())
    assert outcomes(run) == ["ok", "ok"]
    assert beside.own.times == 2


def test_what_hangs_at_the_service_hangs_once_for_all_and_the_rest_is_told(tmp_path: Path, told: Told) -> None:
    probes = {**told.probes(), "stuck": stuck("stuck")}
    with listening(tmp_path, *probes.values()) as reader:
        sampler = Sampler(Reader(Host(), probes, connect(str(reader.path))), probes, Recent(), "key")
        samples = Samples(unix_socket(tmp_path / "api.samples", "no-such-group"), sampler)
        for _ in range(2):
            peer = Peer(tmp_path / "api.samples")
            assert peer.hear()["type"] == "hello"
            began = time.monotonic()
            peer.send(ask(["host", "", 0], ["stuck", "", 0], ["own", "main", HERE.pid]))
            answers = [peer.hear() for _ in range(3)]
            assert [answer["type"] for answer in answers] == ["read", "failed", "failed"]
            assert "hung since" in answers[1]["why"]
            assert "this is not sampled for others: there are host" in answers[2]["why"]
            peer.close()
        assert time.monotonic() - began < 0.3
        samples.close()
        sampler.close()
    assert not (tmp_path / "api.samples").exists()


def test_who_asks_for_no_sample_or_too_many_at_once_is_sent_away(beside: Beside) -> None:
    beside.start()
    for said in (b"{}\n", b'{"type":"ask tree","name":"main","pid":1}\n', b"x" * 600_000):
        with closing(Peer(Path(beside.path))) as peer:
            assert peer.hear()["type"] == "hello"
            with suppress(OSError):  # it may hang up before all is said
                peer.write(said)
            assert peer.hear() is None
    with ExitStack() as held:
        peers = [held.enter_context(closing(Peer(Path(beside.path)))) for _ in range(MOST_PEERS)]
        assert all(peer.hear()["type"] == "hello" for peer in peers)
        one_more = held.enter_context(closing(Peer(Path(beside.path))))
        assert one_more.hear() == {"type": "refused", "why": "all of its 64 connections are in use"}


# With fingerprintd and the command line.


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    found = Cli(tmp_path / "home")
    found.home.mkdir()
    found.env["FINGERPRINT_SOCKET"] = str(tmp_path / "api.sock")
    return found


def shown_of(cli: Cli, name: str) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(cli("show", name, "--format", "json").stdout)
    return shown


@pytest.mark.long
def test_a_run_beside_a_service_that_is_stopped_in_its_middle_is_held_up_a_second_and_sampled_on(
    daemon: Daemon, cli: Cli
) -> None:
    command = cli.argv("run", "--quiet", "--name", "run-A", "--", "sleep", "6")
    began = time.monotonic()
    with subprocess.Popen(command, env=cli.env) as run:
        until(lambda: time.monotonic() - began > 4)
        os.kill(daemon.process.pid, signal.SIGSTOP)
        try:
            assert run.wait(60) == 0
        finally:
            os.kill(daemon.process.pid, signal.SIGCONT)
    shown = shown_of(cli, "run-A")
    assert shown["metrics"]["wall_time"]["samples"][0] < 6.5
    assert shown["samples"]["pressure/cpu/some/avg10"]["count"] > 15
