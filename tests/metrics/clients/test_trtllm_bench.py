"""trtllm-bench's report, printed and as JSON."""

from tests.metrics.clients.told import of_json, of_text, one, values

OLD = """
===========================================================
= ENGINE DETAILS
===========================================================
Model:                  meta-llama/Llama-3.1-405B
TensorRT-LLM Version:   0.17.0.post1
Quantization:           FP8
===========================================================
= WORLD + RUNTIME INFORMATION
===========================================================
TP Size:                8
EP Size:                None
Max Runtime Batch Size: 4096
Issue Rate (req/sec):   3.1860E+14
===========================================================
= PERFORMANCE OVERVIEW
===========================================================
Number of requests:             30000
Average Input Length (tokens):  128.0000
Token Throughput (tokens/sec):  3914.4509
Request Throughput (req/sec):   30.5816
Total Latency (ms):             980980.5121
"""
NEW = """
= PYTORCH BACKEND
Model:\t\t\tm
= REQUEST DETAILS
Number of requests:             1000
Number of concurrent requests:  985.9849
= PERFORMANCE OVERVIEW
Request Throughput (req/sec):                     12.5
Total Output Throughput (tokens/sec):             1,600.25
Total Token Throughput (tokens/sec):              3200.5
Total Latency (ms):                               80000.0
Average request latency (ms):                     790.5
Per User Output Throughput [w/ ctx] (tps/user):   161.9
Per User Output Speed [1/TPOT] (tokens/sec/user): 170.5
Per GPU Output Throughput (tps/gpu):              400.06
Average time-to-first-token [TTFT] (ms):          20.5

-- Request Latency Breakdown (ms) -----------------------

[Latency] P50    : 780.25
[Latency] P99    : 990.75
[Latency] MINIMUM: 500.0
[Latency] MAXIMUM: 999.0
[Latency] AVERAGE: 790.5
[TTFT] P50       : 19.5
[TTFT] P99       : 40.5
= DATASET DETAILS
Number of Sequences:  1000
        Input              Output           Seq. Length
P50:   128.0000           128.0000           256.0000
"""


def test_a_report_of_old() -> None:
    found = of_text(OLD)
    assert values(found) == {"request_throughput": 30.5816, "output_throughput": 3914.4509, "duration": 980980.5121}
    assert {key.partition("/")[2]: it for key, it in found.workload.items()} == {
        "model": "meta-llama/Llama-3.1-405B", "quantization": "FP8", "tp_size": 8, "max_batch_size": 4096,
        "num_requests": 30000, "avg_input_length": 128.0,
    }  # fmt: skip


def test_a_report_with_latencies() -> None:
    found = of_text(NEW)
    assert values(found) == {
        "request_throughput": 12.5, "output_throughput": 1600.25, "total_throughput": 3200.5, "duration": 80000.0,
        "output_throughput_per_user": 161.9, "output_throughput_per_gpu": 400.06, "achieved_concurrency": 985.9849,
        "e2e_latency": 780.25, "ttft": 19.5, "decode_speed_per_user": 170.5,
    }  # fmt: skip
    latency = one(found, "e2e_latency").summary
    assert latency
    assert (latency.count, latency.mean, latency.min, latency.max) == (1000, 790.5, 500.0, 999.0)
    assert latency.quantiles == {"99": 990.75}
    assert found.workload == {"trtllm-bench/model": "m", "trtllm-bench/num_requests": 1000}


def test_a_json_report_tells_the_same() -> None:
    report = {
        "engine": {"model": "m", "version": "1.2"},
        "request_info": {"num_requests": 1000, "avg_num_concurrent_requests": 985.9849},
        "performance": {
            "request_throughput_req_s": 12.5, "system_output_throughput_tok_s": 1600.25, "total_latency_ms": 80000.0,
            "system_total_throughput_tok_s": 3200.5, "output_throughput_per_user_tok_s": 161.9,
            "output_throughput_per_gpu_tok_s": 400.06,
            "request_latency_percentiles_ms": {
                "p50": 780.25, "p99": 990.75, "minimum": 500.0, "maximum": 999.0, "average": 790.5
            },
        },
        "streaming_metrics": {"token_output_speed_tok_s": 170.5, "avg_ttft_ms": 20.5,
                              "ttft_percentiles": {"p50": 19.5, "p99": 40.5}},
    }  # fmt: skip
    assert of_json(report).metrics == tuple(it for it in _as_json(of_text(NEW).metrics))
    assert of_json(report).workload == of_text(NEW).workload


def _as_json(metrics: tuple) -> list:  # type: ignore[type-arg]
    import msgspec

    return [msgspec.structs.replace(metric, file="out.json") for metric in metrics]


def test_two_reports_are_two_benchmarks() -> None:
    found = of_text(f"{OLD}\n{OLD.replace('30000', '60000')}")
    assert found.workload["trtllm-bench/benchmarks"] == ("num_requests=30000", "num_requests=60000")
