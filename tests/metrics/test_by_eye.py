"""What readers make of results and logs of FINGERPRINT_CORPUS is what a person reads in them: two files of each format,
where there are two. Logs of engines stand in logs/test_corpus.py."""

import os
from pathlib import Path

import pytest

from fingerprint.metrics import Metric, formats
from fingerprint.metrics.source import load

RAW = Path(os.environ.get("FINGERPRINT_CORPUS", "/nonexistent")) / "raw"
pytestmark = pytest.mark.skipif(
    not (RAW / "bench").is_dir(), reason="FINGERPRINT_CORPUS names no folder with raw/bench/"
)
# By client and file: of each metric the single number or the median, behind a blank another statistic.
SEEN = {
    "sglang-bench-serving": {
        "bench/vx_sglang_5980_bench.txt": {
            "request_throughput": 0.05, "input_throughput": 31.37, "output_throughput": 103.28, "accept_length": 2.83,
            "e2e_latency": 24543.22, "ttft mean": 276.51, "ttft 99": 586.01, "itl 95": 14.76,
        },
        "bench/vx_sglang_6411_1_bench.txt": {
            "output_throughput": 3326.07, "total_throughput": 13805.75, "duration": 1600.93, "output_tokens": 5324800,
            "achieved_concurrency": 561.68, "ttft": 19459.66, "itl 99": 292.58,
        },
        "bench/sglang_h200_llama_3_3_70b_offline_output.jsonl": {
            "dataset_name=random, random_input_len=1024, random_output_len=1024/output_throughput": 4520.698730654741,
            "dataset_name=random, random_input_len=1024, random_output_len=512/ttft": 114572.18416058458,
        },
    },
    "sglang-bench-one-batch": {
        "bench/sglang_local_result.jsonl": {
            "input_len=256, output_len=32/prefill": 0.1867663860321045,
            "input_len=256, output_len=32/decode_step": 0.00800180435180664,
            "input_len=1349, output_len=79/decode_throughput": 3308.2999260537345,
            "input_len=1349, output_len=79/e2e_latency": 1.79437255859375,
        },
    },
    "vllm-bench-serve": {
        "bench/vx_vllm_6885_bench.txt": {
            "request_throughput": 4.51, "output_throughput": 509.82, "input_tokens": 26322, "ttft": 40.54,
            "tpot mean": 41.22, "tpot 99": 133.82, "itl": 59.69,
        },
        "bench/faradawn_4_trtllm_engine_concurrency_8.json": {
            "output_throughput": 1110.0341885410182, "total_throughput": 1387.5427356762727,
            "duration": 18.449882185086608, "ttft mean": 138.7468216184061, "tpot": 6.3527903053453905,
            "itl 99": 11.042814969550838, "e2e_latency": 3312.4140985310078,
        },
    },
    "genai-perf": {
        "bench/genaiperf_12_genai-perf_docs_tutorial.txt": {
            "ttft mean": 22.04, "ttft 99": 25.73, "tpot 90": 5.11, "e2e_latency mean": 542.48,
            "output_length 75": 118.5, "output_throughput": 212.04, "request_throughput": 1.84,
        },
        "bench/genaiperf_4_genai-perf_docs_goodput.txt": {
            "ttft mean": 78.10, "tpot mean": 19.32, "e2e_latency mean": 6740.76, "e2e_latency 99": 8929.88,
            "output_throughput": 51.20, "request_goodput": 0.12,
        },
    },
    "aiperf": {
        "bench/aiperf_qwen_concurrency2_profile_export_aiperf.json": {
            "request_throughput": 0.5033347244269587, "e2e_latency": 3721.5073614999997,
            "ttft mean": 36.455307999999995, "ttft 99": 48.715819879999955,
            "time_to_second_token": 18.756750999999998, "completed_requests": 64,
        },
        "bench/aiperf_qwen_concurrency1_profile_export.jsonl": {
            "ttft": (31.274151999999997 + 31.578170999999998) / 2,
            "e2e_latency": (3635.8795149999996 + 3639.471533) / 2, "output_length": 200, "input_length": 100,
        },
    },
    "guidellm": {
        "bench/guidellm_report_v2.json": {
            "rate=2.0/request_throughput": 0.39843430656414264, "rate=2.0/ttft": 11.276006698608398,
        },
    },
    "inferencex": {
        "bench/inferencex_qwen3.5_qwen35_vllm_tp8_isl8192_osl128_conc8.json": {
            "output_throughput": 91.04244548777692, "ttft": 3.1440302948467433, "tpot 99": 0.11687898914564368,
            "e2e_latency": 9.112764973193407,
        },
        "bench/inferencex_minimax-m2.5_minimax_m25_vllm_tep8_isl8192_osl128_conc64.json": {
            "request_throughput": 1.9702586855463617, "input_throughput": 16140.359151995795,
            "duration": 324.8304421622306, "ttft 99": 30.418099609781056, "tpot": 0.11338141551754606,
        },
    },
    "llama-bench": {
        "bench/vx_llama-bench_5272.txt": {"pp512/prompt_throughput": 2.14, "tg128/throughput": 1.03},
        "bench/vx_llama-bench_9243.txt": {
            "pp512, model=gemma2 2B Q8_0, size=3.17 GiB, params=3.20 B, fa=1/prompt_throughput": 1487.45,
            "tg64, model=gemma2 9B Q8_0, size=10.05 GiB, params=10.16 B, fa=0/throughput": 30.29,
        },
    },
    "trtllm-bench": {
        "bench/gpurecipes_4_nference_a3ultra_single-host-serving_trtllm_README.txt": {
            "request_throughput": 30.5816, "output_throughput": 3914.4509, "duration": 980980.5121,
        },
        "bench/gpurecipes_6_ce_a4x_single-host-serving_tensorrt-llm-gcs_README.txt": {"achieved_concurrency": 985.9849},
    },
    "nccl-tests": {
        "nccl/oci_oke_1.txt": {
            "1073741824 B/time": 10887.4, "1073741824 B/in-place/busbw": 185.26, "8589934592 B/algbw": 101.12,
            "8589934592 B/busbw": 189.60, "8589934592 B/in-place/time": 84992.3, "out_of_bounds_values": 0,
        },
        "nccl/oci_trouble_1.txt": {
            "1073741824 B/algbw": 239.74, "4294967296 B/time": 17228, "4294967296 B/in-place/algbw": 249.34,
            "17179869184 B/busbw": 471.22,
        },
    },
}  # fmt: skip


def told(metric: Metric, statistic: str) -> float | None:
    if not statistic:
        return metric.typical
    assert metric.summary is not None
    return metric.summary.mean if statistic == "mean" else metric.summary.quantiles[statistic]


@pytest.mark.parametrize(("client", "file"), [(client, file) for client, files in SEEN.items() for file in files])
def test_values_are_those_that_the_result_shows(client: str, file: str) -> None:
    source = load(str(RAW / file))
    metrics = {metric.name: metric for metric in formats.read(source, client).metrics}
    for key, value in SEEN[client][file].items():
        name, statistic = (key, "") if key in metrics else (key.rpartition(" ")[0], key.rpartition(" ")[2])
        assert told(metrics[name], statistic) == pytest.approx(value), key
