"""Result files of serving benchmarks that others wrote: FINGERPRINT_CORPUS names the folder."""

import os
from collections import Counter
from pathlib import Path

import pytest

from fingerprint.metrics import formats, jsonfile
from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.source import load
from fingerprint.metrics.wanted import wanted

CORPUS = Path(os.environ.get("FINGERPRINT_CORPUS", "/nonexistent"))
BENCH = next((path for path in (CORPUS / "raw/bench", CORPUS / "bench") if path.is_dir()), None)
RESULTS = [path for kind in ("bench", "nccl") if BENCH for path in sorted((BENCH.parent / kind).glob("*"))]
pytestmark = pytest.mark.skipif(BENCH is None, reason="FINGERPRINT_CORPUS names no folder with bench/")


FLOORS = {
    "aiperf": (3, 35), "genai-perf": (9, 60), "guidellm": (1, 28), "inferencex": (8, 80), "llama-bench": (7, 30),
    "nccl-tests": (3, 60), "sglang-bench-one-batch": (1, 12), "sglang-bench-serving": (10, 150),
    "trtllm-bench": (3, 5), "vllm-bench-serve": (8, 70),
}  # fmt: skip


def _read(path: Path) -> Found | str:
    try:
        return formats.read(load(str(path)))
    except NothingRead as refused:
        return str(refused)


def test_every_result_is_read_or_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """Of each client at least so many files, and metrics that have a value."""
    files: Counter[str] = Counter()
    metrics: Counter[str] = Counter()
    for path in RESULTS:
        found = _read(path)
        if isinstance(found, str):
            assert found.isprintable()
            files["refused"] += 1
            continue
        client = found.metrics[0].source.partition(",")[0]
        files[client] += 1
        metrics[client] += sum(not metric.gap for metric in found.metrics)
    with capsys.disabled():
        print("\nclients' results:", {client: (files[client], metrics[client]) for client in sorted(files)})
    assert {client for client, floor in FLOORS.items() if (files[client], metrics[client]) < floor} == set()


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
