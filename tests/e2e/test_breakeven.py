"""`fingerprint breakeven`: from which accept length on speculation pays, by given numbers and by runs."""

import json
from collections.abc import Sequence

import pytest

from tests.e2e.conftest import Cli


@pytest.mark.parametrize(("baseline", "needed"), [("82", "2.46"), ("100tok/s", "3")])
def test_two_numbers_tell_it(fingerprint: Cli, baseline: str, needed: str) -> None:
    told = fingerprint("breakeven", "--baseline", baseline, "--cycle", "30ms").stdout
    assert told.startswith(f"Break-even accept length {needed}: ")


@pytest.mark.parametrize("cycle", ["30ms", "0.03s", "30000us", "3e1 ms"])
def test_a_time_has_its_unit(fingerprint: Cli, cycle: str) -> None:
    told = fingerprint("breakeven", "--baseline", "82", "--cycle", cycle, "--accept", "2.0", "--format", "json").stdout
    even = json.loads(told)["break_even"]
    assert even["accept_length"] == pytest.approx(2.46)
    assert even["throughput"] == pytest.approx(66.67, abs=0.01)
    assert even["margin"] == pytest.approx(2.0 / 2.46 - 1)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", "needs the throughput without speculation: --baseline 82; or a RUN"),
        ("--baseline 82", "needs the time of a cycle: --cycle 30ms"),
        ("--baseline 82 --draft 3ms", "--verify among them"),
        ("--cycle 30ms", "needs the throughput without speculation: --baseline 82"),
        ("--baseline 82 --cycle 30", "'30' is no time with its unit: write it as 30ms"),
        ("--baseline 82 --cycle 30min", "'30min' is no time with its unit"),
        ("--baseline nan --cycle 30ms", "'nan' is no throughput in tok/s: write it as 82"),
        ("--baseline 82ms --cycle 30ms", "'82ms' is no throughput in tok/s"),
        ("--baseline 1e999 --cycle 30ms", "1e999 is no number above 0"),
        ("--baseline 82 --cycle 0ms", "0ms is no number above 0"),
        ("--baseline 82 --cycle 1.2.3ms", "'1.2.3' is no number"),
        ("--baseline 82 --cycle 30ms --accept two", "'two' is no number of tokens"),
        ("nothing --baseline 82", "there is no run 'nothing'"),
    ],
)
def test_what_cannot_be_reckoned_with_is_refused_in_words(fingerprint: Cli, words: str, told: str) -> None:
    refused = fingerprint("breakeven", *words.split(), status=2)
    assert told in refused.stderr
    assert refused.stdout == ""


def test_what_is_left_of_a_cycle_and_what_cannot_be_are_said(fingerprint: Cli) -> None:
    given = ("breakeven", "--baseline", "82", "--cycle", "33ms", "--verify", "28ms", "--draft")
    assert "draft + verify leave 3 ms of cycle." in fingerprint(*given, "2ms").stdout
    assert "draft + verify (36 ms) is 9 % more than cycle (33 ms)" in " ".join(
        fingerprint(*given, "8ms").stdout.split()
    )


def measured(fingerprint: Cli, name: str, *workload: str, **metrics: Sequence[str]) -> None:
    fingerprint("run", "-q", "--name", name, *workload, "--", "true")
    for metric, values in metrics.items():
        fingerprint("metric", name, metric, *values)


@pytest.fixture
def runs(fingerprint: Cli) -> Cli:
    """plain: 82 tok/s; spec: 2 tokens in 30 ms."""
    measured(fingerprint, "plain", throughput=["82"])
    measured(fingerprint, "spec", accept_length=["2.0"], cycle_ms=["29", "30", "31"])
    return fingerprint


def test_two_runs_tell_it_and_an_option_stands_in_place_of_what_was_measured(runs: Cli) -> None:
    even = json.loads(runs("breakeven", "spec", "plain", "--format", "json").stdout)["break_even"]
    assert even["accept_length"] == pytest.approx(2.46)
    assert even["formula"] == "break-even accept length = (throughput of plain) x cycle_ms"
    assert "speculation loses" in runs("breakeven", "spec", "plain").stdout
    assert "speculation pays" in runs("breakeven", "spec", "plain", "--accept", "2.9").stdout
    assert "speculation pays" in runs("breakeven", "spec", "plain", "--cycle", "20ms").stdout
    assert "length 3: " in runs("breakeven", "spec", "--baseline", "100").stdout


def test_a_run_that_does_not_tell_enough_is_refused(runs: Cli) -> None:
    assert "spec does not tell its throughput without speculation" in runs("breakeven", "spec", status=2).stderr
    assert "--verify among them" in runs("breakeven", "spec", "plain", "--draft", "3ms", status=2).stderr
    assert "plain does not tell the time of a cycle" in runs("breakeven", "plain", status=2).stderr
    both = runs("breakeven", "spec", "plain", "--baseline", "82", status=2).stderr
    assert "leave one out" in both


def test_a_run_of_several_streams_is_refused(runs: Cli) -> None:
    measured(runs, "many", "--workload", "concurrency=8", throughput=["600"])
    assert "in many, concurrency is 8" in runs("breakeven", "spec", "many", status=2).stderr
