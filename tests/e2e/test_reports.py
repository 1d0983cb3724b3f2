"""Reports as files: beside a benchmark's own result, of a diff, and of a gate for a pipeline."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from tests.e2e.conftest import Cli

STORY = Path(__file__).parent.parent.parent / "examples/story"
A, B = (str(STORY / f"run-{name}.json") for name in "AB")


def report(fingerprint: Cli, name: str = "report.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((fingerprint.home / name).read_text())
    return found


def test_a_report_alone_is_the_run_as_show_gives_it(fingerprint: Cli) -> None:
    fingerprint("run", "-q", "--name", "one", "--report", "report.json", "--", "true")
    shown = json.loads(fingerprint("show", "one", "--format", "json").stdout)
    assert report(fingerprint) == {"schema": "fingerprint.report/1", "run": shown, "baseline": None, "diff": None}


def test_a_report_against_a_baseline_holds_both_and_their_diff(fingerprint: Cli) -> None:
    fingerprint("run", "-q", "--name", "one", "--", "sh", "-c", "exit 0", env={"OMP_NUM_THREADS": "8"})
    fingerprint("run", "-q", "--name", "two", "--baseline", "one", "--report", "report.json", "--",
                "sh", "-c", "exit 0", env={"OMP_NUM_THREADS": "1"})  # fmt: skip
    found = report(fingerprint)
    assert found["baseline"] == json.loads(fingerprint("show", "one", "--format", "json").stdout)
    assert found["diff"] == fingerprint.diff("one", "two")
    schema = json.loads(fingerprint("schema", "diff").stdout)
    jsonschema.validate(found["diff"], schema)


def test_a_baseline_means_what_it_meant_when_the_command_started(fingerprint: Cli) -> None:
    for _ in range(2):
        fingerprint("run", "-q", "--name", "nightly", "--", "true")
    fingerprint("run", "-q", "--name", "nightly", "--repeat", "2", "--baseline", "nightly", "--report", "report.json",
                "--", "true")  # fmt: skip
    diff = report(fingerprint)["diff"]
    assert [attempt["attempt"] for attempt in diff["a"]["attempts"]] == [1, 2]
    assert [attempt["attempt"] for attempt in diff["b"]["attempts"]] == [3, 4]
    fingerprint("run", "-q", "--name", "other", "--baseline", "@", "--report", "report.json", "--", "true")
    assert report(fingerprint)["diff"]["a"]["attempts"][-1]["attempt"] == 4


def test_a_baseline_may_be_a_file_or_a_snapshot(fingerprint: Cli) -> None:
    fingerprint("run", "-q", "--name", "two", "--baseline", A, "--report", "report.json", "--", "true")
    assert report(fingerprint)["baseline"]["name"] == "run-A"
    taken = json.loads(fingerprint("snapshot", "--format", "json").stdout)["id"]
    fingerprint("run", "-q", "--name", "two", "--baseline", taken, "--report", "report.json", "--", "true")
    assert report(fingerprint)["baseline"]["schema"] == "fingerprint.snapshot/1"


def test_a_command_that_fails_keeps_its_status_and_has_its_report(fingerprint: Cli) -> None:
    fingerprint("run", "-q", "--name", "one", "--report", "report.json", "--", "sh", "-c", "exit 7", status=7)
    assert report(fingerprint)["run"]["ended"] == "exited 7"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ("--report", "nowhere/report.json"),
            "--report nowhere/report.json cannot be written: name a file in a folder",
        ),
        (("--report", "."), "--report . cannot be written"),
        (("--baseline", "A"), "--baseline says what --report compares with: name a file with --report FILE"),
        (("--baseline", "A", "--report", "report.json"), "there is no run 'A'"),
    ],
)
def test_wrong_usage_is_told_before_the_command_starts(fingerprint: Cli, options: tuple[str, ...], says: str) -> None:
    done = fingerprint("run", *options, "--", "sh", "-c", "touch started", status=125)
    assert says in done.stderr
    assert not (fingerprint.home / "started").exists()


def test_a_report_that_cannot_be_written_in_the_end_is_told_and_the_status_passed_on(fingerprint: Cli) -> None:
    command = "mkdir report.json; exit 3"
    done = fingerprint("run", "-q", "--name", "one", "--report", "report.json", "--", "sh", "-c", command, status=3)
    assert f"--report {fingerprint.home}/report.json was not written: Is a directory" in done.stderr


def test_a_diff_is_told_as_markdown_and_html_with_the_same_exit_status(fingerprint: Cli) -> None:
    shown = fingerprint("diff", A, B, "--format", "markdown", status=1).stdout
    assert "| `verify_ms` | 19.2 ms | 29.6 ms |" in shown
    page = fingerprint("diff", A, B, "--format", "html", status=1).stdout
    assert page.startswith("<!DOCTYPE html>\n")
    assert page == fingerprint("diff", A, B, "--format", "html", status=1).stdout
    assert "600 W" in page


def test_a_run_and_a_snapshot_are_shown_as_markdown_and_html(fingerprint: Cli) -> None:
    taken = json.loads(fingerprint("snapshot", "--format", "json").stdout)["id"]
    for what, title in ((A, "run-A#3 exited 0"), (taken, taken)):
        assert title in fingerprint("show", what, "--format", "html").stdout
        assert fingerprint("show", what, "--format", "markdown").stdout.startswith("### ")


def test_facts_are_listed_as_text_alone(fingerprint: Cli) -> None:
    done = fingerprint("show", A, "--facts", "cpu/**", "--format", "html", status=2)
    assert "--facts lists facts as text: leave out --format html, which has all of them" in done.stderr


def test_a_gate_writes_several_forms_at_once_and_sums_up_for_github(fingerprint: Cli) -> None:
    names = {"junit": "gate.xml", "json": "gate.json", "gitlab": "quality.json", "text": "gate.txt"}
    written = [word for form, name in names.items() for word in ("--write", f"{form}:{name}")]
    summary = fingerprint.home / "summary.md"
    summary.write_text("before\n")
    env = {"GITHUB_STEP_SUMMARY": str(summary)}
    done = fingerprint("gate", "--format", "github", *written, env=env, status=None)
    verdict = report(fingerprint, "gate.json")
    assert done.returncode == {"pass": 0, "fail": 1, "cannot_tell": 3}[verdict["outcome"]]
    assert all(line.startswith("::") for line in done.stdout.splitlines())
    assert summary.read_text().startswith(f"before\n### {verdict['says']}")
    suite = ET.parse(fingerprint.home / "gate.xml").find("testsuite")
    assert suite is not None
    assert len(suite.findall("testcase")) == len(verdict["checks"])
    assert isinstance(json.loads((fingerprint.home / "quality.json").read_text()), list)
    assert (fingerprint.home / "gate.txt").read_text().startswith(verdict["says"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_file_that_has_no_room_is_named(fingerprint: Cli) -> None:
    full = {"GITHUB_STEP_SUMMARY": "/dev/full"}
    for words in (("--write", "json:/dev/full"), ("--format", "github")):
        done = fingerprint("gate", *words, env=full, status=2)
        assert done.stderr.endswith("/dev/full cannot be written: No space left on device\n")


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("xunit:gate.xml", "'xunit:gate.xml' is no FORMAT:FILE: write e.g. junit:gate.xml; formats are text, json"),
        ("junit", "'junit' is no FORMAT:FILE"),
        ("junit:", "'' cannot be written"),
        ("junit:nowhere/gate.xml", "'nowhere/gate.xml' cannot be written: name a file in a folder that is there"),
    ],
)
def test_what_is_no_output_of_a_gate_is_told(fingerprint: Cli, word: str, says: str) -> None:
    assert says in fingerprint("gate", "--write", word, status=2).stderr
