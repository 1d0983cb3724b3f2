"""What the verbs say and refuse, as a newcomer meets it."""

import json
import shlex
import signal
import subprocess
from collections.abc import Sequence

import pytest

from fingerprint.cli.main import TASKS
from fingerprint.store import Store
from tests.e2e.conftest import Cli
from tests.store.samples import segment, short_run

NOT_UTF8 = b"cpu/\xff".decode(errors="surrogateescape")


def completed(fingerprint: Cli, *words: str) -> list[str]:
    """What bash would offer for the last word."""
    asked = {"COMP_WORDS": "\n".join(("fingerprint", *words)), "COMP_CWORD": str(len(words))}
    program = {"_FINGERPRINT_COMPLETE": "bash_complete", **asked}
    lines = fingerprint(env=program, status=0).stdout.splitlines()
    return [line.partition(",")[2] for line in lines if not line.startswith("file,")]


def started_and_ended(fingerprint: Cli, *names: str) -> None:
    for name in names:
        fingerprint("run", "-q", "--name", name, "--", "true")


@pytest.mark.parametrize(
    "words",
    [
        ("note", "run-A", NOT_UTF8),
        ("runs", "--name", NOT_UTF8),
        ("runs", "--benchmark", NOT_UTF8),
        ("facts", NOT_UTF8),
        ("explain", NOT_UTF8),
        ("show", "run-A", "--facts", NOT_UTF8),
        ("diff", "run-A", "run-A", "--metric", NOT_UTF8),
        ("import", "file.json", "--name", NOT_UTF8),
        ("snapshot", "--area", NOT_UTF8),
    ],
)
def test_text_that_is_no_utf8_is_refused_in_words(fingerprint: Cli, words: Sequence[str]) -> None:
    told = fingerprint(*words, status=2).stderr
    assert "is not UTF-8" in told
    assert "Traceback" not in told


@pytest.mark.parametrize("flag", ["--benchmark", "--vary"])
def test_run_refuses_it_before_the_command_starts(fingerprint: Cli, flag: str) -> None:
    told = fingerprint("run", flag, NOT_UTF8, "--", "touch", "started", status=125).stderr
    assert "is not UTF-8" in told
    assert not (fingerprint.home / "started").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("facts", "nothing/**"), "no fact is matched by 'nothing/**'"),
        (("facts", "cpu/**", "--format", "markdown"), "give no PATTERN with it"),
        (("snapshot", "--area", "process"), "there is no area 'process' of the host: there are block, cpu,"),
        (("record", "here", "--root", "missing"), "'missing' does not exist"),
        (("snapshot", "--budget", "-1"), "Invalid value for '--budget'"),
        (("rum",), "There is no verb 'rum', but 'rm'"),
    ],
)
def test_what_means_nothing_is_told_with_what_there_is(fingerprint: Cli, words: Sequence[str], told: str) -> None:
    assert told in fingerprint(*words, status=2).stderr


def test_a_metric_that_was_not_measured_is_no_empty_answer(fingerprint: Cli) -> None:
    started_and_ended(fingerprint, "run-A", "run-B")
    told = fingerprint("diff", "run-A", "run-B", "--metric", "verify_ms", status=2).stderr
    assert "--metric verify_ms was measured in neither run: there are cpu_time, exit_status, " in told


def test_a_later_mark_does_not_make_a_run_longer(fingerprint: Cli) -> None:
    started_and_ended(fingerprint, "run-A")
    before = fingerprint("runs").stdout.split("\n")[1]
    fingerprint("note", "run-A", "a remark")
    fingerprint("good", "run-A", "-q")
    assert fingerprint("runs").stdout.split("\n")[1] == f"{before}  good"


def test_a_server_that_the_service_records_is_one_line_unless_each_segment_is_asked_for(fingerprint: Cli) -> None:
    began, hour = 1_760_000_000 * 10**9, 3600 * 10**9
    with Store.open(fingerprint.home / "store.db") as store:
        ids = [segment(store, began + at * hour, began + (at + 1) * hour) for at in range(24)]
        store.good(ids[3])
        short_run(store, "run-A", at=began + 2 * hour)
    own, good, server = fingerprint("runs").stdout.splitlines()[1:]
    assert (own.split()[0], good.split()[0], server.split()[0]) == ("run-A#1", "sglang-30000#4", "sglang-30000")
    assert " 2025-10-09T08:53:20Z  24.0 h  " in server
    assert server.endswith(f"{ids[-1]}  23 segments")
    listed = json.loads(fingerprint("runs", "--limit", "1", "--format", "json").stdout)
    assert [(row["id"], row["segments"], row["since"]) for row in listed] == [(ids[-1], 23, began)]
    for asked in (("--all",), ("--name", "sglang-30000")):
        each = json.loads(fingerprint("runs", *asked, "--limit", "100", "--format", "json").stdout)
        assert [row["id"] for row in each if row["service"]] == ids
        assert {row["segments"] for row in each} == {1}


def test_status_as_json_without_a_run_is_null_and_claims_no_schema(fingerprint: Cli) -> None:
    assert json.loads(fingerprint("status", "--format", "json").stdout) is None


def test_config_says_where_the_store_is_that_nobody_chose(fingerprint: Cli) -> None:
    del fingerprint.env["FINGERPRINT_STORE"]
    first = fingerprint("config").stdout.splitlines()[0]
    assert first.endswith(f'""  (default: {fingerprint.home}/state/fingerprint/store.db)')


def test_import_names_what_is_here_already(fingerprint: Cli) -> None:
    started_and_ended(fingerprint, "run-A")
    fingerprint("export", "run-A", "-o", "file.json")
    told = fingerprint("import", "file.json", "--name", "other").stdout
    assert told == "file.json: no new run, 0 new snapshots; already here: run-A#1\n"


@pytest.mark.long
def test_completion_offers_verbs_runs_attempts_facts_rules_and_areas(fingerprint: Cli) -> None:
    started_and_ended(fingerprint, "run-A", "run-B", "run-A")
    assert completed(fingerprint, "re") == ["rename", "record"]
    assert completed(fingerprint, "diff", "run") == ["run-A", "run-B"]
    assert completed(fingerprint, "diff", "run-B", "run-A#") == ["run-A#1", "run-A#2"]
    assert completed(fingerprint, "show", "@") == ["@", "@-1", "@good"]
    assert completed(fingerprint, "explain", "cpu/onl") == ["cpu/online"]
    assert completed(fingerprint, "explain", "power-l") == ["power-limit"]
    assert completed(fingerprint, "facts", "cpu/onl") == ["cpu/online"]
    assert completed(fingerprint, "snapshot", "--area", "c") == ["cpu"]


def test_a_rule_is_explained_by_its_name_and_a_misspelt_one_is_answered_with_the_nearest(fingerprint: Cli) -> None:
    assert fingerprint("explain", "power-limit").stdout.startswith("power-limit\n")
    refused = fingerprint("explain", "powr-limit", status=2)
    assert "Nearest rules: power-limit" in refused.stderr


def test_completion_is_silent_where_the_settings_are_refused(fingerprint: Cli) -> None:
    fingerprint.env["FINGERPRINT_BUDGET_S"] = "soon"
    assert completed(fingerprint, "show", "run") == []


# Exit statuses, as docs/cli.md tells them.


@pytest.mark.parametrize("verb", [verb for verbs in TASKS.values() for verb in verbs])
def test_wrong_usage_of_each_verb_has_the_documented_status(fingerprint: Cli, verb: str) -> None:
    fingerprint(verb, "--no-such-flag", status=125 if verb == "run" else 2)


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["sh", "-c", "exit 7"], 7),
        (["./not-executable"], 126),
        (["./missing"], 127),
        (["sh", "-c", "kill -TERM $$"], -15),
    ],
)
def test_run_ends_as_documented(fingerprint: Cli, command: Sequence[str], status: int) -> None:
    (fingerprint.home / "not-executable").touch()
    fingerprint("run", "-q", "--", *command, status=status)


def test_diff_ends_as_documented(fingerprint: Cli) -> None:
    fingerprint("run", "-q", "--name", "run-A", "--", "true", env={"OMP_NUM_THREADS": "2"})
    fingerprint("run", "-q", "--name", "run-B", "--", "true", env={"OMP_NUM_THREADS": "1"})
    fingerprint("diff", "run-A", "run-A", status=0)
    fingerprint("diff", "run-A", "run-B", status=1)
    fingerprint("diff", "run-A", "run-B", "--exit-on", "nothing", status=0)
    fingerprint("diff", "run-A", "run-C", status=2)


def test_a_reader_that_goes_away_ends_a_verb_as_its_signal_would(fingerprint: Cli) -> None:
    line = f"{shlex.join(fingerprint.argv('facts', '--format', 'json'))} | true; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", line], env=fingerprint.env, check=False).returncode == 141


def test_an_interrupted_verb_exits_with_130(fingerprint: Cli) -> None:
    reading = subprocess.Popen(
        fingerprint.argv("import", "-"), env=fingerprint.env, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert reading.stdin is not None
    reading.stdin.write(b" " * (1 << 20))  # more than a pipe holds: once it is written, the verb reads
    reading.stdin.flush()
    reading.send_signal(signal.SIGINT)
    assert reading.communicate(timeout=60)[1].strip() == b""
    assert reading.returncode == 130
