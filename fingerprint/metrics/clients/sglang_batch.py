"""Reads what sglang.bench_one_batch and bench_one_batch_server add to --result-filename, and what they print.

Times are in s, of the whole batch: prefill once, a decode step as the median of all steps. The server's is one request
of a batch over HTTP, its throughput of the output after the first token. A throughput or accept length of -1 is one
that the server did not tell.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fingerprint.metrics.clients.measured import Benchmark, Word, found, given, number
from fingerprint.metrics.clients.printed import plain
from fingerprint.metrics.found import Found

CLIENT = "sglang-bench-one-batch"
_NUMBERS: Mapping[str, Word] = {
    "prefill_latency": Word("prefill", "s", "lower"),
    "prefill_throughput": Word("prefill_throughput", "tok/s"),
    "median_decode_latency": Word("decode_step", "s", "lower"),
    "median_decode_throughput": Word("decode_throughput", "tok/s"),
    "total_latency": Word("e2e_latency", "s", "lower"),
    "overall_throughput": Word("total_throughput", "tok/s"),
    "latency": Word("e2e_latency", "s", "lower"),
    "ttft": Word("ttft", "s", "lower"),
    "last_ttft": Word("last_ttft", "s", "lower"),
    "input_throughput": Word("input_throughput", "tok/s"),
    "output_throughput": Word("output_throughput", "tok/s"),
    "steady_state_output_throughput": Word("steady_state_output_throughput", "tok/s"),
    "last_gen_throughput": Word("last_decode_throughput", "tok/s"),
    "acc_length": Word("accept_length", "tok", "higher"),
    "cache_hit_rate": Word("cache_hit_rate", "", "higher"),
}
_ASKED = ("run_name", "batch_size", "input_len", "output_len")
_NOT_TOLD = -1
_WARM = re.compile(r"^(?:Benchmark \.\.\.|=+ Warmup +End +=+)\s*$", re.MULTILINE)
_PHASE = re.compile(
    r"(?P<phase>Prefill|Decode|Total)\.\s+(?:median )?latency:\s+(?P<latency>\S+) s,\s+"
    r"(?:median )?throughput:\s+(?P<throughput>\S+) token/s"
)
_PHASES = {
    "Prefill": ("prefill_latency", "prefill_throughput"),
    "Decode": ("median_decode_latency", "median_decode_throughput"),
    "Total": ("total_latency", "overall_throughput"),
}
_LINE = re.compile(
    r"(?P<label>batch size|input_len|output_len|latency|ttft|last_ttft|input throughput|output throughput"
    r"|last generation throughput|acc_length|cache hit rate): (?P<value>\S+)(?: s| tok/s)?\s*"
)
_LABELS = {
    "batch size": "batch_size", "input throughput": "input_throughput", "output throughput": "output_throughput",
    "last generation throughput": "last_gen_throughput", "cache hit rate": "cache_hit_rate",
}  # fmt: skip


def recognises(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and {"batch_size", "input_len", "output_len", "overall_throughput"} <= record.keys()
        and not record.keys().isdisjoint(("prefill_latency", "latency"))
    )


def read(records: Sequence[Mapping[str, Any]]) -> Found:
    return found(CLIENT, map(_benchmark, records))


def recognises_text(text: str) -> bool:
    return ("Total. " in text or "put throughput: " in text) and next(_records(text), None) is not None


def read_text(text: str) -> Found:
    return read(list(_records(text)))


def _benchmark(record: Mapping[str, Any]) -> Benchmark:
    told = {key: record[key] for key in _NUMBERS if record.get(key) not in (None, _NOT_TOLD)}
    metrics = [number(value, _NUMBERS[key], f"{CLIENT}, {key}") for key, value in told.items()]
    return Benchmark(given({key: record[key] for key in _ASKED if key in record}), metrics)


def _records(text: str) -> Iterator[dict[str, Any]]:
    """A batch ends with its total, a server's begins with its size. What stands before the end of the warm-up is it."""
    text = _WARM.split(text)[-1]
    record: dict[str, Any] = {}
    for line in text.splitlines():
        if phase := _PHASE.search(line):
            record |= zip(_PHASES[phase["phase"]], map(plain, phase.group("latency", "throughput")), strict=True)
            if phase["phase"] == "Total":
                yield record
                record = {}
        elif (told := _LINE.fullmatch(line)) and (told["label"] == "batch size" or "batch_size" in record):
            if told["label"] == "batch size" and "latency" in record:
                yield record
                record = {}
            record[_LABELS.get(told["label"], told["label"])] = plain(told["value"])
    if "latency" in record:
        yield record
