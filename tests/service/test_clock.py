"""A wall clock that is set a day back, and days ahead, under a service that runs."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fingerprint.service.client import Client
from fingerprint.service.clocks import Clocks, clocks
from fingerprint.service.daemon import Service
from fingerprint.store import RunRow, Store
from tests.service.clock import SetClock, library
from tests.service.test_daemon import Daemon, name_of
from tests.service.test_faults import health
from tests.service.test_goes_on import of_two_areas
from tests.standin import StandIn
from tests.waiting import until

DAY, NS = 86_400, 10**9


class Clocked(Daemon):
    """Its wall clock is the test's to set."""

    def __init__(self, folder: Path, clock: SetClock) -> None:
        self.clock = clock
        config = folder / ".config/fingerprint/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("[service]\nkeep_days = 1\n")
        super().__init__(folder)

    def start(self) -> None:
        self.environ |= {**self.clock.environ, "TZ": "UTC"}
        super().start()

    @property
    def client(self) -> Client:
        return Client(str(self.folder / "api.sock"))

    def read(self) -> int:
        return int(json.loads(self.client.post("/v1/snapshot"))["taken_at"])

    def newest(self) -> int:
        return int(json.loads(self.client.get("/v1/snapshot"))["taken_at"])

    def jumps(self) -> list[str]:
        with self.store as store:
            return [event.says for event in store.events(kinds=("clock jump",))]

    def told(self, *arguments: str) -> Any:
        """What the command line tells of its store, by the same clock."""
        command = [sys.executable, "-m", "fingerprint", *arguments, "--format", "json"]
        done = subprocess.run(command, env=self.environ, capture_output=True, text=True, timeout=60)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def clocked(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clocked]:
    clock = SetClock(tmp_path, library(tmp_path_factory.getbasetemp().parent))
    found = Clocked(tmp_path, clock)
    try:
        yield found
    finally:
        found.stop()


def goes_on(daemon: Daemon, stand_in: StandIn) -> RunRow:
    """The attempt of its series that has no end; for a moment between two there is none."""
    return until(lambda: [row for row in daemon.runs(stand_in) if row.closed is None])[-1]


def kept(daemon: Daemon) -> set[str]:
    with daemon.store as store:
        snapshots, events = store.snapshots(), store.events()
        return {row.id for row in store.runs()} | {row.id for row in snapshots} | {event.id for event in events}


@pytest.mark.long
def test_a_clock_that_is_set_back_a_day_is_told_and_all_goes_on_by_it(clocked: Clocked, tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "engine", "vllm")
    name = name_of(stand_in)
    with stand_in.serving():
        until(lambda: clocked.runs(stand_in), 60)
        began, before = clocked.read(), goes_on(clocked, stand_in)
        clocked.clock.set(-DAY)
        assert until(clocked.jumps, 15) == ["the clock was set back by 86400 s"]
        until(lambda: clocked.newest() < began, 15)
        minute = clocked.newest()
        until(lambda: clocked.newest() > minute, 75)  # the next minute's, by the clock as it is now
        assert abs(clocked.newest() / NS - clocked.clock.now) < 65
        until(lambda: goes_on(clocked, stand_in).id != before.id)
        assert clocked.told("show", f"{name}@now")["id"] == goes_on(clocked, stand_in).id
        assert clocked.told("diff", f"{name}@-1m..", name)["b"]["name"] == name
        assert name in {run["name"] for run in clocked.told("timeline", "--since", "2h")["runs"]}
        told: Any = health(clocked)
        assert told["ok"], told["says"]
        assert all(0 <= area["age_s"] < 90 for area in told["areas"].values() if area["outcome"] == "ok")
    until(lambda: all(row.closed for row in clocked.runs(stand_in)), 60)
    assert not {"minutely", "hourly"} & told["overruns"].keys()


@pytest.mark.long
def test_a_clock_that_is_set_days_ahead_makes_nothing_old_that_retention_would_forget(
    clocked: Clocked, tmp_path: Path
) -> None:
    stand_in = StandIn(tmp_path / "engine", "vllm")
    with stand_in.serving():
        until(lambda: clocked.runs(stand_in), 60)
        clocked.read()
        before = kept(clocked)
        to_midnight = DAY - time.time() % DAY - 8
        clocked.clock.set(
            int(to_midnight) + 3 * DAY
        )  # seconds before retention is due, when all of it is three days old
        assert "the clock was set ahead by" in until(clocked.jumps, 15)[0]
        until(lambda: clocked.clock.now % DAY < DAY / 2 and clocked.clock.now % DAY > 3, 30)
        assert abs(clocked.read() / NS - clocked.clock.now) < 30
        assert before <= kept(clocked)
        assert clocked.told("show", f"{name_of(stand_in)}@now")["id"] == goes_on(clocked, stand_in).id
        assert health(clocked)["ok"]


# The same of the service alone, in which no day passes.


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One for each time that retention was let loose."""
    found: list[object] = []
    monkeypatch.setattr(Store, "retain", lambda *_, **asked: found.append(asked))
    return found


@pytest.fixture
def service(tmp_path: Path, forgotten: list[object]) -> Iterator[Service]:
    found = of_two_areas(Service, tmp_path)
    found.schedule.start()
    until(lambda: forgotten)  # as at every start
    yield found
    found.close()


def moved(by: float) -> Clocks:
    now = clocks()
    return now._replace(wall=now.wall + by)


@pytest.mark.parametrize(("by", "says"), [(-DAY, "set back by 86400 s"), (3 * DAY, "set ahead by 259200 s")])
def test_a_clock_that_was_set_is_an_event_and_forgets_nothing_for_a_day(
    service: Service, forgotten: list[object], by: int, says: str
) -> None:
    service.tend(moved(by))
    service.tend()  # the clock is as it was
    service.keep_house()
    assert len(forgotten) == 1
    assert says in service.store().events(kinds=("clock jump",))[0].says
    until(lambda: service.health().ok)


def test_retention_that_is_due_before_it_was_noticed_that_the_clock_was_set_forgets_nothing(
    service: Service, forgotten: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fingerprint.service.daemon.clocks", lambda: moved(3 * DAY))
    service.keep_house()
    assert len(forgotten) == 1
