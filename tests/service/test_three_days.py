"""A server of three days, in minutes: the daemon's own jobs, driven by the pure schedule and a clock of the test's."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fingerprint.areas import probes_of
from fingerprint.reader import Reader
from fingerprint.service.daemon import Service
from fingerprint.settings import Areas, Settings
from fingerprint.store import FoundRun, RunRow, Stores
from probes.kit.host import Host
from probes.kit.probe import Target, areas
from probes.memory import Memory
from tests.service.clock import SetClock, library
from tests.service.driven import due
from tests.service.test_daemon import name_of
from tests.standin import StandIn

AREAS = ("memory",)
FACT = "memory/vm/swappiness"
MINUTE, HOUR, DAY, NS = 60, 3600, 86_400, 10**9
NINE_PM = 21 * HOUR


class MadeUp:
    """All clocks of this process, ahead of the host's by as many seconds as it was told to pass."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = 0
        plain = {name: getattr(time, name) for name in ("time", "monotonic", "time_ns", "monotonic_ns")}
        for name, read in plain.items():
            unit = NS if name.endswith("_ns") else 1
            monkeypatch.setattr(time, name, lambda read=read, unit=unit: read() + self.ahead * unit)
        gettime = time.clock_gettime
        monkeypatch.setattr(time, "clock_gettime", lambda clock: gettime(clock) + self.ahead)


class Days:
    """A server that the service records from nine in the evening on, and what the command line tells of it then."""

    def __init__(self, folder: Path, clock: MadeUp, stand_in: StandIn) -> None:
        self._folder, self._clock, self._stand_in = folder, clock, stand_in
        self.service = Service(_settings(), Host(), self._reader, folder / "store.db")
        self._last: dict[str, float] = {}
        self.stage(60)
        clock.ahead = (NINE_PM - int(time.time())) % DAY

    def stage(self, swappiness: int) -> None:
        (self._folder / "swappiness").write_text(str(swappiness))

    def _reader(self, _sample: bool) -> Reader:
        """The real one, but for one fact that is as it was staged."""
        [probe] = probes_of(AREAS, _settings()).values()

        def read(host: Host, target: Target) -> Memory:
            memory = probe.read(host, target)
            assert isinstance(memory, Memory)
            staged = int((self._folder / "swappiness").read_text())
            return replace(memory, vm=replace(memory.vm, swappiness=staged))

        return Reader(Host(), {"memory": replace(probe, read=read, sample=None)})

    def drive(self, seconds: int, step: int) -> None:
        for _ in range(seconds // step):
            self._clock.ahead += step
            for job in due(self.service.jobs(), self._last, time.time()):
                job.act()

    def segments(self) -> tuple[RunRow, ...]:
        return self.service.store().runs(name=name_of(self._stand_in))

    def meant(self, reference: str) -> list[int]:
        """Which attempts."""
        found = Stores([self.service.store()]).resolve(reference)
        assert isinstance(found, FoundRun)
        return [row.attempt for row in found.attempts]

    def told(self, *arguments: str) -> Any:
        """What the command line tells, by the clock as it stands now."""
        clock = SetClock(self._folder, library(self._folder))
        clock.set(self._clock.ahead)
        environ = {**os.environ, **clock.environ, "HOME": str(self._folder), "TZ": "UTC", "FINGERPRINT_SOCKET": ""}
        environ["FINGERPRINT_STORE"] = str(self._folder / "store.db")
        command = [sys.executable, "-m", "fingerprint", *arguments, "--format", "json"]
        done = subprocess.run(command, env=environ, capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)


def _settings() -> Settings:
    return Settings(areas=Areas(skip=tuple(area for area in areas() if area not in AREAS)))


@pytest.fixture
def days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Days]:
    """Of this server alone, whatever else serves on this host."""
    from fingerprint.runs.serving import all_servers

    stand_in = StandIn(tmp_path / "engine", "vllm")
    monkeypatch.setattr(
        "fingerprint.service.watching.all_servers",
        lambda host: [server for server in all_servers(host) if server.name == name_of(stand_in)],
    )
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    with stand_in.serving():
        found = Days(tmp_path, MadeUp(monkeypatch), stand_in)
        yield found
        found.service.close()
    monkeypatch.undo()
    time.tzset()


def run_through(days: Days, hours: int, step: int) -> float:
    """As many and a half, then the state changes, which is answered when, then an hour and a half more."""
    days.drive(hours * HOUR + HOUR // 2, step)
    changed = time.time()
    days.stage(10)
    days.drive(HOUR + HOUR // 2, step)
    return changed


def are_cut_each_hour_and_at(changed: float, rows: Sequence[RunRow], step: int) -> None:
    lasted = [(row.closed.at - row.opened_at) / NS for row in rows if row.closed]
    assert len(lasted) == len(rows) - 1
    [cut] = [number for number, seconds in enumerate(lasted) if seconds < HOUR - step]
    assert 0 < rows[cut + 1].opened_at / NS - changed < 3 * step  # a state settles in two rounds
    assert all(seconds == pytest.approx(HOUR, abs=step) for seconds in [*lasted[:cut], *lasted[cut + 1 :]])
    assert all((later.opened_at - earlier.closed.at) / NS < step for earlier, later in pairwise(rows) if earlier.closed)


def ran(rows: Sequence[RunRow], since: str, until: str) -> list[int]:
    """The attempts that shared time with this."""
    first, last = (datetime.fromisoformat(f"{text}+00:00").timestamp() * NS for text in (since, until))
    ends = {row.id: row.closed.at if row.closed else last for row in rows}
    return [row.attempt for row in rows if row.opened_at < last and ends[row.id] > first]


def answers(days: Days) -> None:
    """To what is asked by time."""
    rows = days.segments()
    today, yesterday = (time.strftime("%Y-%m-%d", time.gmtime(time.time() - ago)) for ago in (0, DAY))
    assert days.meant("server@now") == [rows[-1].attempt]
    assert days.meant("server@yesterday") == ran(rows, f"{yesterday}T00:00", f"{today}T00:00")
    assert days.meant("server@02:00..03:00") == ran(rows, f"{today}T02:00", f"{today}T03:00")
    told = days.told("diff", "server@yesterday", "server@now")
    [suspect] = [one for one in told["suspects"] if FACT in one["facts"]]
    change = next(one for one in told["changes"] if one["fact"] == FACT)
    assert (change["before"], change["after"]) == (60, 10)
    assert suspect["bracket_by"] == "service"


def test_a_server_from_one_day_into_the_next_is_cut_each_hour_and_at_a_change_and_is_asked_for_by_time(
    days: Days,
) -> None:
    changed = run_through(days, 5, 10 * MINUTE)
    are_cut_each_hour_and_at(changed, days.segments(), 10 * MINUTE)
    assert len(days.segments()) == 5 + 3  # one was cut short, and the next is followed by the one that goes on
    answers(days)


@pytest.mark.long
def test_a_server_of_three_days_is_cut_each_hour_and_at_a_change_and_is_asked_for_by_time(days: Days) -> None:
    changed = run_through(days, 3 * 24 + 5, 2 * MINUTE)
    rows = days.segments()
    are_cut_each_hour_and_at(changed, rows, 2 * MINUTE)
    assert len(rows) == 3 * 24 + 5 + 3
    answers(days)
    assert len(days.meant("server@yesterday")) in (24, 25)
    assert days.told("show", "server@now")["id"] == rows[-1].id
    assert days.told("show", "server@02:00..03:00")["attempt"] == days.meant("server@02:00..03:00")[-1]
    told = days.told("timeline", "--since", "4d")
    assert len(told["runs"]) == len(rows)
    [event] = [event for event in told["events"] if event["what"] == FACT]
    assert (event["was"], event["is"]) == (60, 10)
    [listed] = days.told("runs")
    assert (listed["id"], listed["segments"], listed["since"]) == (rows[-1].id, len(rows), rows[0].opened_at)
