"""The exports of genai-perf and aiperf, and guidellm's report."""

from typing import Any

import pytest

from tests.metrics.clients.told import of_json, of_lines, of_text, one, values

CSV = """Metric,avg,min,max,p99,p95,p90,p75,p50,p25
Time To First Token (ms),23.94,22.92,30.75,30.10,27.51,24.26,23.38,23.20,23.02
Inter Token Latency (ms),11.54,11.45,11.70,11.69,11.64,11.58,11.55,11.53,11.52
Request Latency (ms),"5,919.16","5,912.73","5,934.45","5,933.31","5,928.74","5,923.03","5,920.17","5,918.56","5,915.29"
Output Sequence Length,511.90,505.00,516.00,515.91,515.55,515.10,512.75,512.00,511.25

Metric,Value
Output Token Throughput (per sec),86.48
Request Throughput (per sec),0.17
"""
TABLE = """
                 NVIDIA GenAI-Perf | LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┓
┃                            Statistic ┃      avg ┃      p99 ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━┩
│             Time To First Token (ms) │    78.10 │   109.61 │
│                 Request Latency (ms) │ 6,740.76 │ 8,929.88 │
│     Output Token Throughput Per User │   248.14 │   257.66 │
│                    (tokens/sec/user) │          │          │
│ Output Token Throughput (tokens/sec) │    51.20 │      N/A │
│         Request Throughput (per sec) │     0.15 │      N/A │
│                Request Count (count) │    20.00 │      N/A │
└──────────────────────────────────────┴──────────┴──────────┘
"""
EXPORT: dict[str, Any] = {
    "request_throughput": {"unit": "requests/sec", "avg": 0.503},
    "request_count": {"unit": "requests", "avg": 64.0},
    "time_to_first_token": {
        "unit": "ms",
        "avg": 36.46,
        "p50": 35.5,
        "p99": 48.72,
        "min": 32.5,
        "max": 59.7,
        "std": 3.5,
    },
    "inter_token_latency": {"unit": "ms", "avg": 18.65, "p50": 18.52, "p99": 20.59},
    "inter_chunk_latency": {"unit": "ms", "avg": 18.64, "p50": 18.4},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 100.65},
    "min_request_timestamp": {"unit": "ns", "avg": 1.76e18},
    "goodput": None,
    "error_request_count": {"unit": "requests", "avg": 3.0},
    "input_config": {
        "endpoint": {"model_names": ["Qwen/Qwen3-0.6B"], "type": "chat", "streaming": True, "url": "localhost:8000"},
        "input": {"random_seed": 100, "prompt": {"input_tokens": {"mean": 100, "stddev": 0.0}}},
        "loadgen": {"concurrency": 2, "request_count": 64, "warmup_request_count": 1},
    },
}


def test_an_export_of_aiperf() -> None:
    found = of_json(EXPORT)
    assert values(found) == {
        "ttft": 35.5, "tpot": 18.52, "itl": 18.4, "output_throughput": 100.65, "request_throughput": 0.503,
        "completed_requests": 64, "failed_requests": 3,
    }  # fmt: skip
    ttft = one(found, "ttft").summary
    assert ttft
    assert (ttft.count, ttft.mean, ttft.max, ttft.quantiles) == (64, 36.46, 59.7, {"99": 48.72})
    assert one(found, "tpot").source == "aiperf, inter_token_latency"
    assert {key.partition("/")[2]: it for key, it in found.workload.items()} == {
        "model": "Qwen/Qwen3-0.6B", "endpoint_type": "chat", "streaming": True, "random_seed": 100,
        "input_tokens_mean": 100, "input_tokens_stddev": 0.0, "concurrency": 2, "request_count": 64,
        "warmup_request_count": 1,
    }  # fmt: skip


def test_a_unit_that_stands_beside_a_value_is_its_unit_whatever_is_usual() -> None:
    told = {
        "output_token_throughput": {"unit": "tokens/min", "avg": 6039},
        "benchmark_duration": {"unit": "ms", "avg": 5},
    }
    found = of_json({**EXPORT, **told})
    assert (one(found, "output_throughput").unit, one(found, "duration").unit) == ("tokens/min", "ms")


def test_the_configuration_of_the_newest_aiperf() -> None:
    config = {
        "models": {"items": [{"name": "m"}]}, "endpoint": {"urls": ["http://h"], "type": "chat", "streaming": True},
        "datasets": [{"type": "synthetic", "random_seed": 3,
                      "prompts": {"isl": {"mean": 20.0}, "osl": {"mean": 12.0}}}],
        "phases": [{"kind": "warmup", "requests": 2}, {"kind": "profiling", "type": "concurrency", "requests": 8,
                                                       "concurrency": 2}],
    }  # fmt: skip
    found = of_json({**EXPORT, "aiperf_version": "0.13.0", "input_config": config})
    assert found.workload == {f"aiperf/{key}": it for key, it in (
        ("model", "m"), ("endpoint_type", "chat"), ("streaming", True), ("dataset", "synthetic"), ("random_seed", 3),
        ("input_tokens_mean", 20.0), ("output_tokens_mean", 12.0), ("load", "concurrency"), ("concurrency", 2),
        ("requests", 8), ("warmup_requests", 2),
    )}  # fmt: skip


def test_an_export_of_genai_perf() -> None:
    flat = {"model": ["m"], "concurrency": 4, "synthetic_input_tokens_mean": 550, "url": None, "service_kind": "openai"}
    found = of_json({**EXPORT, "input_config": flat})
    assert found.workload == {f"genai-perf/{key}": it for key, it in
                              {**flat, "model": "m", "url": None}.items() if it is not None}  # fmt: skip


def test_a_csv_of_genai_perf() -> None:
    found = of_text(CSV.replace("\n", "\r\n"))
    assert values(found) == {
        "ttft": 23.2, "tpot": 11.53, "e2e_latency": 5918.56, "output_length": 512.0, "output_throughput": 86.48,
        "request_throughput": 0.17,
    }  # fmt: skip
    latency = one(found, "e2e_latency").summary
    assert latency
    assert latency.quantiles == {"99": 5933.31, "95": 5928.74, "90": 5923.03, "75": 5920.17, "25": 5915.29}
    assert one(found, "ttft").source == "genai-perf, time_to_first_token"


def test_columns_may_be_others_in_another_order() -> None:
    text = "Metric,std,p50,avg,sum\nTime to First Token (ms),1.0,23.2,23.94,\nRequest Latency (s),0.1,,5.9,12\n"
    found = of_text(text)
    ttft = one(found, "ttft").summary
    assert ttft
    assert (ttft.mean, ttft.median) == (23.94, 23.2)
    assert (one(found, "e2e_latency").unit, one(found, "e2e_latency").typical) == ("s", 5.9)
    assert one(found, "ttft").source == "aiperf, time_to_first_token"


def test_a_table_of_genai_perf_whose_names_go_on_in_the_next_row() -> None:
    found = of_text(TABLE)
    assert values(found) == {
        "ttft": 78.1, "e2e_latency": 6740.76, "output_throughput_per_user": 248.14, "output_throughput": 51.2,
        "request_throughput": 0.15, "completed_requests": 20,
    }  # fmt: skip
    assert one(found, "output_throughput").samples == (51.2,)


def record(ttft: float, phase: str = "profiling", error: Any = None) -> dict[str, Any]:
    metrics = {
        "time_to_first_token": {"value": ttft, "unit": "ms"},
        "inter_chunk_latency": {"value": [18.5, 18.7], "unit": "ms"},
        "output_token_throughput_per_user": {"value": 55.1, "unit": "tokens/sec/user"},
    }
    metadata = {"request_start_ns": 1, "benchmark_phase": phase}
    return {"metadata": metadata, "metrics": {} if error else metrics, "error": error}


def test_aiperf_s_records_of_requests_are_samples_without_the_warm_up() -> None:
    found = of_lines(record(900.0, "warmup"), record(31.7), record(31.3), record(0.0, error={"code": 500}))
    assert one(found, "ttft").samples == (31.7, 31.3)
    assert one(found, "ttft").kind == "series"
    assert one(found, "itl").samples == (18.5, 18.7, 18.5, 18.7)
    assert one(found, "output_throughput_per_user").unit == "tok/s"
    assert (values(found)["completed_requests"], values(found)["failed_requests"]) == (2, 1)


def statistics(mean: float, count: int = 2) -> dict[str, Any]:
    told = {"mean": mean, "median": mean - 0.2, "std_dev": 0.2, "min": mean - 0.2, "max": mean + 0.2, "count": count}
    return {"successful": {**told, "percentiles": {"p50": mean - 0.2, "p99": mean + 0.2, "p999": mean + 0.2}}}


def guidellm(rate: float) -> dict[str, Any]:
    metrics = {
        "request_totals": {"successful": 2, "errored": 1, "incomplete": 0, "total": 3},
        "requests_per_second": statistics(0.398), "output_tokens_per_second": statistics(3.195),
        "request_latency": statistics(0.5), "time_to_first_token_ms": statistics(11.48),
        "inter_token_latency_ms": statistics(1.15, 14), "time_per_output_token_ms": statistics(2.44),
    }  # fmt: skip
    config = {"strategy": {"type_": "constant", "rate": rate, "max_concurrency": 10240}, "backend": {"model": "m"}}
    return {"config": {**config, "profile": {"kind": "constant"}}, "metrics": metrics}


def test_guidellm_s_report_has_a_benchmark_of_each_rate() -> None:
    spec = {
        "data": [{"prompt_tokens": 32, "output_tokens": 8}],
        "seed": {"value": 42},
        "backend": {"api_key": "s3cret"},
    }
    report = {
        "metadata": {"guidellm_version": "0.8.0"},
        "config": {"spec": spec},
        "benchmarks": [guidellm(2.0), guidellm(4.0)],
    }
    found = of_json(report)
    of_two = {name.partition("/")[2]: it for name, it in values(found).items() if name.startswith("rate=2.0/")}
    assert of_two == pytest.approx(
        {
            "request_throughput": 0.398, "output_throughput": 3.195, "e2e_latency": 0.3, "ttft": 11.28, "tpot": 0.95,
            "latency_per_output_token": 2.24, "completed_requests": 2, "failed_requests": 1, "incomplete_requests": 0,
        }
    )  # fmt: skip
    tpot = one(found, "rate=4.0/tpot").summary
    assert tpot
    assert tpot.count == 14
    assert tpot.quantiles == {"99": pytest.approx(1.35), "99.9": pytest.approx(1.35)}
    assert {key.partition("/")[2] for key in found.workload} == {
        "version", "strategy", "model", "prompt_tokens", "output_tokens", "seed", "benchmarks", "max_concurrency",
    }  # fmt: skip


def test_guidellm_s_report_of_older_versions() -> None:
    old = guidellm(2.0)
    old["args"] = {"strategy": {"type_": "concurrent", "streams": 8}, "profile": {"type_": "concurrent"}}
    del old["config"]
    assert of_json({"benchmarks": [old]}).workload == {"guidellm/strategy": "concurrent", "guidellm/concurrency": 8}
