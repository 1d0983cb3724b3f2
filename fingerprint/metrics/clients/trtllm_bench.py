"""Reads what trtllm-bench writes with --report_json, and what it prints.

Latencies are in ms; the token throughput of old is that of output alone.
https://nvidia.github.io/TensorRT-LLM/developer-guide/perf-benchmarking.html
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fingerprint.metrics.clients.measured import Benchmark, Word, count_of, distribution, found, given, number
from fingerprint.metrics.clients.printed import plain
from fingerprint.metrics.found import Found
from fingerprint.metrics.metric import Metric

CLIENT = "trtllm-bench"
_NUMBERS: Mapping[str, Word] = {
    "request_throughput_req_s": Word("request_throughput", "req/s"),
    "system_output_throughput_tok_s": Word("output_throughput", "tok/s"),
    "system_total_throughput_tok_s": Word("total_throughput", "tok/s"),
    "output_throughput_per_user_tok_s": Word("output_throughput_per_user", "tok/s"),
    "output_throughput_per_gpu_tok_s": Word("output_throughput_per_gpu", "tok/s"),
    "token_output_speed_tok_s": Word("decode_speed_per_user", "tok/s", "higher"),
    "total_latency_ms": Word("duration", "ms"),
    "avg_num_concurrent_requests": Word("achieved_concurrency"),
}
# Where its average and where its percentiles stand.
_DISTRIBUTIONS: Mapping[str, tuple[str, str]] = {
    "e2e_latency": ("avg_request_latency_ms", "request_latency_percentiles_ms"),
    "ttft": ("avg_ttft_ms", "ttft_percentiles"),
    "tpot": ("avg_tpot_ms", "tpot_percentiles"),
}
_ASKED = (
    "model", "backend", "dtype", "kv_cache_dtype", "quantization", "tp_size", "pp_size", "ep_size", "max_batch_size",
    "max_num_tokens", "scheduling_policy", "kv_cache_percentage", "num_requests", "avg_input_length",
    "avg_output_length",
)  # fmt: skip
_SECTIONS = ("engine", "backend", "world_info", "request_info", "performance", "streaming_metrics")
_TITLE = "= PERFORMANCE OVERVIEW"
_PERCENTILE = re.compile(
    r"\[(?P<what>Latency|TTFT|TPOT)\] (?P<statistic>P[\d.]+|MINIMUM|MAXIMUM|AVERAGE)\s*:\s+(?P<value>\S+)"
)
_TAGS = {"Latency": "request_latency_percentiles_ms", "TTFT": "ttft_percentiles", "TPOT": "tpot_percentiles"}
_LABELS = {
    "Model": "model", "Dtype": "dtype", "KV Cache Dtype": "kv_cache_dtype", "Quantization": "quantization",
    "TP Size": "tp_size", "PP Size": "pp_size", "EP Size": "ep_size", "Max Runtime Batch Size": "max_batch_size",
    "Max Runtime Tokens": "max_num_tokens", "Scheduling Policy": "scheduling_policy",
    "KV Memory Percentage": "kv_cache_percentage", "Number of requests": "num_requests",
    "Number of concurrent requests": "avg_num_concurrent_requests",
    "Average Input Length (tokens)": "avg_input_length", "Average Output Length (tokens)": "avg_output_length",
    "Token Throughput (tokens/sec)": "system_output_throughput_tok_s",
    "Total Output Throughput (tokens/sec)": "system_output_throughput_tok_s",
    "Total Token Throughput (tokens/sec)": "system_total_throughput_tok_s",
    "Request Throughput (req/sec)": "request_throughput_req_s", "Total Latency (ms)": "total_latency_ms",
    "Average request latency (ms)": "avg_request_latency_ms",
    "Per User Output Throughput [w/ ctx] (tps/user)": "output_throughput_per_user_tok_s",
    "Per User Output Throughput (tokens/sec/user)": "output_throughput_per_user_tok_s",
    "Per GPU Output Throughput (tps/gpu)": "output_throughput_per_gpu_tok_s",
    "Per GPU Output Throughput (tokens/sec/gpu)": "output_throughput_per_gpu_tok_s",
    "Per User Output Speed (tps/user)": "token_output_speed_tok_s",
    "Per User Output Speed [1/TPOT] (tokens/sec/user)": "token_output_speed_tok_s",
    "Average time-to-first-token [TTFT] (ms)": "avg_ttft_ms",
    "Average time-per-output-token [TPOT] (ms)": "avg_tpot_ms",
}  # fmt: skip


def recognises(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and isinstance(performance := record.get("performance"), dict)
        and {"total_latency_ms", "request_throughput_req_s"} <= performance.keys()
    )


def read(records: Sequence[Mapping[str, Any]]) -> Found:
    return _found([_flat(record) for record in records])


def recognises_text(text: str) -> bool:
    return _TITLE in text


def read_text(text: str) -> Found:
    return _found(list(_reports(text)))


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Its sections' members; `backend` is a section of some versions and a word of others."""
    return {
        key: value
        for section in _SECTIONS
        if isinstance(members := record.get(section), dict)
        for key, value in members.items()
    }


def _found(records: Sequence[Mapping[str, Any]]) -> Found:
    return found(
        CLIENT,
        (Benchmark(given({key: it[key] for key in _ASKED if key in it}), list(_metrics(it))) for it in records),
    )


def _metrics(told: Mapping[str, Any]) -> Iterator[Metric]:
    for key, word in _NUMBERS.items():
        if told.get(key) is not None:
            yield number(told[key], word, f"{CLIENT}, {word.name}")
    count = count_of(told.get("num_requests"))
    for name, (average, percentiles) in _DISTRIBUTIONS.items():
        statistics = dict(told[percentiles]) if isinstance(told.get(percentiles), dict) else {}
        if told.get(average) is not None:
            statistics["average"] = told[average]
        if statistics:
            yield distribution(statistics, Word(name, "ms", "lower"), f"{CLIENT}, {name}", count)


def _reports(text: str) -> Iterator[dict[str, Any]]:
    """What is told of the engine before its title belongs to a report; what follows up to the next engine too."""
    for part in re.split(r"^= (?:ENGINE DETAILS|PYTORCH BACKEND|[A-Z]+ BACKEND)$", text, flags=re.MULTILINE):
        if _TITLE in part:
            yield _report(part.partition("= DATASET DETAILS")[0])


def _report(text: str) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for line in map(str.strip, text.splitlines()):
        if found := _PERCENTILE.fullmatch(line):
            told.setdefault(_TAGS[found["what"]], {})[found["statistic"].lower()] = plain(found["value"])
        elif (key := _LABELS.get(line.partition(":")[0].strip())) and line.partition(":")[2].strip() not in (
            "",
            "None",
        ):
            told[key] = plain(line.partition(":")[2])
    return told
