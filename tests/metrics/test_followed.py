"""Logs and results that servers and clients write which a run did not start: what was written meanwhile counts."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from fingerprint.metrics.collect import Expected, Output, collect, expect_of_others
from fingerprint.metrics.found import Found
from fingerprint.metrics.wanted import wanted
from fingerprint.trouble import Trouble
from tests.e2e.conftest import Cli
from tests.metrics.logs.texts import decode, samples, sglang_start

EARLIER = [sglang_start(), *(decode(50.0) for _ in range(4))]
MEANWHILE = [decode(speed) for speed in (91.0, 92.0, 93.0)]


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def add(name: str, lines: Iterable[str]) -> None:
    with open(name, "a") as file:
        file.writelines(f"{line}\n" for line in lines)


def begun() -> tuple[Expected, ...]:
    add("server.log", EARLIER)
    return expect_of_others(wanted(["auto:server.log"]))


def ended(expected: tuple[Expected, ...]) -> Found:
    return collect(expected, Output())


def test_of_a_log_what_was_added_counts_and_the_start_tells_of_the_server() -> None:
    expected = begun()
    add("server.log", MEANWHILE)
    found = ended(expected)
    assert samples(found, "gen_throughput") == (91.0, 92.0, 93.0)
    assert found.workload["sglang/model"] == "org/model"
    assert not [remark for remark in found.remarks if "during the run" in remark]


def test_a_log_that_was_renamed_while_its_writer_went_on_is_followed() -> None:
    expected = begun()
    os.rename("server.log", "server.log.1")
    add("server.log.1", MEANWHILE)
    found = ended(expected)
    assert samples(found, "gen_throughput") == (91.0, 92.0, 93.0)
    assert "server.log was renamed to ./server.log.1 during the run: what was added there counts" in found.remarks


def test_of_a_log_that_another_took_the_place_of_the_new_one_counts_and_that_is_said() -> None:
    expected = begun()
    add("server.log", MEANWHILE[:1])
    os.rename("server.log", "server.log.1")
    add("server.log", [decode(70.0), *(decode(80.0) for _ in range(5))])
    found = ended(expected)
    assert samples(found, "gen_throughput") == (80.0,) * 5
    assert found.remarks[-1] == (
        "server.log is another file than when the run began: what it holds counts, what was added to ./server.log.1 "
        "does not"
    )


@pytest.mark.parametrize("lines", [3, 30])
def test_of_a_log_that_was_copied_and_cut_off_what_it_holds_counts_and_that_is_said(lines: int) -> None:
    """Also where it is longer than it was."""
    expected = begun()
    add("server.log", MEANWHILE)
    shutil.copyfile("server.log", "server.log.1")
    os.truncate("server.log", 0)
    add("server.log", (decode(80.0) for _ in range(lines)))
    found = ended(expected)
    assert set(samples(found, "gen_throughput")) == {80.0}
    assert found.remarks[-1] == "server.log was cut off during the run: what it holds now counts"


def test_a_log_that_begins_as_a_list_does_is_one() -> None:
    step = (
        "[TRT-LLM] [I] iter = {0}, global_rank = 0, rank = 0, currank_total_requests = 0/0, host_step_time = 9.{0}ms, "
        "num_scheduled_requests: 1, states = {{'num_ctx_requests': 0, 'num_ctx_tokens': 0, 'num_generation_tokens': 1}}"
    )
    add("server.log", (step.format(at) for at in range(4)))
    expected = expect_of_others(wanted(["auto:server.log"]))
    os.truncate("server.log", 0)
    add("server.log", (step.format(at) for at in range(4, 7)))
    assert ended(expected).remarks[-1] == "server.log was cut off during the run: what it holds now counts"


def test_what_metrics_answered_is_written_anew_and_no_log_that_was_cut_off() -> None:
    scrape = "# HELP vllm:generation_tokens_total x\n# TYPE vllm:generation_tokens_total counter\n"
    Path("metrics.txt").write_text(f"{scrape}vllm:generation_tokens_total 100\n")
    expected = expect_of_others(wanted(["auto:metrics.txt"]))
    Path("metrics.txt").write_text(f"{scrape}vllm:generation_tokens_total 900\n")
    found = ended(expected)
    assert found.troubles == ()
    assert not [remark for remark in found.remarks if "cut off" in remark]


def test_a_log_that_nobody_wrote_gives_nothing() -> None:
    found = ended(begun())
    assert found.metrics == ()
    assert "server.log is of an earlier run" in found.troubles[0]


def test_a_log_that_went_away_gives_nothing() -> None:
    expected = begun()
    os.unlink("server.log")
    assert "server.log was not written during the run" in ended(expected).troubles[0]


@pytest.mark.parametrize("text", ["auto", "auto:-", "regex:speed ([0-9]+)"])
def test_what_a_server_prints_is_not_heard(text: str) -> None:
    with pytest.raises(Trouble, match="is not heard; name the file that it goes to"):
        expect_of_others(wanted([text]))


def test_between_begin_and_end_a_server_s_log_and_a_client_s_result_are_read(tmp_path: Path) -> None:
    fingerprint = Cli(tmp_path)
    add("server.log", EARLIER)
    with subprocess.Popen(["sleep", "100"]) as server:
        wants = ("--metrics", "auto:server.log", "--metrics", "client=json:result.json#ttft_ms")
        fingerprint("begin", "--pid", str(server.pid), "--name", "a", *wants)
        add("server.log", MEANWHILE)
        Path("result.json").write_text('{"ttft_ms": [31.0, 30.5]}')
        fingerprint("end", "a")
        refused = fingerprint("begin", "--pid", str(server.pid), "--name", "b", "--metrics", "auto", status=2)
        server.kill()
    assert "is not heard" in refused.stderr
    metrics = json.loads(fingerprint("show", "a", "--format", "json").stdout)["metrics"]
    assert metrics["gen_throughput"]["samples"] == [91.0, 92.0, 93.0]
    assert metrics["client"]["samples"] == [31.0, 30.5]
