"""What the clients measure that send requests to a server and share one ancestor: sglang.bench_serving, vllm bench
serve (benchmark_serving.py of old, also TensorRT-LLM's) and InferenceX (InferenceMAX of old).

Their results have the same words, flat: `mean_ttft_ms`, `p99_itl_ms`, `output_throughput`. tpot is the time per output
token after the first, of each request; itl are all the gaps between tokens, of all requests. With details they have
lists as well: `ttfts` and `latencies` in s by request, `itls` in s by request and token, `errors` as texts.
https://docs.sglang.io/developer_guide/bench_serving.html, https://docs.vllm.ai/en/latest/benchmarking/
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fingerprint.metrics.clients.measured import (
    NO_LIMIT,
    Benchmark,
    Word,
    count_of,
    distribution,
    given,
    is_statistic,
    number,
    series,
)
from fingerprint.metrics.metric import Metric

TIMES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e_latency", "e2e_latency": "e2e_latency"}
_DISTRIBUTIONS = {key: Word(name, "s", "lower") for key, name in TIMES.items()} | {
    "intvty": Word("interactivity", "tok/s", "higher")
}
_STATISTIC = re.compile(rf"(?P<statistic>[a-z]+|p[\d.]+)_(?P<what>{'|'.join(_DISTRIBUTIONS)})(?P<ms>_ms)?")
_TURNED = re.compile(rf"(?P<what>{'|'.join(_DISTRIBUTIONS)})_(?P<statistic>[a-z]+|p[\d.]+)(?P<ms>_ms)?")

NUMBERS: Mapping[str, Word] = {
    "request_throughput": Word("request_throughput", "req/s"),
    "request_goodput": Word("request_goodput", "req/s"),
    "request_goodput:": Word("request_goodput", "req/s"),
    "input_throughput": Word("input_throughput", "tok/s"),
    "output_throughput": Word("output_throughput", "tok/s"),
    "output_throughput_retokenized": Word("output_throughput_retokenized", "tok/s"),
    "total_throughput": Word("total_throughput", "tok/s"),
    "total_token_throughput": Word("total_throughput", "tok/s"),
    "user_throughput": Word("output_throughput_per_user", "tok/s"),
    "max_output_tokens_per_s": Word("peak_output_throughput", "tok/s"),
    "peak_output_throughput": Word("peak_output_throughput", "tok/s"),
    "tput_per_gpu": Word("total_throughput_per_gpu", "tok/s", "higher"),
    "output_tput_per_gpu": Word("output_throughput_per_gpu", "tok/s"),
    "input_tput_per_gpu": Word("input_throughput_per_gpu", "tok/s"),
    "accept_length": Word("accept_length", "tok", "higher"),
    "avg_decoded_tokens_per_iter": Word("accept_length", "tok", "higher"),
    "spec_decode_acceptance_length": Word("accept_length", "tok", "higher"),
    "spec_decode_acceptance_rate": Word("accept_rate", "%", "higher"),
    "duration": Word("duration", "s"),
    "concurrency": Word("achieved_concurrency"),
    "max_concurrent_requests": Word("peak_concurrency"),
    "completed": Word("completed_requests", "", "higher"),
    "failed": Word("failed_requests", "", "lower"),
    "total_input_tokens": Word("input_tokens", "tok"),
    "total_output_tokens": Word("output_tokens", "tok"),
    "total_generated_tokens": Word("output_tokens", "tok"),
}
# What was asked for, in all of them; whatever else they write was measured, or is of no matter to the server.
_ASKED = (
    "tag", "backend", "endpoint_type", "model", "model_id", "served_model_name", "dataset_name", "dataset_path",
    "num_prompts", "request_rate", "burstiness", "max_concurrency", "input_len", "output_len", "random_input_len",
    "random_output_len", "random_range_ratio", "random_prefix_len", "sharegpt_output_len", "sharegpt_context_len",
    "fixed_output_len", "seed", "disable_ignore_eos", "ignore_eos", "disable_stream", "apply_chat_template",
    "lora_name", "warmup_requests", "num_warmups", "flush_cache", "temperature", "top_p", "top_k", "prefix_len",
    "gsp_num_groups", "gsp_prompts_per_group", "gsp_system_prompt_len", "gsp_question_len", "gsp_output_len",
    "ramp_up_strategy", "ramp_up_start_rps", "ramp_up_end_rps", "hw", "conc", "framework", "precision", "tp", "ep",
    "dp_attention", "isl", "osl", "spec_decoding", "disagg", "is_multinode", "image", "routing_strategy",
)  # fmt: skip
_RENAMED = {"model_id": "model", "conc": "max_concurrency", "isl": "input_len", "osl": "output_len"}


def benchmark(client: str, record: Mapping[str, Any], count: int = 0) -> Benchmark:
    """Of a flat result. count: of requests that were completed, if the record does not tell."""
    lists = {metric.name: metric for metric in _series(client, record)}
    told = list(_metrics(client, record, count or count_of(record.get("completed"))))
    metrics = [lists.pop(metric.name, metric) for metric in told]
    return Benchmark(asked(record), (*metrics, *lists.values(), *_failed(client, record)))


def asked(record: Mapping[str, Any]) -> dict[str, Any]:
    told = {_RENAMED.get(key, key): record[key] for key in _ASKED if key in record}
    if told.get("max_concurrency", 0) is None:
        told["max_concurrency"] = NO_LIMIT
    return given(told)


def _metrics(client: str, record: Mapping[str, Any], count: int) -> Iterator[Metric]:
    for key, word in NUMBERS.items():
        if record.get(key) is not None:
            yield number(record[key], word, f"{client}, {word.name}")
    for word, statistics in _distributions(record):
        yield distribution(statistics, word, f"{client}, {word.name}", 0 if word.name == "itl" else count)


def _distributions(record: Mapping[str, Any]) -> Iterator[tuple[Word, dict[str, Any]]]:
    """In the unit that the key tells: ms where it ends so, else s."""
    by_word: dict[Word, dict[str, Any]] = {}
    for key, value in record.items():
        found = _STATISTIC.fullmatch(key) or _TURNED.fullmatch(key)
        if found and is_statistic(found["statistic"]) and value is not None:
            word = _DISTRIBUTIONS[found["what"]]
            by_word.setdefault(word._replace(unit="ms") if found["ms"] else word, {})[found["statistic"]] = value
    yield from by_word.items()


def _series(client: str, record: Mapping[str, Any]) -> Iterator[Metric]:
    """Of each request that did not fail, in ms as the statistics beside them are. Of one that failed a time is 0."""
    itls, errors = record.get("itls"), record.get("errors")
    for key, name in (("ttfts", "ttft"), ("latencies", "e2e_latency")):
        if isinstance(times := record.get(key), list) and any(times):
            yield _in_ms(client, name, [time for time in _of_the_completed(times, errors) if time != 0])
    if isinstance(itls, list) and any(itls):
        by_request = _of_the_completed(itls, errors)
        yield _in_ms(client, "itl", [gap for it in by_request for gap in (it if isinstance(it, list) else [it])])


def _in_ms(client: str, name: str, seconds: Sequence[Any]) -> Metric:
    values = [value * 1000 if isinstance(value, float | int) else value for value in seconds]
    return series(values, Word(name, "ms"), f"{client}, {name}")


def _of_the_completed(values: Sequence[Any], errors: Any) -> Sequence[Any]:
    if not isinstance(errors, list) or len(errors) != len(values):
        return values
    return [value for value, error in zip(values, errors, strict=True) if not error]


def _failed(client: str, record: Mapping[str, Any]) -> Iterator[Metric]:
    """Where it is not told, it is what was asked for and not completed."""
    if record.get("failed") is not None:
        return
    wanted, completed, errors = (record.get(key) for key in ("num_prompts", "completed", "errors"))
    if isinstance(errors, list) and errors:
        yield number(sum(bool(error) for error in errors), NUMBERS["failed"], f"{client}, errors")
    elif isinstance(wanted, int) and isinstance(completed, int) and wanted >= completed:
        yield number(wanted - completed, NUMBERS["failed"], f"{client}, num_prompts less completed")
