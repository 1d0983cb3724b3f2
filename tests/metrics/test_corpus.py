"""Result files of serving benchmarks that others wrote: FINGERPRINT_CORPUS names the folder."""

import os
from pathlib import Path

import pytest

from fingerprint.metrics import formats, jsonfile
from fingerprint.metrics.found import NothingRead
from fingerprint.metrics.source import load
from fingerprint.metrics.wanted import wanted

CORPUS = Path(os.environ.get("FINGERPRINT_CORPUS", "/nonexistent"))
BENCH = next((path for path in (CORPUS / "raw/bench", CORPUS / "bench") if path.is_dir()), None)
pytestmark = pytest.mark.skipif(BENCH is None, reason="FINGERPRINT_CORPUS names no folder with bench/")


def test_no_serving_result_is_taken_for_a_known_format() -> None:
    assert BENCH is not None
    for path in sorted(BENCH.iterdir()):
        with pytest.raises(NothingRead, match="not recognised") as caught:
            formats.read(load(str(path)))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "path", "count", "unit", "better"),
    [
        ("llama-bench_brayniac.json", "[0].samples_ts,unit=tok/s", 5, "tok/s", "higher"),
        ("aiperf_qwen_concurrency1_profile_export.jsonl", "metrics.request_latency.value", 10, "ms", "lower"),
        ("aiperf_qwen_concurrency2_profile_export_aiperf.json", "request_latency.avg", 1, "ms", "lower"),
        ("sglang_h200_llama_3_3_70b_offline_output.jsonl", "median_ttft_ms", 7, "ms", "lower"),
        ("sglang_local_result.jsonl", "prefill_throughput", 2, "", "higher"),
        ("faradawn_3_trtllm_pytorch_concurrency_8.json", "output_throughput", 1, "", "higher"),
        ("inferencex_glm-5_glm5_fp8_vllm_tp8_isl10240_osl128_conc16.json", "p99_ttft", 1, "", "unknown"),
    ],
)
def test_a_path_reads_serving_results(file: str, path: str, count: int, unit: str, better: str) -> None:
    assert BENCH is not None
    one = wanted([f"json:{BENCH / file}#{path}"])[0]
    metric = jsonfile.read(load(one.file), one).metrics[0]
    assert (len(metric.samples), metric.unit, metric.better) == (count, unit, better)
