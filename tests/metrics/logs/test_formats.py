"""A log is told by its content, among the results of clients."""

import json
import time
from pathlib import Path

import pytest

from fingerprint.metrics import formats
from fingerprint.metrics.found import NothingRead
from fingerprint.metrics.source import Source, load
from fingerprint.metrics.written import before
from fingerprint.metrics.written import written as ours
from tests.metrics.logs.texts import decode, drafts, engine, samples, sglang_log, source, written
from tests.metrics.results import FILES

SGLANG = source(*sglang_log([90.0, 91.0], [2.0, 2.0]))


@pytest.mark.parametrize("reader", ["auto", "sglang-log"])
def test_a_log_is_read_by_its_name_or_its_content(reader: str) -> None:
    found = formats.read(SGLANG, reader)
    assert samples(found, "gen_throughput") == (90.0, 91.0)
    assert {metric.file for metric in found.metrics} == {"server.log"}


def test_the_log_of_another_engine_is_refused_with_whose_it_is() -> None:
    with pytest.raises(NothingRead) as caught:
        formats.read(source(engine(9.0), drafts(2.0, 5, 10)), "sglang-log")
    assert str(caught.value) == (
        "server.log is for vllm-log, not for sglang-log; say vllm-log:server.log or auto:server.log"
    )


def test_a_result_that_is_no_log_is_refused_with_whose_it_is() -> None:
    with pytest.raises(NothingRead, match="is a result of hyperfine, not of vllm-log"):
        formats.read(load(str(FILES / "hyperfine.json")), "vllm-log")
    with pytest.raises(NothingRead, match=r"a value of other JSON, say json:out.json#PATH"):
        formats.read(Source("out.json", b'{"a": 1}'), "vllm-log")


def test_a_log_that_begins_like_none_is_read_by_its_name() -> None:
    noise = ["Loading weights: 100% | 4/4"] * 60_000
    told = source(*noise, decode(90.0), decode(91.0))
    assert samples(formats.read(told, "sglang-log"), "gen_throughput") == (91.0,)
    with pytest.raises(NothingRead, match="not recognised"):
        formats.read(told)


def test_a_container_s_log_of_json_lines_is_read() -> None:
    lines = [json.dumps({"log": f"{line}\n", "stream": "stdout"}) for line in sglang_log([90.0, 91.0], [2.0, 2.1])]
    found = formats.read(source(*lines))
    assert samples(found, "gen_throughput") == (90.0, 91.0)
    assert samples(found, "queued_requests") == (3.0, 3.0)
    assert found.workload["sglang/model"] == "org/model"


def test_a_log_in_which_nothing_ran_is_named() -> None:
    with pytest.raises(NothingRead, match=r"^server.log: SGLang's log tells of no batch that ran"):
        formats.read(source("server_args=ServerArgs(model_path='m')"))


def test_of_a_log_that_the_command_writes_only_what_it_added_counts(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    known = before(str(written(path, sglang_log([70.0, 71.0], [2.0, 2.0]))), time.time_ns())
    with path.open("a") as log:
        log.writelines(f"{decode(speed, 2.0)}\n" for speed in (80.0, 81.0))
    assert samples(formats.read(ours(known)), "gen_throughput") == (80.0, 81.0)
    written(path, sglang_log([90.0, 91.0, 92.0, 93.0, 94.0], [2.0] * 5))
    assert samples(formats.read(ours(known)), "gen_throughput") == (90.0, 91.0, 92.0, 93.0, 94.0)
