"""`fingerprint timeline` with and without a service, and when `diff` says that a suspect changed."""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fingerprint.ids import new_id
from fingerprint.store import Event, Store
from fingerprint.words import moment
from tests.e2e.conftest import Cli

STORY = Path(__file__).parents[2] / "examples/story"
BOTH = (str(STORY / "run-A.json"), str(STORY / "run-B.json"))
NS = 1_000_000_000


@pytest.fixture
def two_runs(fingerprint: Cli) -> Cli:
    """The same command with another variable, more than a second apart: times are told to the second."""
    for name, threads in (("run-A", "2"), ("run-B", "1")):
        fingerprint("run", "--name", name, "--", sys.executable, "-c", "pass", env={"OMP_NUM_THREADS": threads})
        time.sleep(1.1)
    return fingerprint


@pytest.fixture
def store(fingerprint: Cli) -> Iterator[Store]:
    with Store.open(Path(fingerprint.env["FINGERPRINT_STORE"])) as found:
        yield found


def noticed(store: Store, what: str, since: int, until: int, was: Any, is_: Any) -> None:
    store.add_events([Event(new_id(), os.uname().nodename, since, until, "state", what, was, is_)])


@pytest.mark.long
def test_without_a_service_it_tells_what_changed_between_two_runs(two_runs: Cli) -> None:
    found = json.loads(two_runs("timeline", "run-A", "run-B", "--format", "json").stdout)
    jsonschema.validate(found, json.loads(two_runs("schema", "timeline").stdout))
    (event,) = [it for it in found["events"] if it["what"] == "process/main/env/OMP_NUM_THREADS"]
    assert (event["was"], event["is"], event["told_by"]) == ("2", "1", "readings")
    assert [(run["name"], run["mark"], run["how"]) for run in found["runs"]] == [
        ("run-A", "a", "exited 0"), ("run-B", "b", "exited 0"),
    ]  # fmt: skip
    assert all(run["metrics"] for run in found["runs"])
    assert event["since"] <= event["until"] <= found["runs"][1]["started"]


@pytest.mark.long
def test_the_last_day_is_shown_where_nothing_is_asked_for(two_runs: Cli) -> None:
    told = two_runs("timeline").stdout
    assert told.startswith(f"{os.uname().nodename}: 2 runs")
    assert "process/main/env/OMP_NUM_THREADS  2 -> 1" in told
    assert "No service watched meanwhile" in told


@pytest.mark.long
def test_a_time_that_is_asked_for_holds_nothing_else(two_runs: Cli) -> None:
    assert "nothing is kept of this time" in two_runs("timeline", "--until", "1h").stdout
    assert "2 runs" in two_runs("timeline", "--since", "10m").stdout


def test_two_files_need_no_store(fingerprint: Cli) -> None:
    told = fingerprint("timeline", *BOTH).stdout
    assert told.startswith("Between run-A and run-B on gpu-07: gpu/*/power_limit 600 -> 450 W.")


@pytest.mark.parametrize("form", ["text", "json", "svg", "html", "markdown"])
def test_each_form_is_written_into_a_file_as_it_is_printed(fingerprint: Cli, form: str) -> None:
    printed = fingerprint("timeline", *BOTH, "--format", form).stdout
    done = fingerprint("timeline", *BOTH, "--format", form, "--output", "told")
    assert (done.stdout, done.stderr) == ("", "")
    assert (fingerprint.home / "told").read_text() == printed


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--since", "soon"), "'soon' is no time: write 2h, 30m, 02:00, yesterday, 2026-01-15 or 2026-01-15T02:00"),
        (("--since", "01:00..02:00"), "'01:00..02:00' is no time"),
        (("--since", "1h", "--until", "2h"), "the time that is asked for ends before it begins"),
        (("nobody",), "there is no run 'nobody'"),
        ((*BOTH, "--output", "gone/told"), "--output gone/told cannot be written: No such file or directory"),
    ],
)
def test_what_cannot_be_told_is_said_in_one_sentence(
    fingerprint: Cli, arguments: tuple[str, ...], sentence: str
) -> None:
    done = fingerprint("timeline", *arguments, status=2)
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


# When a suspect changed.


def suspect(fingerprint: Cli) -> dict[str, Any]:
    diff = fingerprint.diff("run-A", "run-B")
    return next(it for it in diff["suspects"] if it["facts"] == ["process/main/env/OMP_NUM_THREADS"])


def test_diff_narrows_a_suspects_time_by_what_was_noticed(two_runs: Cli, store: Store) -> None:
    assert (suspect(two_runs)["bracket"], suspect(two_runs)["bracket_by"]) == (None, None)
    a, b = store.runs()
    since, until = a.last_at, b.opened_at
    noticed(store, "process/main/env/OMP_NUM_THREADS", since - 60 * NS, since + NS // 2, "2", "3")
    noticed(store, "process/main/env/OMP_NUM_THREADS", since + NS // 2, until + 60 * NS, "3", "1")
    told = suspect(two_runs)
    assert told["bracket_by"] == "service"
    assert moment(since) <= told["bracket"][0] <= told["bracket"][1] <= moment(b.last_at)
    words = f"between {told['bracket'][0]} and {told['bracket'][1]} (noticed by the service)"
    assert words in " ".join(two_runs("diff", "run-A", "run-B", status=None).stdout.split())
    assert words in two_runs("diff", "run-A", "run-B", "--format", "html", status=None).stdout


def test_the_timeline_tells_what_was_noticed(two_runs: Cli, store: Store) -> None:
    a, b = store.runs()
    noticed(store, "process/main/env/OMP_NUM_THREADS", a.last_at, b.opened_at, "2", "1")
    found = json.loads(two_runs("timeline", "run-A", "run-B", "--format", "json").stdout)
    events = [it for it in found["events"] if it["what"] == "process/main/env/OMP_NUM_THREADS"]
    assert [event["told_by"] for event in events] == ["service"]
    assert found["notes"] == []
