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


def test_of_a_log_of_two_engines_each_is_read_by_its_name_and_what_is_not_read_is_said() -> None:
    told = source(*sglang_log([90.0, 91.0], [2.0, 2.0]), engine(8.0), engine(9.0))
    found = formats.read(told)
    assert samples(found, "gen_throughput") == (90.0, 91.0)
    assert (
        "server.log holds a log for vllm-log too, of which nothing was read; say vllm-log:server.log" in found.remarks
    )
    assert samples(formats.read(told, "vllm-log"), "generation_throughput") == (9.0,)


def test_of_an_engine_that_only_started_in_the_log_of_another_nothing_is_said() -> None:
    told = source(*sglang_log([90.0, 91.0], [2.0, 2.0]), "INFO 11-01 10:00:00 vLLM API server version 0.11.0")
    assert not any("vllm-log" in remark for remark in formats.read(told).remarks)


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


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_log_with_a_mark_of_its_encoding_is_read_and_only_what_was_added_counts(
    tmp_path: Path, encoding: str
) -> None:
    path = tmp_path / "server.log"
    path.write_text("\n".join([*sglang_log([70.0, 71.0], [2.0, 2.0]), ""]), encoding)
    assert samples(formats.read(load(str(path))), "gen_throughput") == (70.0, 71.0)
    known = before(str(path), time.time_ns())
    added = "".join(f"{decode(speed, 2.0)}\n" for speed in (80.0, 81.0))
    with path.open("ab") as log:
        log.write(added.encode({"utf-16": "utf-16-le"}.get(encoding, "utf-8")))
    assert samples(formats.read(ours(known)), "gen_throughput") == (80.0, 81.0)


def test_a_log_in_utf_16_that_is_too_long_to_be_held_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fingerprint.metrics.source.LARGEST", 64)
    (tmp_path / "server.log").write_text(f"{decode(90.0)}\n", "utf-16")
    with pytest.raises(NothingRead, match="UTF-16, .* iconv -f UTF-16 -t UTF-8"):
        formats.read(load(str(tmp_path / "server.log")))


def test_of_a_log_that_the_command_writes_only_what_it_added_counts(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    known = before(str(written(path, sglang_log([70.0, 71.0], [2.0, 2.0]))), time.time_ns())
    with path.open("a") as log:
        log.writelines(f"{decode(speed, 2.0)}\n" for speed in (80.0, 81.0))
    assert samples(formats.read(ours(known)), "gen_throughput") == (80.0, 81.0)
    written(path, sglang_log([90.0, 91.0, 92.0, 93.0, 94.0], [2.0] * 5))
    assert samples(formats.read(ours(known)), "gen_throughput") == (90.0, 91.0, 92.0, 93.0, 94.0)
