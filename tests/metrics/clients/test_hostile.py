"""Whatever stands in a client's result, it is read or refused in one sentence, and no number is made up."""

import copy
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fingerprint.metrics import Metric, formats
from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.source import Source
from tests.metrics.clients import test_bandwidths as bandwidths
from tests.metrics.clients import test_batches as batches
from tests.metrics.clients import test_llama_bench as llama_bench
from tests.metrics.clients import test_perf_exports as exports
from tests.metrics.clients import test_serving as serving
from tests.metrics.clients import test_trtllm_bench as trtllm
from tests.metrics.clients.told import of_json
from tests.metrics.test_hostile import places, values

TEXTS = {
    "sglang": serving.SGLANG, "vllm": serving.VLLM, "offline": serving.OFFLINE, "one-batch": batches.ONE_BATCH,
    "server": batches.SERVER, "csv": exports.CSV, "table": exports.TABLE, "llama": llama_bench.TABLE,
    "sweep": llama_bench.SWEEP, "old": trtllm.OLD, "new": trtllm.NEW, "nvbandwidth": bandwidths.MATRICES,
    "nccl": bandwidths.SETTINGS + bandwidths.TITLE + bandwidths.ROWS + bandwidths.END,
}  # fmt: skip
DOCUMENTS: dict[str, Any] = {
    "vllm": {**serving.VLLM_FILE, "ttfts": [0.1, 0.2], "itls": [[0.1], [0.2]], "errors": ["", ""]},
    "sglang": serving.SGLANG_LINE, "export": exports.EXPORT, "request": [exports.record(31.7), exports.record(31.3)],
    "guidellm": {"metadata": {}, "config": {"spec": {"data": [{}]}}, "benchmarks": [exports.guidellm(2.0)]},
    "llama": [llama_bench.RECORD],
    "latency": {"avg_latency": 1.5, "latencies": [1.0, 2.0], "percentiles": {"50": 1.5}},
    "trtllm": {"performance": {"total_latency_ms": 1.0, "request_throughput_req_s": 2.0,
                               "request_latency_percentiles_ms": {"p50": 1.0}},
               "streaming_metrics": {"avg_ttft_ms": 2.0}},
    "nvbandwidth": {"nvbandwidth": {"version": "v0.8", "testcases": [
        {"name": "a", "status": "Passed", "bandwidth_matrix": [["1.0", "N/A"]], "bandwidth_description": "x (GB/s)"}]}},
}  # fmt: skip
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?")


def read(data: bytes) -> Found | str:
    try:
        return formats.read(Source("out", data))
    except NothingRead as refused:
        return str(refused)


def numbers(text: str) -> set[float]:
    return {float(number.replace(",", "")) for number in _NUMBER.findall(text)}


def told(metric: Metric) -> set[float]:
    """But the statistics that are computed here."""
    summary = metric.summary
    if not summary:
        return set(metric.samples)
    return {it for it in (*summary.quantiles.values(), summary.min, summary.max) if it is not None}


@pytest.mark.parametrize("name", [name for name in TEXTS if name != "nvbandwidth"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_of_a_text_that_is_cut_anywhere_each_number_read_stood_whole_in_it(name: str, data: st.DataObject) -> None:
    text = TEXTS[name]
    found = read(text[: data.draw(st.integers(0, len(text)))].encode())
    if isinstance(found, Found):
        assert set().union(*map(told, found.metrics)) <= numbers(text) | {0.0}


@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_word_replaced_by_anything_is_read_or_refused(name: str, data: st.DataObject) -> None:
    words = re.split(r"(\s+)", TEXTS[name])
    at = data.draw(st.integers(0, len(words) - 1))
    words[at] = data.draw(
        st.sampled_from(["nan", "-inf", "1e999", "-1", "|", "", ",", "9" * 400, "\x1b[31m", "²", "\x00"])
    )
    found = read("".join(words).encode())
    assert found.isprintable() if isinstance(found, str) else found.metrics


@pytest.mark.parametrize("name", DOCUMENTS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_member_replaced_by_anything_is_read_or_refused(name: str, data: st.DataObject) -> None:
    document = copy.deepcopy(DOCUMENTS[name])
    container, key = data.draw(st.sampled_from(list(places(document))), label="place")
    container[key] = data.draw(values)
    found = read(msgspec.json.encode(document))
    assert found.isprintable() if isinstance(found, str) else found.metrics


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_document_is_read_as_it_is(name: str) -> None:
    assert of_json(DOCUMENTS[name]).metrics


@pytest.mark.parametrize("name", TEXTS)
def test_a_large_log_around_a_result_costs_no_minute(name: str) -> None:
    log = "2026-01-02 03:04:05 INFO worker 3: step 17 took 12.5 ms\n" * 5_000
    assert read((log + TEXTS[name] + log).encode()) == read(TEXTS[name].encode())
