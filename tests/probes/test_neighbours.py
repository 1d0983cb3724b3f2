"""The process table beside the run: who was at work, by program, without the run itself."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree

import pytest

from fingerprint.reader import Reader
from fingerprint.snapshot import Job
from probes.kit.facts import Gap, Map
from probes.kit.host import Host
from probes.kit.paths import FactPath, parse_path
from probes.kit.probe import Target, discover
from probes.neighbours import NAMELESS, Neighbours, Program, neighbours

MAIN = Target("main", 100)
LATER = 1000  # clock ticks: ten seconds


def stat(
    pid: int, name: str, parent: int = 1, cpu: int = 0, started: int = 50, state: str = "S", waited: int = 0
) -> str:
    before, between, after = "0 0 0 0 0 0 0 0 0", "0 0 0 0 0", " 0" * 30
    return f"{pid} ({name}) {state} {parent} {before} {cpu} 0 {waited} {between} {started}{after}\n"


class Machine:
    """A made-up /proc; the reader is process 99 of fingerprint, which is 90."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.host = Host(str(root))
        self.at = 100
        self.put(stat(99, "reader", parent=90), "self")
        self.put(stat(1, "init", parent=0))

    def put(self, text: str, name: str = "") -> None:
        folder = self.root / "proc" / (name or text.split(maxsplit=1)[0])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "stat").write_text(text)

    def read(self, after: int = LATER) -> Mapping[str, Program] | Gap:
        self.at += after
        (self.root / "proc/uptime").write_text(f"{self.at / 100:.2f} 1.00\n")
        found = neighbours.read(self.host, MAIN).programs
        return found if isinstance(found, Gap) else found.items


def test_the_first_reading_has_nothing_to_compare_with(tmp_path: Path) -> None:
    first = Machine(tmp_path).read()
    assert isinstance(first, Gap)
    assert first.code == "absent"


def test_programs_are_told_by_the_cpus_that_they_took_since_the_reading_before(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.put(stat(200, "stress (ng)", cpu=5000))
    machine.put(stat(201, "stress (ng)", cpu=7000, state="D"))
    machine.put(stat(300, "idle daemon", cpu=9000))
    machine.read()
    machine.put(stat(200, "stress (ng)", cpu=5000 + LATER))
    machine.put(stat(201, "stress (ng)", cpu=7000 + LATER // 2, state="D"))
    machine.put(stat(300, "idle daemon", cpu=9001))
    assert machine.read() == {"stress (ng)": Program(cpu=1500, processes=2, blocked=1)}


def test_the_runs_tree_and_fingerprint_itself_are_no_neighbours(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    ours = ((90, "fingerprint", 1), (99, "reader", 90), (100, "attached", 1), (101, "worker", 100))
    for cpu in (0, LATER):
        for pid, name, parent in ours:
            machine.put(stat(pid, name, parent, cpu))
        machine.put(stat(200, "stress", 1, cpu))
        seen = machine.read()
    assert seen == {"stress": Program(cpu=1000, processes=1, blocked=0)}


def test_a_newcomer_counts_whole_and_a_reused_pid_from_its_own_start(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.put(stat(200, "old", cpu=90000))
    machine.read()
    machine.put(stat(200, "compile", cpu=LATER, started=machine.at + 1))
    machine.put(stat(201, "compile", cpu=LATER, started=machine.at + 1))
    assert machine.read() == {"compile": Program(cpu=2000, processes=2, blocked=0)}


def test_where_proc_hides_the_others_nobody_can_tell(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    rmtree(machine.root / "proc/1")
    machine.put(stat(200, "own", cpu=0))
    machine.read()
    assert machine.read() == Gap("denied", "/proc shows no processes of other users (hidepid)")


def test_what_lived_between_two_readings_counts_as_who_waited_for_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.put(stat(200, "make", cpu=5, waited=4000))
    machine.read()
    machine.put(stat(200, "make", cpu=5, waited=4000 + LATER))
    assert machine.read() == {"make": Program(cpu=1000, processes=1, blocked=0)}


def test_what_ended_counts_no_second_time_as_who_waited_for_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.put(stat(200, "make"))
    machine.put(stat(201, "sh", parent=200, cpu=100))
    machine.put(stat(202, "cc1", parent=201, cpu=7000))
    machine.read()
    machine.put(stat(200, "make", waited=7100 + LATER))
    for pid in (201, 202):
        rmtree(machine.root / f"proc/{pid}")
    assert machine.read() == {"make": Program(cpu=1000, processes=1, blocked=0)}


def test_nobody_used_less_than_nothing_where_nobody_waits_for_who_ends(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.put(stat(200, "server"))
    machine.put(stat(201, "worker", parent=200, cpu=7000))
    machine.put(stat(300, "server"))
    machine.read()
    rmtree(machine.root / "proc/201")
    machine.put(stat(300, "server", cpu=LATER))
    assert machine.read() == {"server": Program(cpu=1000, processes=2, blocked=0)}


def test_kernel_threads_go_by_the_name_of_their_kind(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for cpu in (0, LATER):
        machine.put(stat(2, "kthreadd", 0))
        machine.put(stat(20, "kworker/0:1-events", 2, cpu))
        machine.put(stat(21, "kworker/u8:3", 2, cpu))
        seen = machine.read()
    assert seen == {"[kworker]": Program(cpu=2000, processes=2, blocked=0)}


@pytest.mark.parametrize("name", ["", " ", "/", "..", "*", "a/b**%", "\x1b[31m", ") R 1 (", "\n"])
def test_whatever_a_process_calls_itself_it_has_a_path_that_reads_back(tmp_path: Path, name: str) -> None:
    machine = Machine(tmp_path)
    for cpu in (0, LATER):
        machine.put(stat(200, name, cpu=cpu), "200")
        seen = machine.read()
    assert isinstance(seen, Mapping)
    (program,) = seen
    assert program == (name or NAMELESS)
    assert parse_path(str(FactPath(("neighbours", "main", program)))) == ("neighbours", "main", program)


def test_a_busy_neighbour_of_this_machine_is_named_and_we_are_not() -> None:
    burn = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
    outside = (
        "import subprocess, sys\n"
        "print(subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdout=subprocess.DEVNULL).pid)"
    )
    # Its parent ends at once, so that it is no child of ours.
    busy = int(subprocess.run([sys.executable, "-c", outside, burn], stdout=subprocess.PIPE, check=True).stdout)
    reader = Reader(Host(), discover(["neighbours"]))
    jobs = [Job("neighbours", Target("main", os.getpid()))]
    try:
        dict(reader.read(jobs, 5))
        time.sleep(0.5)
        found = dict(reader.read(jobs, 5))[jobs[0].key].section(Neighbours)
    finally:
        os.kill(busy, signal.SIGKILL)
        reader.close()
    assert found is not None
    assert isinstance(found.programs, Map)
    assert found.programs.items[Path(sys.executable).name[:15]].cpu


def test_a_reading_too_soon_after_another_tells_no_share(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.put(stat(200, "stress", cpu=0))
    machine.read()
    machine.put(stat(200, "stress", cpu=1))
    assert isinstance(machine.read(after=2), Gap)
    machine.put(stat(200, "stress", cpu=1 + LATER))
    assert machine.read() == {"stress": Program(cpu=1000, processes=1, blocked=0)}
