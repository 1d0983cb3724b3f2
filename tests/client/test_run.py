"""A program records itself through the client, and never suffers from it."""

import ast
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.client.conftest import CLIENT, Program
from tests.waiting import until

MISSING = {"FINGERPRINT": "", "PATH": "/nowhere"}


def test_what_is_measured_within_a_run_is_recorded_with_the_host_around_it(program: Program) -> None:
    program(
        "-c",
        """
from fingerprint_client import run
with run("A", workload={"concurrency": 8, "cached": False, "model": "m"}, benchmark="b", vary=["cpu/**"]) as r:
    r.metric("decode_ms", 11.2, unit="ms", better="lower")
    r.metric("offset", [-3.5, 2])
    r.metric("decode_ms", 12, unit="ms", better="lower")
    r.metric("power", iter([300, 310]), unit="W", series=True)
    r.note("- after the update")
""",
    )
    shown = program.shown("A#1")
    assert (shown["state"], shown["ended"], shown["benchmark"], shown["vary"]) == (
        "closed", "server ran on", "b", ["cpu/**"],
    )  # fmt: skip
    assert shown["workload"] == {"concurrency": 8, "cached": False, "model": "m"}
    assert shown["notes"] == ["- after the update"]
    assert shown["snapshots"]["before"]
    assert shown["snapshots"]["after"]
    metrics = program.metrics("A")
    assert [metrics["decode_ms"][key] for key in ("samples", "unit", "better")] == [[11.2, 12.0], "ms", "lower"]
    assert metrics["offset"]["samples"] == [-3.5, 2.0]
    assert [metrics["power"][key] for key in ("samples", "kind")] == [[300.0, 310.0], "series"]


@pytest.mark.skipif(find_spec("numpy") is None, reason="numpy is not installed")
def test_arrays_are_values_and_one_without_dimensions_is_one(program: Program) -> None:
    program(
        "-W",
        "error",
        "-c",
        """
import numpy
from fingerprint_client import run
with run("A", strict=True) as r:
    r.metric("n", numpy.array(1.5)); r.metric("n", numpy.float32(2.5)); r.metric("n", numpy.array([3, 4]))
""",
    )
    assert program.metrics("A")["n"]["samples"] == [1.5, 2.5, 3.0, 4.0]


def test_forked_processes_give_their_metrics_to_the_run_and_do_not_end_it(program: Program) -> None:
    program(
        "-c",
        """
import os
from fingerprint_client import run
with run("A", strict=True) as r:
    for number in range(4):
        if os.fork() == 0:
            break  # leaves the with block, as the parent does
    else:
        for _ in range(4):
            assert os.wait()[1] == 0
        assert r.report("text")
        r.metric("late_s", 1)
        number = None
    if number is not None:
        r.metric("step_s", number)
""",
    )
    metrics = program.metrics("A")
    assert sorted(metrics["step_s"]["samples"]) == [0.0, 1.0, 2.0, 3.0]
    assert metrics["late_s"]["samples"] == [1.0]
    assert len(program.fingerprint("runs")) == 1


@pytest.mark.long
def test_runs_of_one_name_that_begin_at_once_keep_their_own_metrics(program: Program) -> None:
    script = (
        "import sys; from fingerprint_client import run\nwith run('A', strict=True) as r: r.metric('n', sys.argv[1])"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", script, str(number)], env=program.env, cwd=program.home)
        for number in range(4)
    ]
    assert [process.wait(60) for process in started] == [0] * 4
    runs = program.fingerprint("runs")
    assert [program.shown(run["id"])["argv"][-1:] for run in runs] == [
        [f"{program.metrics(run['id'])['n']['samples'][0]:.0f}"] for run in runs
    ]


def test_a_run_without_with_is_ended_by_the_end_of_the_program(program: Program) -> None:
    program("-c", "from fingerprint_client import run\nr = run('A', strict=True).begin(); r.metric('decode_ms', 5)")
    assert program.shown("A")["ended"] == "server ran on"
    assert program.metrics("A")["decode_ms"]["samples"] == [5.0]


def test_of_a_program_that_raises_the_run_is_recorded_and_the_exception_is_its_own(program: Program) -> None:
    failed = program(
        "-c",
        "from fingerprint_client import run\nwith run('A') as r:\n    r.metric('decode_ms', 5); raise KeyError('mine')",
        status=1,
    )
    assert failed.stderr.rstrip().endswith("KeyError: 'mine'")
    assert program.metrics("A")["decode_ms"]["samples"] == [5.0]


def test_what_steers_the_programs_python_stays_away_from_the_commands(program: Program, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "msgspec.py").write_text("raise SystemExit('not this one')")
    script = "from fingerprint_client import run\nwith run('A', strict=True): pass"
    program("-c", script, env={"PYTHONPATH": f"{theirs}:{CLIENT}"})
    assert program.shown("A")["state"] == "closed"


def test_a_program_within_a_recorded_one_has_a_run_of_its_own(program: Program) -> None:
    inner = "from fingerprint_client import run\nwith run('inner', strict=True) as r: r.metric('n', 2)"
    program(
        "-c",
        f"""
import subprocess, sys
from fingerprint_client import run
with run('outer', strict=True) as r:
    subprocess.run([sys.executable, "-c", {inner!r}], check=True)
    r.metric('n', 1)
""",
    )
    assert {run["name"]: program.metrics(run["name"])["n"]["samples"] for run in program.fingerprint("runs")} == {
        "outer": [1.0], "inner": [2.0],
    }  # fmt: skip


def test_a_program_that_is_interrupted_keeps_what_it_had_measured(program: Program) -> None:
    script = """
import os, signal
from fingerprint_client import run
with run("A") as r:
    r.metric("decode_ms", 5)
    os.kill(os.getpid(), signal.SIGINT)
"""
    program("-c", script, status=-signal.SIGINT)
    assert program.metrics("A")["decode_ms"]["samples"] == [5.0]
    assert program.shown("A")["ended"] == "server ran on"


def test_of_a_program_that_is_killed_the_run_ends_with_it(program: Program) -> None:
    script = "import os\nfrom fingerprint_client import run\nwith run('A', strict=True): os.kill(os.getpid(), 9)"
    program("-c", script, status=-signal.SIGKILL)
    assert until(lambda: program.shown("A")["ended"] != "still open")
    assert program.shown("A")["ended"] == "server ended"


# What goes wrong.

TWICE = """
from fingerprint_client import run
for name in ("A", "B"):
    with run(name) as r:
        r.metric("decode_ms", 5); r.note("n")
print("measured", r.id or "nothing")
"""


def test_a_missing_command_is_told_once_and_the_program_goes_on(program: Program) -> None:
    done = program("-c", TWICE, env=MISSING)
    assert done.stdout == "measured nothing\n"
    assert done.stderr == (
        "fingerprint_client: nothing is recorded: there is no command fingerprint; install serving-fingerprint, in an "
        "environment of its own, and let FINGERPRINT say where (FINGERPRINT=/opt/fingerprint/bin/fingerprint)\n"
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/nowhere/fingerprint", "there is no command /nowhere/fingerprint"),
        ("/bin/false", "`fingerprint begin` ended with status 1"),
        ("/bin/true", "of another version does not say which run it began"),
        ("sh -c 'echo the disk is full >&2; exit 2'", "the disk is full"),
        ("a 'b", "No closing quotation"),
    ],
)
def test_a_command_that_does_not_work_is_told_and_the_program_goes_on(
    program: Program, command: str, words: str
) -> None:
    done = program("-c", TWICE, env={"FINGERPRINT": command})
    assert done.stdout == "measured nothing\n"
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_no_file_is_left_open(program: Program) -> None:
    for env in ({}, MISSING):
        assert "ResourceWarning" not in program("-W", "always", "-c", TWICE, env=env).stderr


@pytest.mark.parametrize("gone", ["sys.stderr = None", "sys.stderr.close()"])
def test_without_a_standard_error_nothing_is_told_and_the_program_goes_on(program: Program, gone: str) -> None:
    assert program("-c", f"import sys\n{gone}{TWICE}", env=MISSING).stdout == "measured nothing\n"


def test_strict_raises_what_is_told_otherwise(program: Program) -> None:
    script = "from fingerprint_client import run\nrun('A', strict=True).begin()"
    assert (
        "NotRecorded: nothing is recorded: there is no command" in program("-c", script, env=MISSING, status=1).stderr
    )


MISTAKES = (
    ("r.metric('decode_ms', 'fast')", "decode_ms is not recorded: 'fast' is no number"),
    ("r.metric('decode_ms', None)", "decode_ms is not recorded: None is no number"),
    ("r.metric('decode_ms', [])", "decode_ms is not recorded: it has no values"),
    ("r.metric('wall_time', 1)", "'wall_time' is measured in each run by fingerprint itself"),
    ("r.metric('nan_ms', float('nan'))", "nan_ms[0] is nan"),
    ("r.metric('best_ms', 1, better='faster')", "'faster' is not one of"),
    ("r.metric('d', 1, unit='ms'); r.metric('d', 1, unit='s')", "d is given in two ways"),
    ("r.note(' ')", "TEXT is empty"),
    ("r.workload(concurrency=8)", "say it before the run begins"),
    ("r.begin()", "A#1 has begun already"),
    ("run('B').metric('late_ms', 1)", "'late_ms' is not recorded: the run has not begun"),
    ("r.end(); r.note('late')", "'late' is not recorded: A#1 is over"),
)


def test_each_mistake_is_told_in_a_sentence_and_what_is_right_is_recorded(program: Program) -> None:
    script = ["from fingerprint_client import run", "with run('A') as r:", "    r.metric('right_ms', 1)"]
    script += [f"    {statement}" for statement, _ in MISTAKES]
    told = program("-c", "\n".join(script)).stderr
    assert [words for _, words in MISTAKES if words not in told] == []
    assert "Traceback" not in told
    assert len(told.splitlines()) == len(MISTAKES)
    assert program.metrics("A")["right_ms"]["samples"] == [1.0]
    assert program.shown("A")["state"] == "closed"


def test_in_strict_a_mistake_at_the_end_is_raised_once_all_that_is_right_is_recorded(program: Program) -> None:
    script = (
        "from fingerprint_client import run\nwith run('A', strict=True) as r:\n    r.note(' '); r.metric('right_ms', 1)"
    )
    assert "NotRecorded: " in program("-c", script, status=1).stderr
    assert program.metrics("A")["right_ms"]["samples"] == [1.0]


# What enters the measured environment.


def test_the_import_loads_nothing_but_typing() -> None:
    """So it takes milliseconds; a test of the time itself would fail on a busy machine."""
    script = """
import sys, typing, __future__
sys.path.insert(0, sys.argv[1])
before = {*sys.modules}
import fingerprint_client
print(*{*sys.modules} - before)
"""
    done = subprocess.run([sys.executable, "-I", "-c", script, CLIENT], capture_output=True, text=True, check=True)
    assert done.stdout == "fingerprint_client\n"


def test_the_module_is_python_3_8() -> None:
    ast.parse((CLIENT / "fingerprint_client.py").read_text(), feature_version=(3, 8))
