"""A verify step takes longer, or fewer tokens are accepted: which of them, two logs of SGLang tell."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from fingerprint.explain import Subject
from fingerprint.explain.contract import Arithmetic
from fingerprint.metrics import Metric
from fingerprint.runs.record import Asked, Measured
from tests.explain.subjects import explained, subject
from tests.metrics.logs.texts import read, sglang_log, sglang_start, written

WINDOWS = 40


def log(speed: float, accept: float | None) -> list[str]:
    """Of one stream whose cycle is equally long throughout, while the accept length of its texts differs."""
    spread = random.Random(1)
    accepts = [round(accept + spread.uniform(-0.06, 0.06), 2) if accept else None for _ in range(WINDOWS)]
    speeds = [speed * (it / accept if it and accept else 1) * spread.uniform(0.99, 1.01) for it in accepts]
    return sglang_log(speeds, accepts, sglang_start(speculative="'EAGLE'" if accept else "None"))


THURSDAY, FRIDAY = log(94.0, 2.0), log(60.0, 2.0)
OTHER_TEXTS, PLAIN = log(70.5, 1.5), log(82.0, None)


def side(name: str, lines: list[str], *more: Measured) -> Subject:
    found = read(*lines)
    asked = [Asked(2, key, value) for key, value in found.workload.items()]
    return subject(name, None, None, *(Measured(2, metric) for metric in found.metrics), *more, *asked)


def told(a: list[str], b: list[str], *more: Measured) -> Arithmetic:
    found = explained(side("A", a, *more), side("B", b, *more)).arithmetic
    assert found is not None
    return found


def shares(found: Arithmetic) -> dict[str, float]:
    return {factor.name: round(factor.share or 0, 1) for factor in found.factors if not factor.part_of}


def test_the_cycle_grew_and_the_accept_length_is_equal() -> None:
    verdicts = {metric.name: metric.verdict for metric in explained(side("A", THURSDAY), side("B", FRIDAY)).metrics}
    assert verdicts["gen_throughput"] == verdicts["cycle_ms"] == "worse"
    assert verdicts["accept_length"] == "same"
    found = told(THURSDAY, FRIDAY)
    assert shares(found) == {"accept_length": 0.0, "cycle": 1.0}
    assert found.contradictions == ()


def test_the_accept_length_fell_and_the_cycle_is_equal() -> None:
    verdicts = {
        metric.name: metric.verdict for metric in explained(side("A", THURSDAY), side("B", OTHER_TEXTS)).metrics
    }
    assert verdicts["gen_throughput"] == verdicts["accept_length"] == "worse"
    assert verdicts["cycle_ms"] == "same"
    assert shares(told(THURSDAY, OTHER_TEXTS)) == {"accept_length": 1.0, "cycle": 0.0}


def test_a_log_without_speculation_gives_the_break_even() -> None:
    (even,) = told(PLAIN, FRIDAY).break_even
    assert even.accept_length == pytest.approx(82 * 2 / 60, rel=0.03)
    assert even.margin is not None
    assert even.margin < -0.2


def of_eight(lines: list[str]) -> list[str]:
    return [line.replace("#running-req: 1,", "#running-req: 8,") for line in lines]


def test_of_many_streams_it_is_reckoned_for_each() -> None:
    found = told(of_eight(THURSDAY), of_eight(FRIDAY))
    assert shares(found) == {"accept_length": 0.0, "cycle": 1.0}
    assert found.says[0].startswith("Of throughput of each stream x 0.64: cycle_ms 100 %")
    assert found.contradictions == ()
    assert shares(told(of_eight(THURSDAY), of_eight(OTHER_TEXTS))) == {"accept_length": 1.0, "cycle": 0.0}
    (even,) = told(of_eight(PLAIN), of_eight(FRIDAY)).break_even
    assert even.accept_length == pytest.approx(82 * 2 / 60, rel=0.03)


def test_beside_many_streams_a_client_s_numbers_are_those_of_all_and_left_out() -> None:
    client = [
        Measured(2, Metric("output_throughput", "tok/s", "higher", (50.0,), "sglang-bench-serving, output_throughput")),
        Measured(2, Metric("tpot", "ms", "lower", (190.0,), "sglang-bench-serving, tpot")),
    ]
    found = told(of_eight(THURSDAY), of_eight(FRIDAY), *client)
    assert {name for name in ("output_throughput", "tpot") if any(name in it for it in found.identities)} == set()
    assert found.contradictions == ()


def test_a_run_that_served_fewer_streams_gives_no_break_even() -> None:
    found = told(PLAIN, of_eight(FRIDAY))
    assert found.break_even == ()


def test_beside_the_result_of_a_client_the_log_tells_the_cycle() -> None:
    """The client's throughput holds prompts and ends; both tell one."""
    client = [
        Measured(2, Metric("output_throughput", "tok/s", "higher", (50.0,), "sglang-bench-serving, output_throughput")),
        Measured(2, Metric("tpot", "ms", "lower", (11.0,), "sglang-bench-serving, tpot")),
    ]
    found = told(THURSDAY, FRIDAY, *client)
    assert shares(found) == {"accept_length": 0.0, "cycle": 1.0}
    assert any("gen_throughput" in identity for identity in found.identities)


@pytest.mark.long
def test_two_runs_of_a_command_that_writes_a_log_tell_it(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "FINGERPRINT_STORE": str(tmp_path / "store.db"), "PATH": "/usr/bin:/bin"}

    def fingerprint(*args: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "fingerprint", *args]
        return subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    writes = ("sh", "-c", 'cat "$FILE" >> server.log')
    for name, lines in (("thursday", THURSDAY), ("friday", FRIDAY)):
        env["FILE"] = str(written(tmp_path / f"{name}.log", lines))
        done = fingerprint("run", "--name", name, "--metrics", "auto:server.log", "--", *writes)
        assert (done.returncode, done.stderr) == (0, f"fingerprint: recorded {name} (see: fingerprint show {name})\n")
    diff = fingerprint("diff", "thursday", "friday")
    assert "the same: accept_length" in diff.stdout
    assert next(line for line in diff.stdout.splitlines() if line.startswith("  cycle_ms ")).endswith("  worse")
    wrong = fingerprint("run", "--metrics", "vllm-log:server.log", "--", *writes)
    assert "server.log is for sglang-log, not for vllm-log" in wrong.stderr
