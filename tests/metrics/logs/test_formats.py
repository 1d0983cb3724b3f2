"""A log is told by its content, among the results of clients."""

import json

import pytest

from fingerprint.metrics import formats
from fingerprint.metrics.found import NothingRead
from fingerprint.metrics.source import Source, load
from tests.metrics.logs.texts import decode, drafts, engine, samples, sglang_log, source
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
