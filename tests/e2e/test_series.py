"""Attempts of one name are pooled, their starts apart."""

from typing import Any

import pytest

from tests.e2e.conftest import Cli

STEP = "json:out.json#step_ms"


def start(fingerprint: Cli, name: str, *values: float, env: dict[str, str] | None = None) -> None:
    """One attempt for each value that its command measured."""
    for value in values:
        (fingerprint.home / "now.json").write_text(f'{{"step_ms": {value}}}\n')
        run = ("run", "-q", "--name", name, "--benchmark", "serve", "--metrics", STEP)
        fingerprint(*run, "--", "cp", "now.json", "out.json", env=env)


def step(fingerprint: Cli, a: str, b: str) -> dict[str, Any]:
    metrics = fingerprint.diff(a, b)["metrics"]
    found: dict[str, Any] = next(metric for metric in metrics if metric["name"] == "step_ms")
    return found


def test_three_starts_each_tell_a_change_that_single_numbers_do_not(fingerprint: Cli) -> None:
    start(fingerprint, "thursday", 19.1, 19.3, 19.2)
    start(fingerprint, "friday", 29.6, 30.1, 29.8)
    metric = step(fingerprint, "thursday", "friday")
    assert (metric["verdict"], metric["a"]["n"], metric["b"]["n"]) == ("worse", 3, 3)
    assert metric["ci"][0] < metric["ratio"] < metric["ci"][1]
    assert metric["ratio"] == pytest.approx(29.8 / 19.2)


def test_two_single_numbers_are_marked_and_no_change(fingerprint: Cli) -> None:
    start(fingerprint, "thursday", 19)
    start(fingerprint, "friday", 30)
    metric = step(fingerprint, "thursday", "friday")
    assert metric["verdict"] == "unassessed"
    assert "58 % apart" in metric["says"]


@pytest.mark.long
def test_five_starts_that_spread_by_eleven_percent_do_not_tell_five(fingerprint: Cli) -> None:
    start(fingerprint, "thursday", 100, 104, 107, 109, 111)
    start(fingerprint, "friday", 105, 109, 112, 114, 116)
    assert step(fingerprint, "thursday", "friday")["verdict"] in ("same", "unassessed")


@pytest.mark.long
def test_a_state_that_differed_among_the_starts_of_one_side_is_held_against_it(fingerprint: Cli) -> None:
    start(fingerprint, "a", 19.1, env={"OMP_NUM_THREADS": "8", "NCCL_PROTO": "LL"})
    start(fingerprint, "a", 19.3, env={"OMP_NUM_THREADS": "1", "NCCL_PROTO": "LL"})
    start(fingerprint, "b", 29.6, env={"OMP_NUM_THREADS": "8", "NCCL_PROTO": "Simple"})
    suspects = {suspect["facts"][0]: suspect for suspect in fingerprint.diff("a", "b")["suspects"]}
    assert list(suspects) == ["process/main/env/NCCL_PROTO", "process/main/env/OMP_NUM_THREADS"]
    assert suspects["process/main/env/OMP_NUM_THREADS"]["likelihood"] == "unlikely"
    assert "among the starts of a" in suspects["process/main/env/OMP_NUM_THREADS"]["against"][0]["says"]


def test_a_log_whose_quoted_number_is_a_peak_lies_within_its_own_range(fingerprint: Cli) -> None:
    lines = [80.65, 84.1, 82.0, 91.44, 83.3, 85.2, 81.9, 89.0, 82.8, 84.4, 86.0, 83.1, 82.2, 85.9, 84.0]
    printed = "; ".join(f"echo throughput: {line} tok/s" for line in lines)
    pattern = r"throughput=regex:throughput: (?P<value>[0-9.]+) (?P<unit>tok/s)"
    run = ("run", "-q", "--benchmark", "serve", "--metrics", pattern)
    fingerprint(*run, "--name", "thursday", "--", "sh", "-c", printed)
    fingerprint(*run, "--name", "friday", "--", "sh", "-c", "echo throughput: 82.5 tok/s")
    metrics = {metric["name"]: metric for metric in fingerprint.diff("thursday", "friday")["metrics"]}
    assert metrics["throughput"]["verdict"] == "same"
    assert "own range" in metrics["throughput"]["says"]


@pytest.mark.long
def test_a_plan_says_what_its_repetitions_can_resolve_and_starts_nothing(fingerprint: Cli) -> None:
    start(fingerprint, "thursday", 19.1, 19.3, 19.2, 19.0, 19.4)
    done = fingerprint(
        "run", "--plan", "--repeat", "3", "--benchmark", "serve", "--metrics", STEP, "--", "touch", "started"
    )
    assert "step_ms" in done.stdout
    assert "3 starts on each side can resolve" in done.stdout
    assert not (fingerprint.home / "started").exists()


def test_a_plan_without_history_says_that_the_spread_is_not_known(fingerprint: Cli) -> None:
    done = fingerprint("run", "--plan", "--", "true")
    assert "unknown" in done.stdout


def test_a_plan_promises_no_ratio_of_what_is_not_above_zero(fingerprint: Cli) -> None:
    start(fingerprint, "errors", 0, 0, 0)
    done = fingerprint("run", "--plan", "--benchmark", "serve", "--", "true")
    assert "step_ms: A value is not above 0" in done.stdout


def test_a_series_keeps_its_name_beside_an_attempt_of_itself(fingerprint: Cli) -> None:
    start(fingerprint, "friday", 29.6, 30.1)
    diff = fingerprint.diff("friday", "friday#1")
    assert (diff["a"]["name"], diff["b"]["name"]) == ("friday", "friday#1")
    assert (len(diff["a"]["attempts"]), len(diff["b"]["attempts"])) == (2, 1)
