"""A run as a whole: what is recorded, and that nothing of ours stops the command."""

import os
import shlex
import sys
from pathlib import Path

import pytest

from fingerprint.metrics import Metric
from fingerprint.runs.record import (
    Closed,
    Distribution,
    Growth,
    Measured,
    Opened,
    Passed,
    Process,
    Sampled,
    Snapped,
    Trouble,
)
from fingerprint.snapshot import Reading
from probes.kit.facts import Map, Redacted
from probes.libraries import Libraries
from probes.process.sections import Process as ProcessSection
from tests.runs.conftest import Starter

PYTHON = os.path.realpath(sys.executable)


def metrics(start: Starter) -> dict[str, Metric]:
    return {record.metric.name: record.metric for record in start.records(Measured)}


def section(reading: Reading) -> ProcessSection:
    found = reading.section(ProcessSection)
    assert found is not None
    return found


def test_the_records_of_a_run_tell_its_story_in_order(start: Starter) -> None:
    assert start("sleep", "0.3").returncode == 0
    records = start.records()
    kinds = [type(record) for record in records]
    assert kinds[:4] == [Opened, Snapped, Passed, Process]
    assert [kind for kind in kinds[4:] if kind is not Process] == [*[Measured] * 4, Sampled, Snapped, Closed]
    assert [record.at for record in records] == sorted(record.at for record in records)
    assert [record.moment for record in start.records(Snapped)] == ["before", "after"]


def test_what_was_run_is_recorded_without_its_secrets(start: Starter) -> None:
    start("true", "--token", "hunter2", "plain")
    [opened] = start.records(Opened)
    assert opened.argv[:2] == ("true", "--token")
    assert isinstance(opened.argv[2], Redacted)
    assert opened.argv[3] == "plain"
    assert (opened.opener.pid > 0, opened.opener.start_ticks > 0, len(opened.opener.boot_id)) == (True, True, 36)
    assert "hunter2" not in start.records_file.read_text()


def test_arguments_that_are_not_utf8_are_recorded_escaped(start: Starter) -> None:
    assert start("printf", "%s", os.fsdecode(b"\xff"), encoding="latin-1").stdout == "\xff"
    assert start.records(Opened)[0].argv[2] == "\\xff"
    assert not start.records(Trouble)


def test_the_commands_process_is_read_while_it_lives(start: Starter, tmp_path: Path) -> None:
    start("sh", "-c", "exec sleep 0.5", env={**os.environ, "OMP_NUM_THREADS": "3"})
    main = section([record for record in start.records(Process) if record.target == "main"][-1].reading)
    assert main.operands == ("0.5",)
    assert "OMP_NUM_THREADS" in start.records_file.read_text()


def test_an_exec_chain_counts_as_what_it_ends_in(start: Starter) -> None:
    start("env", "A=1", "sh", "-c", f"sleep 0.3; exec {PYTHON} -c 'import time; time.sleep(1.2)'")
    main = section([record for record in start.records(Process) if record.target == "main"][-1].reading)
    assert main.flags == Map({"-c": ("import time; time.sleep(1.2)",)})


def test_a_descendant_counts_if_it_was_there_twice(start: Starter) -> None:
    start("sh", "-c", "sleep 1.4 & sleep 0.5 & sleep 0.01; wait")
    names = {record.target for record in start.records(Process)}
    assert any(name.startswith("main.sleep") for name in names)
    assert not any(record.reading.outcome != "ok" for record in start.records(Process))
    seen = [section(record.reading).operands for record in start.records(Process)]
    assert ("1.4",) in seen
    assert ("0.01",) not in seen


def test_what_a_run_used_is_measured(start: Starter) -> None:
    work = "b = bytearray(200 << 20); import time\nwhile time.process_time() < 0.5: pass"
    start(PYTHON, "-c", work)
    found = metrics(start)
    assert set(found) == {"wall_time", "cpu_time", "peak_memory", "exit_status"}
    assert found["cpu_time"].samples[0] >= 0.4
    assert found["wall_time"].samples[0] >= 0.4
    assert 200 << 20 <= found["peak_memory"].samples[0] < 300 << 20
    assert found["exit_status"].samples == (0.0,)


def test_counters_span_the_whole_run(start: Starter) -> None:
    start("sleep", "0.5")
    [sampled] = start.records(Sampled)
    switches = sampled.facts["pressure/activity/ctxt"]
    assert isinstance(switches, Growth)
    assert switches.seconds >= 0.4
    assert switches.grown > 0
    assert sampled.ticks >= 3


@pytest.mark.long
def test_what_is_slow_to_be_sampled_first_is_sampled_all_the_same_and_hides_nothing_else(start: Starter) -> None:
    """As NVML is, which takes seconds to begin with where no process holds the driver."""
    start("sleep", "2.5", options={"--first-sample": "1.3"})
    [sampled] = start.records(Sampled)
    clock, threads = sampled.facts["rack/x/clock"], sampled.facts["pressure/load/threads"]
    assert isinstance(clock, Distribution)
    assert isinstance(threads, Distribution)
    assert clock.count >= 3
    assert threads.count >= clock.count, "it was read before the rack, at each tick"
    assert sampled.missed >= 5, "ticks within the first reading"
    assert not start.records(Trouble)


def test_a_command_that_is_over_at_once_is_recorded_whole(start: Starter) -> None:
    assert start("true").returncode == 0
    found = metrics(start)
    assert 0 < found["wall_time"].samples[0] < 5
    memory = found["peak_memory"]
    assert memory.samples or "ended before it was sampled" in memory.gap
    [passed] = start.records(Passed)
    assert section(passed.reading).program.path == os.path.realpath("/usr/bin/true")
    assert not start.records(Trouble)


def test_a_journal_that_fails_while_the_command_runs_costs_records_only(start: Starter) -> None:
    done = start("sh", "-c", "echo done; exit 4", options={"--fail": "journal"})
    assert (done.returncode, done.stdout, done.stderr) == (4, "done\n", "RuntimeError: staged\n")


@pytest.mark.parametrize("part", ["reader", "sampler", "snapshot", "given"])
def test_a_fault_of_ours_is_told_and_the_command_goes_on(start: Starter, part: str) -> None:
    done = start("sh", "-c", "sleep 0.3; echo done; exit 4", options={"--fail": part})
    assert (done.returncode, done.stdout, done.stderr) == (4, "done\n", "")
    assert any("RuntimeError: staged" in trouble.what for trouble in start.records(Trouble))
    assert start.records(Closed)[0].status == 4
    assert len(start.records(Measured)) == 4


@pytest.mark.parametrize("hung", ["sampler", pytest.param("sampler,reader", marks=pytest.mark.long)])
def test_readers_that_hang_do_not_hold_the_command_up(start: Starter, hung: str) -> None:
    done = start("sh", "-c", "sleep 0.2; echo done", options={"--stop": hung, "--fail": "snapshot"})
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert metrics(start)["wall_time"].samples[0] < 1.2, "the command's own time, not that of our waiting"
    assert start.records(Closed)[0].how == "exited"


@pytest.mark.long
def test_many_short_runs_leave_no_descriptor_and_no_process_behind(start: Starter) -> None:
    done = start("true", options={"--repeat": "40"})
    assert (done.returncode, done.stderr) == (0, "")
    assert len(start.records(Closed)) == 40
    start.records_file.unlink()
    done = start("true", options={"--repeat": "20", "--streams": "1,2"})
    assert (done.returncode, done.stderr) == (0, "")


def test_what_was_recorded_before_fingerprint_was_killed_is_there(start: Starter) -> None:
    run = start.popen("sh", "-c", "sleep 0.4; kill -9 $PPID")
    assert run.wait(20) == -9
    kinds = {type(record) for record in start.records()}
    assert {Opened, Snapped, Passed, Process} <= kinds
    assert Closed not in kinds


@pytest.mark.long
def test_the_environment_of_a_python_is_recorded_and_of_a_shell_none(start: Starter) -> None:
    also = {"--also": "libraries"}
    in_shell = f"{shlex.quote(sys.executable)} -c 'import time; time.sleep(1.3)'; true"
    assert start("sh", "-c", in_shell, options=also).returncode == 0
    [record] = [record for record in start.records(Process) if record.area == "libraries"]
    assert record.target == "main.python.1"
    told = record.reading.section(Libraries)
    assert (told.environment, told.packages.items["pytest"].version) == (sys.prefix, pytest.__version__)
