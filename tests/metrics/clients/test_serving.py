"""What the clients measured that send requests to a server, in text and JSON."""

import math

import msgspec
import pytest

from fingerprint.explain.arithmetic.crowd import crowd
from fingerprint.metrics import formats
from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.source import Source
from tests.metrics.clients.told import of_json, of_lines, of_text, one, values

SGLANG = """
============ Serving Benchmark Result ============
Backend:                                 sglang
Traffic request rate:                    inf
Max reqeuest concurrency:                1
Successful requests:                     10
Benchmark duration (s):                  194.49
Total input tokens:                      6101
Total generated tokens:                  20087
Total generated tokens (retokenized):    19972
Request throughput (req/s):              0.05
Input token throughput (tok/s):          31.37
Output token throughput (tok/s):         103.28
Total token throughput (tok/s):          134.65
Concurrency:                             1.00
Accept length:                           2.83
----------------End-to-End Latency----------------
Mean E2E Latency (ms):                   19445.69
Median E2E Latency (ms):                 24543.22
---------------Time to First Token----------------
Mean TTFT (ms):                          276.51
Median TTFT (ms):                        263.68
P99 TTFT (ms):                           586.01
---------------Inter-Token Latency----------------
Mean ITL (ms):                           9.55
Median ITL (ms):                         8.42
P95 ITL (ms):                            14.76
P99 ITL (ms):                            26.79
Max ITL (ms):                            34.22
==================================================
"""
VLLM = """
============ Serving Benchmark Result ============
Successful requests:                     100
Benchmark duration (s):                  22.18
Total input tokens:                      26322
Total generated tokens:                  11308
Request throughput (req/s):              4.51
Input token throughput (tok/s):          1186.73
Output token throughput (tok/s):         509.82
---------------Time to First Token----------------
Mean TTFT (ms):                          60.67
Median TTFT (ms):                        40.54
P99 TTFT (ms):                           307.82
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          41.22
Median TPOT (ms):                        32.68
P99 TPOT (ms):                           133.82
---------------Inter-token Latency----------------
Mean ITL (ms):                           67.36
Median ITL (ms):                         59.69
P99 ITL (ms):                            269.63
==================================================
"""
VLLM_FILE = {
    "date": "20251207-005340", "backend": "openai", "model_id": "llama-3-8b", "num_prompts": 7, "duration": 2.83,
    "completed": 5, "total_input_tokens": 640, "total_output_tokens": 2560, "request_throughput": 1.77,
    "request_goodput:": None, "output_throughput": 904.1, "total_token_throughput": 1130.12, "mean_ttft_ms": 72.49,
    "median_ttft_ms": 72.28, "std_ttft_ms": 0.9, "p99_ttft_ms": 73.93, "mean_tpot_ms": 5.388, "median_tpot_ms": 5.389,
    "std_tpot_ms": 0.003, "p99_tpot_ms": 5.392, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 8,
}  # fmt: skip
SGLANG_LINE = {
    "backend": "sglang", "dataset_name": "random", "request_rate": 8.0, "max_concurrency": None,
    "random_input_len": 1024,
    "total_input_tokens": 1525074, "total_output_tokens": 1544818, "total_output_tokens_retokenized": 1541296,
    "mean_e2e_latency_ms": 224918.8, "median_e2e_latency_ms": 243517.7, "median_ttft_ms": 91282.2,
    "median_itl_ms": 159.01, "output_throughput": 4520.7, "duration": 341.7, "completed": 3000,
}  # fmt: skip


def test_what_sglang_prints() -> None:
    found = of_text(SGLANG)
    assert values(found) == {
        "request_throughput": 0.05, "input_throughput": 31.37, "output_throughput": 103.28, "total_throughput": 134.65,
        "accept_length": 2.83, "duration": 194.49, "achieved_concurrency": 1.0, "completed_requests": 10,
        "input_tokens": 6101, "output_tokens": 20087, "e2e_latency": 24543.22, "ttft": 263.68, "itl": 8.42,
    }  # fmt: skip
    ttft, itl = one(found, "ttft").summary, one(found, "itl").summary
    assert ttft
    assert itl
    assert (ttft.count, ttft.mean, ttft.quantiles) == (10, 276.51, {"99": 586.01})
    assert (itl.count, itl.mean, itl.max, itl.quantiles) == (0, 9.55, 34.22, {"95": 14.76, "99": 26.79})
    assert found.workload == {
        "sglang-bench-serving/backend": "sglang",
        "sglang-bench-serving/request_rate": "inf",
        "sglang-bench-serving/max_concurrency": 1,
    }


def test_what_vllm_prints() -> None:
    found = of_text(VLLM)
    assert values(found) == {
        "request_throughput": 4.51, "input_throughput": 1186.73, "output_throughput": 509.82, "duration": 22.18,
        "completed_requests": 100, "input_tokens": 26322, "output_tokens": 11308, "ttft": 40.54, "tpot": 32.68,
        "itl": 59.69,
    }  # fmt: skip
    assert [(it.name, it.unit, it.better) for it in found.metrics][:4] == [
        ("request_throughput", "req/s", "higher"),
        ("input_throughput", "tok/s", "higher"),
        ("output_throughput", "tok/s", "higher"),
        ("duration", "s", "lower"),
    ]
    assert one(found, "tpot").source == "vllm-bench-serve, tpot"


def test_text_and_file_of_one_run_are_comparable() -> None:
    told = {**SGLANG_LINE, "completed": 10, "median_ttft_ms": 263.68}
    text, line = one(of_text(SGLANG), "ttft"), one(of_json(told), "ttft")
    assert (text.source, text.unit, text.typical) == (line.source, line.unit, line.typical)


def test_the_arguments_that_are_printed_are_workload_and_their_secrets_are_none() -> None:
    printed = (
        "Namespace(backend='sglang', seed=1, num_prompts=12, header=['a'], api_key='s3cret', random_input_len=32768)"
    )
    found = of_text(f"benchmark_args={printed}\n{SGLANG}")
    asked = {key.partition("/")[2]: value for key, value in found.workload.items()}
    assert asked == {
        "backend": "sglang", "request_rate": "inf", "max_concurrency": 1, "num_prompts": 12, "seed": 1,
        "random_input_len": 32768,
    }  # fmt: skip
    assert values(found)["failed_requests"] == 2


@pytest.mark.parametrize("told", [
    of_text(SGLANG.replace("concurrency:                1", "concurrency:                not set")),
    of_json(SGLANG_LINE),
    of_text(VLLM.replace("Benchmark duration", "Failed requests:     0\nBenchmark duration")),
])  # fmt: skip
def test_without_a_limit_of_concurrency_more_than_one_stream_is_served(told: Found) -> None:
    assert crowd(told.workload).endswith("/max_concurrency is inf")


def test_what_the_server_said_of_itself_is_told_without_its_secrets() -> None:
    info = {
        "model_path": "org/model",
        "tp_size": 8,
        "api_key": "s3cret",
        "version": "0.5.3",
        "disable_radix_cache": False,
    }
    found = of_json({**SGLANG_LINE, "server_info": info})
    assert found.remarks == ("sglang says that it runs with version 0.5.3, model_path org/model, tp_size 8",)


def test_what_vllm_saves() -> None:
    found = of_json(VLLM_FILE)
    assert values(found) == {
        "request_throughput": 1.77, "output_throughput": 904.1, "total_throughput": 1130.12, "duration": 2.83,
        "completed_requests": 5, "input_tokens": 640, "output_tokens": 2560, "ttft": 72.28, "tpot": 5.389,
        "failed_requests": 2,
    }  # fmt: skip
    ttft = one(found, "ttft").summary
    assert ttft
    assert ttft.stdev == pytest.approx(0.9 * math.sqrt(5 / 4))  # numpy's is of n
    assert found.workload["vllm-bench-serve/max_concurrency"] == 8
    assert "vllm-bench-serve/duration" not in found.workload


def test_inferencex_counts_in_seconds() -> None:
    told = {key: value for key, value in VLLM_FILE.items() if not key.endswith("_ms")}
    found = of_json({**told, "median_ttft": 1.998, "p99_ttft": 6.776, "median_tpot": 0.062, "p99_tpot": 0.09})
    assert (one(found, "ttft").unit, one(found, "ttft").typical) == ("s", 1.998)
    assert one(found, "tpot").source == "inferencex, tpot"
    assert found.workload["inferencex/model"] == "llama-3-8b"


def test_inferencex_aggregated() -> None:
    told = [
        {"hw": "b200", "conc": conc, "model": "m", "isl": 1024, "osl": 8192, "tp": 8, "tput_per_gpu": rate,
         "output_tput_per_gpu": rate / 2, "median_ttft": 0.5, "median_intvty": 90.0}
        for conc, rate in ((4, 200.0), (8, 300.0))
    ]  # fmt: skip
    found = of_json(told)
    assert values(found)["max_concurrency=8/total_throughput_per_gpu"] == 300
    assert values(found)["max_concurrency=4/interactivity"] == 90
    assert found.workload["inferencex/output_len"] == 8192


def test_details_are_samples_without_those_of_failed_requests() -> None:
    details = {"ttfts": [0.1, 0.0, 0.3], "itls": [[0.01, 0.02], [], [0.03]], "errors": ["", "timed out", ""]}
    found = of_json({**VLLM_FILE, **details})
    assert one(found, "ttft").samples == pytest.approx((100.0, 300.0))
    assert one(found, "itl").samples == pytest.approx((10.0, 20.0, 30.0))
    assert (one(found, "ttft").kind, one(found, "ttft").unit) == ("series", "ms")
    assert values(found)["failed_requests"] == 1


@pytest.mark.parametrize("requests", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_many_gaps_between_tokens_are_condensed(requests: int) -> None:
    metric = one(of_json({**VLLM_FILE, "itls": [[0.01] * 1000] * requests}), "itl")
    assert metric.summary
    assert metric.summary.count == requests * 1000
    assert len(metric.samples) <= 4096


def test_of_lines_only_what_the_run_added_counts() -> None:
    assert (
        values(of_lines({**SGLANG_LINE, "output_throughput": 1.0}, SGLANG_LINE, earlier=1))["output_throughput"]
        == 4520.7
    )


def test_a_line_that_is_ended_when_the_next_is_added_is_of_the_earlier_run() -> None:
    before = msgspec.json.encode({**VLLM_FILE, "output_throughput": 1.0})
    found = formats.read(Source("out.json", before + b"\n" + msgspec.json.encode(VLLM_FILE), before))
    assert one(found, "output_throughput").samples == (904.1,)


def test_a_latency_of_0_is_that_of_a_request_that_failed() -> None:
    assert one(of_json({**VLLM_FILE, "latencies": [2.5, 0.0, 2.75], "failed": 1}), "e2e_latency").samples == (
        2500,
        2750,
    )


def test_a_sweep_is_told_apart_by_what_was_asked() -> None:
    found = of_lines(SGLANG_LINE, {**SGLANG_LINE, "random_input_len": 256})
    assert values(found)["random_input_len=256/ttft"] == 91282.2
    assert found.workload["sglang-bench-serving/benchmarks"] == ("random_input_len=1024", "random_input_len=256")
    assert found.workload["sglang-bench-serving/dataset_name"] == "random"


def test_the_same_again_is_a_repeat() -> None:
    metric = one(of_lines(SGLANG_LINE, {**SGLANG_LINE, "median_ttft_ms": 91000.0}), "ttft")
    assert (metric.samples, metric.kind) == ((91282.2, 91000.0), "repeats")


def test_a_time_of_0_throughout_was_not_measured() -> None:
    zero = one(of_json({**SGLANG_LINE, "mean_itl_ms": 0.0, "median_itl_ms": 0.0, "p99_itl_ms": 0.0}), "itl")
    assert zero.gap == "itl is 0 throughout, which its client writes where nothing of it was measured"


@pytest.mark.parametrize("value", [math.nan, -1.0, "soon"])
def test_what_nothing_can_measure_is_a_gap_by_name_and_the_rest_is_read(value: object) -> None:
    text = str({**SGLANG_LINE, "p99_ttft_ms": value}).replace("'", '"').replace("None", "null").replace("nan", "NaN")
    found = of_text(text)
    assert one(found, "ttft").gap.startswith("p99 ttft is ")
    assert values(found)["itl"] == 159.01


def test_a_text_without_numbers_is_refused() -> None:
    template = "\n".join(
        line if ":" not in line else f"{line.partition(':')[0]}:      x.xx" for line in VLLM.splitlines()
    )
    with pytest.raises(
        NothingRead, match=r"out.txt: it is of vllm-bench-serve and tells no number: .* the text 'x.xx'"
    ):
        of_text(template)


def test_another_client_s_result_says_whose_it_is() -> None:
    with pytest.raises(
        NothingRead,
        match=r"out.txt is a result of sglang-bench-serving, not of vllm-bench-serve; say sglang-bench-serving:",
    ):
        of_text(SGLANG, "vllm-bench-serve")


def test_colours_progress_and_the_log_around_it_are_no_matter() -> None:
    noisy = f"100%|###| 9/10\r100%|####| 10/10 [00:01]\r\n\x1b[32mINFO\x1b[0m done\n{SGLANG}".replace(
        "263.68", "\x1b[1m263.68\x1b[0m"
    )
    assert values(of_text(noisy + "Process finished: 99\nMean TTFT (ms): 1.0\n"))["ttft"] == 263.68


def test_thousands_may_be_separated_and_a_decimal_comma_is_refused() -> None:
    assert (
        values(of_text(SGLANG.replace("19445.69", "19,445.69").replace("24543.22", "24,543.22")))["e2e_latency"]
        == 24543.22
    )
    assert "'263,6'" in one(of_text(SGLANG.replace("263.68", "263,6")), "ttft").gap


OFFLINE = """
====== Offline Throughput Benchmark Result =======
Backend:                                 engine
Successful requests:                     2000
Benchmark duration (s):                  350.25
Total input tokens:                      626729
Total generated tokens:                  388685
Last generation throughput (tok/s):      33.36
Request throughput (req/s):              5.71
Input token throughput (tok/s):          1789.23
Output token throughput (tok/s):         1109.45
Total token throughput (tok/s):          2898.68
==================================================
"""


def test_sglang_offline() -> None:
    record = {
        "backend": "engine", "successful_requests": 2000, "total_latency": 350.25, "total_input_tokens": 626729,
        "total_output_tokens": 388685, "request_throughput": 5.71, "input_throughput": 1789.23,
        "output_throughput": 1109.45, "total_throughput": 2898.68, "last_gen_throughput": 33.36,
    }  # fmt: skip
    assert values(of_text(OFFLINE)) == values(of_lines(record, record))
    assert values(of_text(OFFLINE))["last_decode_throughput"] == 33.36
    assert of_text(OFFLINE).workload == {"sglang-bench-offline/backend": "engine"}
