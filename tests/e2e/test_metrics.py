"""What a command measured, read from its output and its files by `run` itself."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Cli
from tests.waiting import until

SPEED = r"regex:speed (?P<value>[0-9.]+) (?P<unit>tok/s)"


def shown(fingerprint: Cli, run: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(fingerprint("show", run, "--format", "json").stdout)
    return document


def test_a_pattern_finds_its_values_in_the_output_which_arrives_all_the_same(fingerprint: Cli) -> None:
    done = fingerprint("run", "--name", "a", "--metrics", f"speed={SPEED}", "--", "echo", "speed 80.5 tok/s")
    assert done.stdout == "speed 80.5 tok/s\n"
    metric = shown(fingerprint, "a")["metrics"]["speed"]
    assert (metric["samples"], metric["unit"], metric["better"]) == ([80.5], "tok/s", "higher")


def test_a_result_file_counts_when_this_run_wrote_it_and_only_then(fingerprint: Cli) -> None:
    wanted = ("--metrics", "json:out.json#step_ms")
    fingerprint("run", "--name", "a", *wanted, "--", "sh", "-c", """echo '{"step_ms": 19.2}' > out.json""")
    done = fingerprint("run", "--name", "b", *wanted, "--", "true")
    assert shown(fingerprint, "a")["metrics"]["step_ms"]["samples"] == [19.2]
    missing = shown(fingerprint, "b")["metrics"]["step_ms"]
    assert missing["samples"] == []
    assert "earlier run" in missing["gap"]
    assert "earlier run" in done.stderr


def test_what_was_asked_of_the_server_makes_another_experiment(fingerprint: Cli) -> None:
    fingerprint("run", "--name", "a", "--workload", "concurrency=8", "--", "true")
    fingerprint("run", "--name", "b", "--workload", "concurrency=16", "--", "true")
    diff = fingerprint.diff("a", "b")
    assert diff["comparable"]["same_workload"] is False
    assert "concurrency" in diff["comparable"]["says"]


def test_a_repeated_run_is_a_series_of_attempts(fingerprint: Cli) -> None:
    fingerprint("run", "--name", "a", "--repeat", "3", "--", "true")
    runs = json.loads(fingerprint("runs", "--format", "json").stdout)
    assert [(run["name"], run["attempt"]) for run in runs] == [("a", 1), ("a", 2), ("a", 3)]


def test_a_repeated_run_ends_with_the_first_attempt_that_fails(fingerprint: Cli) -> None:
    done = fingerprint("run", "--name", "a", "--repeat", "3", "--", "sh", "-c", "exit 7", status=7)
    assert "not repeated" in done.stderr
    assert len(json.loads(fingerprint("runs", "--format", "json").stdout)) == 1


LINES = """\
{"name": "ttft_ms", "values": [4.1, 4.3], "unit": "ms", "better": "lower", "series": true}
{"name": "wall_time", "values": [1], "unit": "s"}

{"name": "a_ms", "values": []}
{"name": "b_ms", "valeus": [1]}
{"name": "c_ms", "values": [NaN]}
not JSON
{"name": "decode_ms", "values": [11.2]}
"""


def test_a_client_that_names_no_file_is_read_by_what_it_prints(fingerprint: Cli) -> None:
    program = fingerprint.home / "llama-bench"
    rows = "| model | ngl | test | t/s |\n|---|---|---|---|\n| m | 99 | tg128 | 85.54 ± 0.05 |\n"
    program.write_text(f"#!/bin/sh\necho '{rows}'\n")
    program.chmod(0o755)
    assert rows in fingerprint("run", "--name", "a", "--", str(program)).stdout
    told = shown(fingerprint, "a")
    assert told["metrics"]["tg128/throughput"]["summary"] == {"mean": 85.54, "stdev": 0.05}
    assert told["workload"]["llama-bench/ngl"] == 99


def test_many_metrics_are_added_at_once_and_a_wrong_line_leaves_the_others(fingerprint: Cli) -> None:
    fingerprint("run", "-q", "--name", "a", "--", "true")
    done = fingerprint("metric", "a", "--json", "-", input=LINES, status=2)
    told = done.stderr.splitlines()
    subjects = [line.split(": ")[1].split(" ")[0] for line in told]
    assert subjects == ["'wall_time'", "a_ms", "<stdin>:5", "<stdin>:6", "<stdin>:7"]
    assert "<stdin>:5 is no metric (Object contains unknown field `valeus`): write e.g. {" in told[2]
    metrics = shown(fingerprint, "a")["metrics"]
    ttft = metrics["ttft_ms"]
    assert (ttft["samples"], ttft["unit"], ttft["better"], ttft["kind"]) == ([4.1, 4.3], "ms", "lower", "series")
    assert metrics["decode_ms"]["samples"] == [11.2]
    assert not {"a_ms", "b_ms", "c_ms"} & set(metrics)


def test_a_metric_lacks_nothing_and_says_nothing_twice(fingerprint: Cli) -> None:
    fingerprint("run", "-q", "--name", "a", "--", "true")
    for words, says in (
        ((), "Missing NAME and VALUE, or --json FILE"),
        (("x_ms",), "Missing VALUE, or --json FILE"),
        (("x_ms", "1", "--json", "-"), "with --json all stands in FILE"),
        (("--json", "nowhere.jsonl"), "nowhere.jsonl"),
        (("--json", "-"), "holds no metric"),
        (("wall_time", "1", "--unit", "s"), "'wall_time' is measured in each run by fingerprint itself"),
    ):
        done = fingerprint("metric", "a", *words, input="", status=2)
        assert says in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_begin_tells_a_program_which_run_it_began(fingerprint: Cli) -> None:
    begun = json.loads(fingerprint("begin", "--pid", str(os.getpid()), "--name", "a", "--format", "json").stdout)
    fingerprint("end", begun["id"])
    assert (begun["name"], begun["attempt"]) == ("a", 1)
    assert shown(fingerprint, "a")["id"] == begun["id"]
    assert begun["pid"] != os.getpid()


def test_a_reader_that_does_not_exist_is_refused_before_the_command_starts(fingerprint: Cli) -> None:
    done = fingerprint("run", "--metrics", "yaml:x", "--", "touch", "started", status=125)
    assert "yaml" in done.stderr
    assert not (fingerprint.home / "started").exists()


def test_killing_fingerprint_while_it_keeps_the_output_hurts_neither_command_nor_output(
    fingerprint: Cli, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    script = "echo early; sleep 1; echo late; echo done > ended"
    argv = fingerprint.argv("run", "-q", "--metrics", SPEED, "--", "sh", "-c", script)
    with out.open("wb") as stream:
        process = subprocess.Popen(argv, env=fingerprint.env, cwd=fingerprint.home, stdout=stream)
        until(lambda: b"early" in out.read_bytes())
        process.send_signal(signal.SIGKILL)
        process.wait()
    until(lambda: (fingerprint.home / "ended").exists() and b"late" in out.read_bytes())
    assert out.read_bytes() == b"early\nlate\n"
