"""Who holds a run open, whether it still does, and being told to end."""

import subprocess
import sys

import pytest

from fingerprint.runs.ending import end_of
from fingerprint.runs.opener import is_alive, opener
from fingerprint.runs.record import Opener
from probes.kit.host import Host
from probes.kit.processes import Stat, stat
from tests.waiting import until

HOST = Host()


def opener_of(pid: int) -> Opener:
    seen = stat(HOST, pid)
    assert isinstance(seen, Stat)
    return Opener(pid, seen.started, opener(HOST).boot_id)


def sleeper() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["sleep", "60"])


def test_who_was_killed_is_gone_although_nobody_has_waited_for_it() -> None:
    with sleeper() as child:
        known = opener_of(child.pid)
        assert is_alive(HOST, known)
        child.kill()
        until(lambda: not is_alive(HOST, known))
        with pytest.raises(ProcessLookupError):
            end_of(HOST, known)


def test_another_process_of_that_number_is_not_meant() -> None:
    mine = opener(HOST)
    assert is_alive(HOST, mine)
    for other in (Opener(mine.pid, mine.start_ticks + 1, mine.boot_id), Opener(mine.pid, mine.start_ticks, "other")):
        assert not is_alive(HOST, other)
        with pytest.raises(ProcessLookupError):
            end_of(HOST, other)


def test_it_is_asked_to_end_and_waited_for() -> None:
    with sleeper() as child:
        assert end_of(HOST, opener_of(child.pid), 10)
        assert child.wait() == -15


def test_one_that_does_not_end_is_not_waited_for_for_ever() -> None:
    code = "import os, signal; signal.signal(15, signal.SIG_IGN); os.write(1, b'x'); signal.pause()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.read(1)
        assert not end_of(HOST, opener_of(child.pid), 0.1)
        assert child.poll() is None
        child.kill()
