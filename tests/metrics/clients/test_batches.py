"""What the clients measured that start the engine themselves: a batch, or all requests at once."""

import pytest

from tests.metrics.clients.told import of_json, of_lines, of_text, one, values

ONE_BATCH = """
Warmup ...
Prefill. latency: 0.90000 s, throughput:   1.00 token/s
Decode 0. Batch size: 32, latency: 0.70000 s, throughput:     45.71 token/s
Decode.  median latency: 0.70000 s, median throughput:     45.71 token/s
Total. latency:  9.000 s, throughput:     1.00 token/s
Benchmark ...
Prefill. latency: 0.18677 s, throughput:  43862.28 token/s
Decode 0. Batch size: 32, latency: 0.00900 s, throughput:   3555.56 token/s
Decode.  median latency: 0.00800 s, median throughput:   3999.10 token/s
Total. latency:  0.438 s, throughput:  21061.97 token/s
"""
SERVER = """
batch size: 16
input_len: 1024
output_len: 16
latency: 2.35 s
input throughput: 9875.10 tok/s
output throughput: 372.20 tok/s
last_ttft: 1.66 s
last generation throughput: 311.40 tok/s
acc_length: 2.15
"""


def test_one_batch_without_its_warm_up() -> None:
    found = of_text(ONE_BATCH)
    assert values(found) == {
        "prefill": 0.18677, "prefill_throughput": 43862.28, "decode_step": 0.008, "decode_throughput": 3999.1,
        "e2e_latency": 0.438, "total_throughput": 21061.97,
    }  # fmt: skip
    assert one(found, "decode_step").unit == "s"


def test_one_batch_adds_a_line_for_each() -> None:
    line = {
        "run_name": "default", "batch_size": 32, "input_len": 256, "output_len": 32, "prefill_latency": 0.187,
        "prefill_throughput": 43862.3, "median_decode_latency": 0.008, "median_decode_throughput": 3999.1,
        "total_latency": 0.438, "overall_throughput": 21062.0,
    }  # fmt: skip
    found = of_lines(line, {**line, "input_len": 1349, "median_decode_latency": 0.00967})
    assert values(found)["input_len=1349/decode_step"] == 0.00967
    assert found.workload["sglang-bench-one-batch/batch_size"] == 32


def test_a_batch_sent_to_a_server() -> None:
    found = of_text(SERVER)
    assert values(found) == {
        "e2e_latency": 2.35, "last_ttft": 1.66, "input_throughput": 9875.1, "output_throughput": 372.2,
        "last_decode_throughput": 311.4, "accept_length": 2.15,
    }  # fmt: skip
    assert found.workload == {f"sglang-bench-one-batch/{key}": it for key, it in
                              (("batch_size", 16), ("input_len", 1024), ("output_len", 16))}  # fmt: skip


def test_what_a_server_did_not_tell_is_none() -> None:
    line = {
        "run_name": "a",
        "batch_size": 1,
        "input_len": 8,
        "output_len": 8,
        "latency": 1.0,
        "overall_throughput": 16.0,
    }
    assert values(of_json({**line, "acc_length": -1, "last_gen_throughput": -1})) == {
        "e2e_latency": 1.0,
        "total_throughput": 16.0,
    }


def test_vllm_latency() -> None:
    file = {"avg_latency": 1.5, "latencies": [1.0, 2.0], "percentiles": {"10": 1.1, "50": 1.5, "99": 1.99}}
    assert one(of_json(file), "e2e_latency").samples == (1.0, 2.0)
    text = "Avg latency: 1.5 seconds\n10% percentile latency: 1.1 seconds\n50% percentile latency: 1.6 seconds\n"
    summary = one(of_text(text), "e2e_latency").summary
    assert summary
    assert (summary.mean, summary.median, summary.quantiles) == (1.5, 1.6, {"10": 1.1})


@pytest.mark.parametrize("text", [
    "Throughput: 18.50 requests/s, 2400.00 total tokens/s, 900.00 output tokens/s",
    "INFO 01:02 \x1b[1mThroughput: 18.50 requests/s, 2,400.00 total tokens/s, 900.00 output tokens/s\x1b[0m",
])  # fmt: skip
def test_vllm_throughput(text: str) -> None:
    told = {"request_throughput": 18.5, "total_throughput": 2400.0}
    assert values(of_text(text)) == {**told, "output_throughput": 900.0}
    file = {"elapsed_time": 5.4, "num_requests": 100, "requests_per_second": 18.5, "tokens_per_second": 2400.0}
    found = of_json({**file, "total_num_tokens": 12960})
    assert values(found) == {**told, "duration": 5.4, "tokens": 12960}
    assert found.workload == {"vllm-bench-batch/num_requests": 100}
