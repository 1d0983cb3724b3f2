"""What was written after a process had read what it runs: by a time at which it certainly ran it."""

import os
import sys
import time
from pathlib import Path

from probes.kit.facts import Gap
from probes.kit.host import Host
from probes.kit.processes import began, ran
from probes.kit.written import STARTING, written_since
from tests.kit.test_within import started
from tests.probes.children import running

SLEEPING = "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); print('there', flush=True)"
THREADED = (sys.executable, "-c", SLEEPING)


def test_a_program_that_a_script_became_ran_later_than_its_process_began() -> None:
    for pid in started(["sh", "-c", 'sleep 1.2; exec "$0" "$@"', *THREADED]):
        since, ran_at = began(Host(), pid), ran(Host(), pid)
        assert isinstance(since, int)
        assert isinstance(ran_at, int)
        assert since + 1.1e9 < ran_at < time.time_ns() + 2e9


def test_of_a_process_of_one_thread_nothing_tells_it() -> None:
    with running(["sleep", "60"]) as pid:
        assert ran(Host(), pid) == Gap("not_observable")
        assert written_since(Host(), pid, Host(), [("passwd", "/etc/passwd")]) == Gap("not_observable")


def test_of_a_process_that_has_ended_nothing_is_told() -> None:
    for pid in started(list(THREADED)):
        gone = pid
    assert ran(Host(), gone) == Gap("absent")


def test_what_was_written_a_minute_later_is_told_by_its_name_once(tmp_path: Path) -> None:
    for name, later in (("old", 0), ("new", 2 * STARTING), ("newer", 3 * STARTING)):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, ns=(time.time_ns() + later,) * 2)
    places = [("a", "new"), ("a", "newer"), ("b", "old"), ("c", "nowhere"), ("c", "newer")]
    for pid in started(list(THREADED)):
        told = written_since(Host(), pid, Host(), [(name, str(tmp_path / file)) for name, file in places])
    assert told == ("a", "c")
