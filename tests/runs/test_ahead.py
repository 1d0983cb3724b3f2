"""The first snapshot of a run is asked for ahead, and is in all else as one that is waited for."""

import gc
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fingerprint.cli.invocation import Invocation
from fingerprint.cli.recording import means_of
from fingerprint.reader.ahead import Ahead, snapshot_of
from fingerprint.runs.plan import Plan
from fingerprint.snapshot import Job, Key
from probes.kit.host import Host
from probes.kit.probe import Probe, discover
from tests.diff.made_up import Rack

PRESSURE = [Job("pressure")]


def test_a_snapshot_is_of_the_moment_at_which_it_was_asked_for() -> None:
    reader = Ahead(Host(), discover(["pressure"]))
    try:
        reader.ask(PRESSURE, 5.0)
        asked_at = reader.asked_at
        time.sleep(0.05)
        first = snapshot_of(reader, PRESSURE, "key", 5.0)
        second = snapshot_of(reader, PRESSURE, "key", 5.0)
    finally:
        reader.close()
    assert first.taken_at == asked_at
    assert first.duration_ms >= 50
    assert [one.readings[Key("pressure")].outcome for one in (first, second)] == ["ok", "ok"]
    assert second.taken_at >= asked_at + 50_000_000, "it is not asked for ahead"


def test_what_hangs_when_it_was_asked_ahead_is_given_up_as_any_other() -> None:
    def hang(*_: Any) -> Rack:
        time.sleep(60)
        return Rack()

    reader = Ahead(Host(), {"rack": Probe("rack", "host", Rack, hang, 0.1, "border")})
    try:
        reader.ask([Job("rack")], 5.0)
        reading = snapshot_of(reader, [Job("rack")], "key", 5.0).readings[Key("rack")]
        assert reading.outcome == "timed_out"
        assert Key("rack") in reader.hung
    finally:
        reader.close()


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("FINGERPRINT_STORE", str(tmp_path / "store.db"))
    return Plan(name="run-A", argv=("true",), env={}, cwd="/", host="here")


@pytest.mark.parametrize("canary", [False, True])
def test_a_canary_works_alone_so_that_the_host_is_read_after_it(plan: Plan, canary: bool) -> None:
    with ExitStack() as held:
        means, _ = means_of(Invocation(), held, replace(plan, canary=canary))
        assert isinstance(means.reader, Ahead)
        assert means.reader.busy is not canary


def test_what_the_command_is_given_is_asked_for_behind_the_first_snapshot_alone(plan: Plan) -> None:
    with ExitStack() as held:
        means, _ = means_of(Invocation(), held, plan)
        means.snapshot()
        assert means.reader.busy
        given = means.given()
        assert (given.outcome, means.reader.busy) == ("ok", False)
        assert given.lasting is not None
        means.snapshot()
        assert not means.reader.busy


def test_who_watches_a_command_collects_garbage_and_spares_what_was_there_before(plan: Plan) -> None:
    gc.disable()
    try:
        with ExitStack() as held:
            means_of(Invocation(), held, plan)
            assert gc.isenabled()
            assert gc.get_freeze_count() > 0
    finally:
        gc.enable()
        gc.unfreeze()
