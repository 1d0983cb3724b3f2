"""A pytest session records itself: `--fingerprint[=NAME]`."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.client.conftest import Program

TESTS = """
import pytest

def test_plain():
    pass

@pytest.mark.fingerprint
def test_timed():
    pass

@pytest.mark.fingerprint("decode")
@pytest.mark.parametrize("n", [1, 2])
def test_named(n):
    pass

@pytest.mark.fingerprint("failed")
def test_failed():
    assert False

def test_measures(fingerprint_run):
    fingerprint_run.metric("ttft_ms", [4, 5.5], unit="ms", better="lower")
    fingerprint_run.metric("power", [300, 310], unit="W", series=True)
"""
WRONG = "def test_wrong(fingerprint_run):\n    fingerprint_run.metric('ttft_ms', 'fast')\n"


@pytest.fixture
def suite(program: Program) -> Program:
    (program.home / "tests").mkdir()
    (program.home / "tests/test_it.py").write_text(TESTS)
    return program


@pytest.mark.parametrize(
    "workers", [pytest.param([], id="alone"), pytest.param(["-n", "2"], id="xdist", marks=pytest.mark.long)]
)
def test_a_session_is_one_run_with_its_wall_time_and_what_its_tests_measured(
    suite: Program, workers: list[str]
) -> None:
    printed = suite.pytest("--fingerprint=suite", "--strict-markers", *workers, "tests", status=1)
    (run,) = suite.fingerprint("runs")
    assert f"fingerprint: recorded suite#1 (see: fingerprint show {run['id']})" in printed
    assert suite.shown()["ended"] == "server ran on"
    metrics = suite.metrics()
    assert {name: len(one["samples"]) for name, one in metrics.items()} == {
        "session_s": 1, "tests/test_it.py::test_timed": 1, "decode": 2, "ttft_ms": 2, "power": 2,
    }  # fmt: skip
    assert metrics["ttft_ms"]["samples"] == [4.0, 5.5]
    assert metrics["power"]["kind"] == "series"
    assert {metrics[name]["unit"] for name in ("session_s", "decode")} == {"s"}
    assert metrics["session_s"]["samples"][0] > sum(metrics["decode"]["samples"])


@pytest.mark.parametrize("words", [[], ["--fingerprint", "--collect-only"]], ids=["not asked for", "collect only"])
def test_nothing_is_recorded_where_nothing_runs_or_it_was_not_asked_for(suite: Program, words: list[str]) -> None:
    printed = suite.pytest("tests", *words, status=0 if words else 1)
    assert "fingerprint:" not in printed
    assert suite.fingerprint("runs") == []


def test_a_path_that_would_be_the_name_is_refused(suite: Program) -> None:
    done = suite("-m", "pytest", "-p", "fingerprint_client", "--fingerprint", "tests", status=4)
    assert "--fingerprint took tests for its NAME: write --fingerprint=NAME, or put it last" in done.stderr


def test_without_the_command_the_session_runs_and_is_told_why_it_is_not_recorded(suite: Program) -> None:
    printed = suite.pytest("tests", "--fingerprint", status=1, env={"FINGERPRINT": "/nowhere/fingerprint"})
    assert "1 failed, 5 passed" in printed
    assert printed.count("fingerprint: nothing is recorded: there is no command /nowhere/fingerprint") == 1


def test_a_value_that_is_no_number_fails_its_test_and_the_name_is_pytest_unless_given(program: Program) -> None:
    (program.home / "test_wrong.py").write_text(WRONG)
    assert "NotRecorded: ttft_ms is not recorded: 'fast' is no number" in program.pytest("--fingerprint", status=1)
    assert program.shown()["name"] == "pytest"


def test_measures_stand_in_the_junit_file_as_well(suite: Program, tmp_path: Path) -> None:
    suite.pytest("tests", "--junitxml", "junit.xml", status=1)
    found = ET.parse(tmp_path / "junit.xml").findall(".//testcase[@name='test_measures']/properties/property")
    assert [one.get("name") for one in found] == ["fingerprint", "fingerprint"]
    assert "ttft_ms" in str(found[0].get("value"))
