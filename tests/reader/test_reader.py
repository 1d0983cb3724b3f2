"""The reader streams sections, gives up what hangs, and reads the rest."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fingerprint.reader import Reader
from fingerprint.snapshot import Job, Key
from probes.kit.facts import Section, Seen, config
from probes.kit.host import Host
from probes.kit.probe import HOST, Probe, Target
from tests.waiting import until


class Area(Section):
    """One fact is enough to tell that a section arrived."""

    value: Seen[int] = config("tells that it was read", "the test")


def a_probe(area: str, read: Callable[[], Any], budget: float = 0.3) -> Probe[Section]:
    return Probe(area, "host", Area, lambda _host, _target: read(), budget, "border")


def readings(*probes: Probe[Section], budget: float = 5.0) -> dict[Key, Any]:
    reader = Reader(Host(), {probe.area: probe for probe in probes})
    try:
        return dict(reader.read([Job(probe.area) for probe in probes], budget))
    finally:
        reader.close()


def fine(area: str) -> Probe[Section]:
    return a_probe(area, lambda: Area(value=1))


def stop_me() -> Area:
    os.kill(os.getpid(), signal.SIGSTOP)
    return Area(value=2)


def test_every_section_arrives_with_its_value() -> None:
    found = readings(fine("one"), fine("two"))
    assert {key.area: reading.section(Area) for key, reading in found.items()} == {
        "one": Area(value=1),
        "two": Area(value=1),
    }


def test_what_a_probe_raises_is_its_outcome_and_the_rest_is_read() -> None:
    def broken() -> Area:
        raise KeyError("nope")

    found = readings(a_probe("broken", broken), fine("rest"))
    assert (found[Key("broken")].outcome, found[Key("broken")].detail) == ("failed", "KeyError: 'nope'")
    assert found[Key("rest")].outcome == "ok"


def test_a_value_of_the_wrong_type_fails_its_section_and_names_the_fact() -> None:
    found = readings(a_probe("wrong", lambda: Area(value=True)))
    assert found[Key("wrong")].outcome == "failed"
    assert "value" in found[Key("wrong")].detail


def test_a_probe_that_kills_its_reader_is_failed_and_the_rest_is_read() -> None:
    found = readings(a_probe("deadly", lambda: os._exit(3)), fine("rest"))
    assert found[Key("deadly")].outcome == "failed"
    assert found[Key("rest")].outcome == "ok"


def test_a_stopped_probe_is_timed_out_and_the_rest_is_read() -> None:
    found = readings(fine("first"), a_probe("stuck", stop_me), fine("rest"))
    assert [reading.outcome for reading in found.values()] == ["ok", "timed_out", "ok"]


@pytest.mark.root
def test_a_probe_that_cannot_be_killed_is_left_behind_and_named(freezer: Callable[[], None]) -> None:
    began = time.monotonic()
    found = readings(fine("first"), a_probe("stuck", freezer), fine("rest"))
    assert [reading.outcome for reading in found.values()] == ["ok", "timed_out", "ok"]
    assert "left behind" in found[Key("stuck")].detail
    assert time.monotonic() - began < 60  # the probe sleeps for an hour


def test_what_hung_is_not_read_again() -> None:
    reader = Reader(Host(), {"stuck": a_probe("stuck", stop_me, budget=0.1)})
    first = dict(reader.read([Job("stuck")], 5))
    again = dict(reader.read([Job("stuck")], 5))
    reader.close()
    assert first[Key("stuck")].outcome == "timed_out"
    assert again[Key("stuck")].outcome == "skipped"
    assert "hung since" in again[Key("stuck")].detail


def test_the_budget_in_all_ends_the_snapshot_and_what_was_not_begun_is_skipped() -> None:
    found = readings(a_probe("slow", stop_me, budget=60), fine("never"), budget=0.2)
    assert found[Key("slow")].outcome == "timed_out"
    assert found[Key("never")].outcome == "skipped"


def test_the_worker_holds_no_descriptor_of_its_asker_and_a_session_of_its_own(tmp_path: Path) -> None:
    seen = tmp_path / "seen"

    def look() -> Area:
        held = []
        for fd in os.listdir("/proc/self/fd"):
            with suppress(FileNotFoundError):  # the listing's own
                held.append(os.readlink(f"/proc/self/fd/{fd}").partition(":")[0])
        seen.write_text(f"{sorted(held)} {os.getsid(0) == os.getpid()}")
        return Area(value=1)

    with (tmp_path / "lock").open("w"):
        readings(a_probe("look", look))
    assert seen.read_text() == "['/dev/null', '/dev/null', '/dev/null', 'socket'] True"


def test_the_worker_ends_when_its_asker_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from fingerprint.reader import Reader\n"
        "from probes.kit.host import Host\n"
        "reader = Reader(Host(), {})\n"
        "print(reader._worker.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    child = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=False, timeout=30)
    worker = int(child.stdout)
    until(lambda: not Path(f"/proc/{worker}").exists() or "\tZ" in Path(f"/proc/{worker}/status").read_text())


def test_a_question_while_another_is_open_is_refused() -> None:
    reader = Reader(Host(), {"slow": a_probe("slow", stop_me)})
    reader.begin([Job("slow")], 5)
    with pytest.raises(RuntimeError):
        reader.begin([Job("slow", HOST)], 5)
    with pytest.raises(RuntimeError):
        reader.tree(Target("main", 1))
    reader.close()


def test_a_target_reaches_its_probe() -> None:
    probe: Probe[Section] = Probe("of", "process", Area, lambda _h, target: Area(value=target.pid), 1.0, "border")
    reader = Reader(Host(), {"of": probe})
    found = dict(reader.read([Job("of", Target("main", 42))], 5))
    reader.close()
    assert found[Key("of", "main")].section(Area) == Area(value=42)
