"""What the clients of `serving` print at the end, as the flat result that they write to a file."""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fingerprint.metrics.clients.measured import NO_LIMIT
from fingerprint.metrics.clients.printed import plain

TITLE = re.compile(r"= (?P<what>Serving|Offline Throughput) Benchmark Result =")
_TIMES = {"TTFT": "ttft", "TPOT": "tpot", "ITL": "itl", "E2EL": "e2el", "E2E Latency": "e2e_latency"}
_TIME = re.compile(rf"(?P<statistic>Mean|Median|Max|Min|Std|P[\d.]+) (?P<what>{'|'.join(_TIMES)}) \(ms\)")
_KEYS = {
    "backend": "backend",
    "traffic request rate": "request_rate",
    "request rate configured (rps)": "request_rate",
    "max reqeuest concurrency": "max_concurrency",  # as it was spelled for a year
    "max request concurrency": "max_concurrency",
    "maximum request concurrency": "max_concurrency",
    "successful requests": "completed",
    "failed requests": "failed",
    "benchmark duration (s)": "duration",
    "total input tokens": "total_input_tokens",
    "total generated tokens": "total_output_tokens",
    "request throughput (req/s)": "request_throughput",
    "request goodput (req/s)": "request_goodput",
    "input token throughput (tok/s)": "input_throughput",
    "output token throughput (tok/s)": "output_throughput",
    "peak output token throughput (tok/s)": "peak_output_throughput",
    "last generation throughput (tok/s)": "last_gen_throughput",
    "total token throughput (tok/s)": "total_throughput",
    "peak concurrent requests": "max_concurrent_requests",
    "concurrency": "concurrency",
    "accept length": "accept_length",
    "acceptance length": "accept_length",
    "acceptance rate (%)": "spec_decode_acceptance_rate",
    "user throughput (tok/s)": "user_throughput",
    "average decoded tokens per iter": "avg_decoded_tokens_per_iter",
}
_NAMESPACE = "Namespace("


def blocks(text: str, what: str) -> Iterator[dict[str, Any]]:
    """The results whose title says so, each with the arguments that were printed before it."""
    arguments: Mapping[str, Any] = {}
    record: dict[str, Any] | None = None
    for line in text.splitlines():
        if title := TITLE.search(line):
            if record:
                yield record
            record = dict(arguments) if title["what"] == what else None
        elif record is not None and line.strip() and not line.strip("= \t"):
            yield record
            record = None
        elif record is not None:
            record |= _told(line)
        elif _NAMESPACE in line:
            arguments = _arguments(line[line.index(_NAMESPACE) : line.rfind(")") + 1]) or arguments
    if record:
        yield record


def _told(line: str) -> dict[str, Any]:
    label, _, value = map(str.strip, line.partition(":"))
    if time := _TIME.fullmatch(label):
        return {f"{time['statistic'].lower()}_{_TIMES[time['what']]}_ms": plain(value)}
    key = _KEYS.get(label.lower())
    if key is None:
        return {}
    return {key: NO_LIMIT if value == "not set" else plain(value)}


def _arguments(call: str) -> dict[str, Any]:
    """Of argparse's `Namespace(key=value, ...)`. Empty where it is cut, or holds more than plain values."""
    try:
        parsed = ast.parse(call, mode="eval").body
        keywords = parsed.keywords if isinstance(parsed, ast.Call) else []
        return {it.arg: ast.literal_eval(it.value) for it in keywords if it.arg and isinstance(it.value, ast.Constant)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
