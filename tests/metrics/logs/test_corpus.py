"""Logs of serving engines that others published: FINGERPRINT_CORPUS names the folder."""

import os
from collections import Counter
from pathlib import Path

import pytest

from fingerprint.metrics.found import NothingRead
from fingerprint.metrics.logs import recognise
from fingerprint.metrics.source import load
from tests.metrics.logs.texts import metrics

CORPUS = Path(os.environ.get("FINGERPRINT_CORPUS", "/nonexistent"))
LOGS = CORPUS / "raw/server-log"
pytestmark = pytest.mark.skipif(not LOGS.is_dir(), reason="FINGERPRINT_CORPUS names no folder with raw/server-log/")
# At the least: files, those with a metric, metrics with a value, samples.
FLOORS = {
    "sglang-log": (24, 13, 73, 1211),
    "vllm-log": (24, 15, 89, 2067),
    "llama-cpp-log": (1, 0, 0, 0),
    "tensorrt-llm-log": (1, 0, 0, 0),
}


def test_each_log_is_read_or_refused() -> None:
    counted: dict[str, Counter[str]] = {}
    for path in sorted(LOGS.iterdir()):
        source = load(str(path))
        chosen = recognise(source.head)
        assert chosen is not None, path.name
        totals = counted.setdefault(chosen.CLIENT, Counter())
        totals["files"] += 1
        try:
            told = metrics(chosen.read(source))
        except NothingRead:
            continue
        totals["read"] += 1
        totals["metrics"] += sum(not metric.gap for metric in told.values())
        totals["samples"] += sum(len(metric.samples) for metric in told.values())
    for client, totals in counted.items():
        print(client, dict(totals))
        assert all(has >= floor for has, floor in zip(_row(totals), FLOORS[client], strict=True)), (client, totals)


def _row(totals: "Counter[str]") -> tuple[int, ...]:
    return tuple(totals[name] for name in ("files", "read", "metrics", "samples"))


@pytest.mark.parametrize(
    ("file", "name", "count", "median"),
    [
        ("sglang_npu_qwen3_32b_bf16_8p_in18k_out4k_7ms.log", "gen_throughput", 59, 68.39),
        ("dgxspark_sglang_sglang-int4.log", "accept_length", 9, 2.59),
        ("vx_sglang_4305_1_sglang.log", "decode_step_ms", 39, 36.94),
        ("vllm_0.11.0_l4.log", "generation_throughput", 2, 268.5),
        ("vx_vllm_2621_vllm.log", "decode_step_ms", 8, 51.55),
        ("dgxspark_vllm_qwen36.log", "acceptance_length", 37, 3.3),
    ],
)
def test_values_are_those_that_the_log_shows(file: str, name: str, count: int, median: float) -> None:
    source = load(str(LOGS / file))
    chosen = recognise(source.head)
    assert chosen is not None
    told = metrics(chosen.read(source))[name]
    assert (len(told.samples), told.typical) == (count, pytest.approx(median, abs=0.01))


@pytest.mark.parametrize(
    ("file", "streams", "each"),
    [
        ("sglang_npu_deepseek_r1_w8a8_2p1d_32p_in3k5_out1k5_50ms_decode-0.log", 12, 31.24),
        ("dgxspark_sglang_sglang-int4.log", 2, 14.8),
        ("vx_sglang_4305_1_sglang.log", 6, 27.07),
    ],
)
def test_of_many_streams_each_gets_what_its_cycle_makes(file: str, streams: int, each: float) -> None:
    """The identity on which the arithmetic of several streams rests, of medians."""
    source = load(str(LOGS / file))
    chosen = recognise(source.head)
    assert chosen is not None
    found = chosen.read(source)
    told = {name: metric.typical or 0 for name, metric in metrics(found).items()}
    assert found.workload["sglang/streams"] == streams
    assert told["throughput_per_stream"] == pytest.approx(each, abs=0.01)
    cycle = told.get("cycle_ms") or told["decode_step_ms"]
    assert told["throughput_per_stream"] * cycle / 1000 == pytest.approx(told.get("accept_length", 1), rel=0.04)
