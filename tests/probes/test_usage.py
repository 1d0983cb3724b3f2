"""What the tree uses is summed, and a member that ends takes nothing away from a counter."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fingerprint.sections import leaves
from probes.kit.facts import Gap, seen_or
from probes.kit.host import Host
from probes.kit.probe import Target
from probes.usage import Departed, Usage
from probes.usage import usage as usage_probe
from tests.waiting import until

BURN = "import time; s = time.process_time()\nwhile time.process_time() < s + 0.35: pass\n"
"""User and system time are told in ticks of 10 ms, each cut."""


def read(host: Host, pid: int) -> Usage:
    return usage_probe.read(host, Target("main", pid))


@pytest.fixture
def shell() -> Iterator["subprocess.Popen[str]"]:
    """A shell that does what it is told, line by line."""
    child = subprocess.Popen(["sh"], stdin=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield child
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def tell(shell: "subprocess.Popen[str]", line: str) -> None:
    assert shell.stdin
    shell.stdin.write(line + "\n")
    shell.stdin.flush()


def test_every_fact_is_read_of_a_live_tree_and_decodes_strictly() -> None:
    seen = read(Host(), os.getpid())
    assert msgspec.json.decode(msgspec.json.encode(seen), type=Usage) == seen
    gaps = {"/".join(leaf.names): leaf.value for leaf in leaves(seen) if isinstance(leaf.value, Gap)}
    assert not {name for name in gaps if not name.startswith("cgroup/")}


def test_processes_and_memory_are_summed_over_the_tree(shell: "subprocess.Popen[str]") -> None:
    host = Host()
    before = read(host, shell.pid)
    tell(shell, "sleep 60 & sleep 60 &")
    until(lambda: read(host, shell.pid).processes == 3)
    after = read(host, shell.pid)
    assert (before.processes, before.threads, after.threads) == (1, 1, 3)
    assert isinstance(before.rss, int)
    assert isinstance(after.rss, int)
    assert isinstance(after.hwm, int)
    assert before.rss < after.rss <= after.hwm


def test_cpu_time_of_a_child_that_ended_stays(shell: "subprocess.Popen[str]") -> None:
    host = Host()
    tell(shell, f"'{sys.executable}' -c '{BURN}'; sleep 60")
    until(lambda: cpu_time(read(host, shell.pid)) >= 300 and children_of(shell) == {"sleep"})
    assert cpu_time(read(host, shell.pid)) >= 300


def test_switches_of_a_child_that_ended_stay(shell: "subprocess.Popen[str]") -> None:
    host = Host()
    tell(
        shell, f"'{sys.executable}' -c 'import time; [time.sleep(0.001) for _ in range(300)]; time.sleep(1)'; sleep 60"
    )
    column: list[Any] = []

    def ended() -> bool:
        column.append(read(host, shell.pid).voluntary_switches)
        return children_of(shell) == {"sleep"}

    until(ended)
    assert column[-1] > 300
    assert column == sorted(column)


def cpu_time(seen: Usage) -> int:
    assert isinstance(seen.user, int)
    assert isinstance(seen.system, int)
    return seen.user + seen.system


def children_of(shell: "subprocess.Popen[str]") -> set[str]:
    pids = Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text().split()
    return {Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids}


def test_a_tree_that_ended_has_no_zeros() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert {leaf.value for leaf in leaves(read(Host(), child.pid))} == {Gap("absent")}


def test_the_sum_never_falls_when_members_come_go_and_reuse_a_pid() -> None:
    departed = Departed()
    assert [departed.total(now) for now in ({1: 5, 2: 7}, {1: 6}, {1: 6, 3: 1}, {1: 2, 3: 1})] == [12, 13, 14, 16]


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can set a quota")
def test_throttling_by_a_quota_is_counted(shell: "subprocess.Popen[str]") -> None:
    group = Path(f"/sys/fs/cgroup/cpu/fingerprint-usage-{os.getpid()}")
    try:
        group.mkdir()
    except OSError:
        pytest.skip("no v1 cgroup with a CPU controller can be made here")
    try:
        (group / "cpu.cfs_quota_us").write_text("5000")
        (group / "cgroup.procs").write_text(str(shell.pid))
        host = Host()
        before: Any = read(host, shell.pid).cgroup
        tell(shell, "while :; do :; done")
        until(lambda: seen_or(read(host, shell.pid).cgroup.nr_throttled, 0) > before.nr_throttled)
        after: Any = read(host, shell.pid).cgroup
        assert after.throttled_usec > before.throttled_usec
        assert after.nr_periods > before.nr_periods
    finally:
        shell.kill()
        shell.wait()
        until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


def test_in_v2_memory_is_told_by_the_group_and_throttling_by_all(tmp_path: Path) -> None:
    files = {
        "proc/self/mountinfo": "30 20 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "proc/7/cgroup": "0::/a/b\n",
        "proc/7/stat": "7 (a) b) S 1 7 7 0 -1 0 0 0 3 0 10 5 1 1 20 0 2 0 99 0 0 " + "0 " * 15 + "0 0 0\n",
        "sys/fs/cgroup/a/cpu.stat": "usage_usec 5\nnr_periods 10\nnr_throttled 4\nthrottled_usec 700\n",
        "sys/fs/cgroup/a/b/cpu.stat": "usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
        "sys/fs/cgroup/a/b/memory.current": "4096\n",
        "sys/fs/cgroup/a/b/memory.peak": "8192\n",
        "sys/fs/cgroup/a/b/memory.events": "low 0\nhigh 3\nmax 2\noom 0\noom_kill 0\n",
        "sys/fs/cgroup/a/b/pids.events": "max 6\n",
        "sys/fs/cgroup/a/b/memory.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=125\nfull total=9\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    seen = read(Host(str(tmp_path)), 7)
    group = seen.cgroup
    assert (seen.user, seen.system, seen.major_faults, seen.threads) == (110, 60, 3, 2)
    assert seen.run_delay == Gap("not_read")
    assert (group.nr_periods, group.nr_throttled, group.throttled_usec) == (10, 4, 700)
    assert (group.memory_current, group.memory_peak) == (4096, 8192)
    assert not isinstance(group.memory_events, Gap)
    assert group.memory_events.items["high"] == 3
    assert group.pids_events == 6
    assert not isinstance(group.pressure, Gap)
    assert group.pressure.items["memory"] == 125


def test_what_an_older_v1_kernel_does_not_count_is_unsupported(tmp_path: Path) -> None:
    files = {
        "proc/self/mountinfo": "34 23 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        "proc/7/cgroup": "4:memory:/a\n",
        "proc/7/stat": "7 (a) S 1 7 7 0 -1 0 0 0 3 0 10 5 1 1 20 0 2 0 99 0 0 " + "0 " * 15 + "0 0 0\n",
        "sys/fs/cgroup/memory/a/memory.failcnt": "3\n",
        "sys/fs/cgroup/memory/a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    events = read(Host(str(tmp_path)), 7).cgroup.memory_events
    assert not isinstance(events, Gap)
    assert events.items == {"max": 3, "oom_kill": Gap("unsupported")}
