"""Whatever a log holds, its reader finds metrics that can be stored or says in one sentence why not."""

import math
import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fingerprint.metrics.found import NothingRead
from fingerprint.metrics.logs import LOGS, named
from fingerprint.metrics.source import Source
from tests.metrics.logs import test_llama_cpp, test_prometheus, test_tensorrt_llm, test_vllm
from tests.metrics.logs.texts import decode, drafts, engine, metrics, prefill, read, sglang_log, sglang_start

WHOLE = [
    *sglang_log([90.0, 91.0], [2.0, 2.1]), prefill(1, speed=9.0), prefill(2, speed=9.0),
    test_vllm.start(), engine(9.0), drafts(2.0, 5, 10), engine(9.0), drafts(2.0, 5, 10),
    *test_llama_cpp.START, *test_llama_cpp.timings(1, (10, 5), (100, 10)),
    *test_tensorrt_llm.START, test_tensorrt_llm.step(12.0), test_tensorrt_llm.step(12.0),
]  # fmt: skip
NUMBERS = st.sampled_from(["", "nan", "inf", "-1", "9" * 400, "1e999", "0", "0.00", "1.2.3", "٣", "None"])


def check(data: bytes) -> None:
    for reader in LOGS:
        try:
            found = named(reader).read(Source("log", data))
        except NothingRead as refused:
            assert "\n" not in str(refused)  # noqa: PT017
            continue
        assert found.metrics
        msgspec.json.encode([found.metrics, found.workload, found.remarks])
        assert all(math.isfinite(value) and value >= 0 for metric in found.metrics for value in metric.samples)


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_any_number_may_be_any_text(data: st.DataObject) -> None:
    lines = "\n".join(data.draw(st.lists(st.sampled_from(WHOLE), max_size=5)))
    text = re.sub(r"\d+(?:\.\d+)?", lambda found: data.draw(NUMBERS | st.just(found[0])), lines)
    check(text.encode())


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(WHOLE), st.integers(0, 300), st.binary(max_size=8)), max_size=12))
def test_any_line_may_be_cut_and_go_on_with_anything(cut: list[tuple[str, int, bytes]]) -> None:
    check(b"\n".join(line[:at].encode() + more for line, at, more in cut))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(test_prometheus.vllm(100, 150, 20, 3.0)), max_size=12), NUMBERS)
def test_any_line_of_a_scrape_may_be_missing(lines: list[str], number: str) -> None:
    check("\n".join([*lines, f"vllm:num_requests_running {number}"]).encode())


def test_an_argument_that_does_not_end_is_read_in_time() -> None:
    start = sglang_start(more=", chat_template='" + "\\'" * 100_000)
    assert metrics(read(start, decode(90.0), decode(91.0)))["gen_throughput"].samples == (91.0,)


@pytest.mark.parametrize("reader", LOGS)
def test_nothing_at_all_is_refused(reader: str) -> None:
    with pytest.raises(NothingRead):
        named(reader).read(Source("log", b""))
