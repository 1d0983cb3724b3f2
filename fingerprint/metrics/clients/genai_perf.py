"""Reads the exports of genai-perf and aiperf: JSON and CSV of all requests, and the table that they print.

A statistic stands by its metric's name, `request_latency`, in the unit beside it; a name ends with it in CSV and on the
screen, `Request Latency (ms)`. Their inter-token latency is (latency - ttft) / (output tokens - 1) of each request,
which others call tpot; the inter-chunk latency is what others call itl.
https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/perf_analyzer/genai-perf/README.html
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fingerprint.metrics.clients.measured import (
    NO_LIMIT,
    Benchmark,
    Word,
    check_many,
    count_of,
    distribution,
    found,
    given,
    is_statistic,
    number,
    series,
)
from fingerprint.metrics.clients.printed import cells, fields, plain
from fingerprint.metrics.found import Found
from fingerprint.metrics.metric import Metric
from fingerprint.metrics.naming import plain_unit

CLIENT = "genai-perf"
WORDS: Mapping[str, Word] = {
    "time_to_first_token": Word("ttft", better="lower"),
    "time_to_second_token": Word("time_to_second_token", better="lower"),
    "inter_token_latency": Word("tpot", better="lower"),
    "inter_chunk_latency": Word("itl", better="lower"),
    "request_latency": Word("e2e_latency", better="lower"),
    "output_token_throughput": Word("output_throughput", "tok/s"),
    "output_token_throughput_per_user": Word("output_throughput_per_user", "tok/s"),
    "total_token_throughput": Word("total_throughput", "tok/s"),
    "input_token_throughput": Word("input_throughput", "tok/s"),
    "prefill_throughput": Word("prefill_throughput", "tok/s"),
    "request_throughput": Word("request_throughput", "req/s"),
    "request_goodput": Word("request_goodput", "req/s"),
    "goodput": Word("request_goodput", "req/s"),
    "output_sequence_length": Word("output_length", "tok"),
    "input_sequence_length": Word("input_length", "tok"),
    "request_count": Word("completed_requests", better="higher"),
    "good_request_count": Word("good_requests", better="higher"),
    "error_request_count": Word("failed_requests", better="lower"),
    "benchmark_duration": Word("duration", "s"),
}
_UNITS = {
    "tokens/sec": "tok/s", "tokens/sec/user": "tok/s", "per sec": "", "requests/sec": "req/s", "tokens": "tok",
    "token": "tok", "requests": "", "count": "", "milliseconds": "ms",
}  # fmt: skip
_NAME = re.compile(r"(?P<name>[A-Za-z][A-Za-z -]*?)\s*(?:\((?P<unit>[^)]*)\))?")
_HEAD = re.compile(r"^\s*Metric,\w", re.MULTILINE)
_BARS = "│┃|"


def recognises(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and isinstance(record.get("input_config"), dict)
        and any(isinstance(it := record.get(key), dict) and "avg" in it for key in WORDS)
    )


def read(records: Sequence[Mapping[str, Any]], client: str = CLIENT) -> Found:
    return found(client, (_benchmark(record, client) for record in records))


def recognises_text(text: str) -> bool:
    """AIPerf's say so, its CSV by a column that genai-perf has none of."""
    return is_printed(text) and not is_aiperf(text)


def read_text(text: str, client: str = CLIENT) -> Found:
    metrics: dict[str, Metric] = {}
    for at, (name, statistics) in enumerate(_rows(text), 1):
        check_many(at)
        if known := _known(name):
            metric = _of_statistics(known[0], statistics, known[1], client)
            metrics[metric.name] = metric
    return found(client, [Benchmark({}, list(metrics.values()))])


def is_aiperf(text: str) -> bool:
    head = next(iter(re.findall(r"^\s*Metric,.*", text, re.MULTILINE)), "")
    return "AIPerf" in text or any(column in head.split(",") for column in ("std", "sum", "p1"))


def is_printed(text: str) -> bool:
    return ("Metric" in text or "Statistic" in text) and any(_known(name) for name, _ in _rows(text))


def _benchmark(record: Mapping[str, Any], client: str) -> Benchmark:
    count = record.get("request_count")
    of = count_of(int(count["avg"])) if isinstance(count, dict) and isinstance(count.get("avg"), int | float) else 0
    told = {key: record[key] for key in WORDS if isinstance(record.get(key), dict)}
    metrics = [_of_statistics(key, it, str(it.get("unit", "")), client, of) for key, it in told.items()]
    return Benchmark(_asked(record["input_config"]), metrics)


def _of_statistics(key: str, it: Mapping[str, Any], unit: str, client: str, count: int = 0) -> Metric:
    """One number where there is only the average, for that is of all requests together."""
    word, source = _in(unit, WORDS[key]), f"{client}, {key}"
    statistics = {name: value for name, value in it.items() if is_statistic(name) and value is not None}
    if set(statistics) == {"avg"}:
        return number(statistics["avg"], word, source)
    return distribution(statistics, word, source, 0 if word.name == "itl" else count)


def _in(unit: str, word: Word) -> Word:
    """In the unit that stands beside it; in the usual one where none does."""
    return word._replace(unit=unit_here(unit) or word.unit)


def unit_here(unit: str) -> str:
    return _UNITS.get(unit.lower(), plain_unit(unit))


def _asked(config: Mapping[str, Any]) -> dict[str, Any]:
    """Of AIPerf's configuration, newest and older, by section, and of genai-perf's arguments, which are flat."""
    if "phases" in config:
        return given(_asked_in_phases(config))
    parts = {name: it if isinstance(it := config.get(name), dict) else {} for name in ("endpoint", "input", "loadgen")}
    prompt = parts["input"].get("prompt")
    lengths = {
        f"{side}_tokens_{statistic}": told.get(statistic)
        for side in ("input", "output")
        if isinstance(prompt, dict) and isinstance(told := prompt.get(f"{side}_tokens"), dict)
        for statistic in ("mean", "stddev")
    }
    flat = {key: config.get(key) for key in _FLAT}
    models = parts["endpoint"].get("model_names") or config.get("model_names") or config.get("model")
    return given(
        {
            "model": ", ".join(map(str, models)) if isinstance(models, list) else models,
            "endpoint_type": parts["endpoint"].get("type") or config.get("endpoint_type"),
            "streaming": parts["endpoint"].get("streaming", config.get("streaming")),
            "random_seed": parts["input"].get("random_seed", config.get("random_seed")),
            **flat,
            **lengths,
            **{key: parts["loadgen"][key] for key in _LOAD if key in parts["loadgen"]},
        }
    )


def _asked_in_phases(config: Mapping[str, Any]) -> dict[str, Any]:
    """A phase is the warm-up or what is measured, `profiling`; there is one data set."""
    models, endpoint = _first(_part(config, "models"), "items"), _part(config, "endpoint")
    data, phases = _first(config, "datasets"), config["phases"]
    of_kind = {it.get("kind"): it for it in phases if isinstance(it, dict)} if isinstance(phases, list) else {}
    measured, prompts = of_kind.get("profiling", {}), _part(data, "prompts")
    return {
        "model": models.get("name"),
        "endpoint_type": endpoint.get("type"),
        "streaming": endpoint.get("streaming"),
        "dataset": data.get("type"),
        "random_seed": data.get("random_seed"),
        "input_tokens_mean": _part(prompts, "isl").get("mean"),
        "input_tokens_stddev": _part(prompts, "isl").get("stddev"),
        "output_tokens_mean": _part(prompts, "osl").get("mean"),
        "output_tokens_stddev": _part(prompts, "osl").get("stddev"),
        "load": measured.get("type"),
        **{key: measured.get(key) for key in ("concurrency", "rate", "requests", "duration", "sessions")},
        "max_concurrency": NO_LIMIT if measured.get("rate") and not measured.get("concurrency") else None,
        "warmup_requests": _part(of_kind, "warmup").get("requests"),
    }


def _part(of: Mapping[Any, Any], key: str) -> Mapping[str, Any]:
    return part if isinstance(part := of.get(key), dict) else {}


def _first(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    items = of.get(key)
    return items[0] if isinstance(items, list) and items and isinstance(items[0], dict) else {}


_LOAD = (
    "concurrency", "request_rate", "request_count", "warmup_request_count", "arrival_pattern", "benchmark_duration",
)  # fmt: skip
_FLAT = (
    "backend", "service_kind", "concurrency", "request_rate", "num_prompts", "num_dataset_entries", "request_count",
    "warmup_request_count", "synthetic_input_tokens_mean", "synthetic_input_tokens_stddev", "output_tokens_mean",
    "output_tokens_stddev", "prompt_source",
)  # fmt: skip


def _rows(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and statistics, of CSV or of the table; a cell that is empty or `N/A` tells nothing."""
    yield from (_csv_rows(text) if _HEAD.search(text) else _table_rows(text))


def _csv_rows(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    heads: Sequence[str] = ()
    for row in map(fields, text.splitlines()):
        if row[:1] == ["Metric"]:
            heads = ["avg" if head == "Value" else head for head in row]
        elif row and len(row) == len(heads):
            yield row[0], _statistics(heads[1:], row[1:])


def _table_rows(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A name that is too long goes on in the next row, which has no numbers."""
    heads: Sequence[str] = ()
    last: tuple[str, dict[str, Any]] | None = None
    for line in text.splitlines():
        row = cells(line, _BARS) if line.strip()[:1] in _BARS and line.strip() else ()
        if row and row[0] in ("Statistic", "Metric"):
            heads = row
        elif heads and len(row) == len(heads):
            if last and not any(row[1:]):
                last = (f"{last[0]} {row[0]}", last[1])
                continue
            if last:
                yield last
            last = (row[0], _statistics(heads[1:], row[1:]))
    if last:
        yield last


def _statistics(heads: Sequence[str], row: Sequence[str]) -> dict[str, Any]:
    told = zip(heads, row, strict=True)
    return {head: plain(cell) for head, cell in told if is_statistic(head) and cell not in ("", "N/A")}


def _known(name: str) -> tuple[str, str] | None:
    """A metric's key and unit."""
    found = _NAME.fullmatch(name.strip()[:100])
    key = re.sub(r"[ -]+", "_", found["name"].lower()) if found else ""
    return (key, found["unit"] or "") if found and key in WORDS else None


def requests(records: Sequence[Mapping[str, Any]], client: str) -> Found:
    """Of records of single requests: `{"metadata": ..., "metrics": {NAME: {"value": ..., "unit": ...}}}`."""
    kept = [record for record in records if record["metadata"].get("benchmark_phase", "profiling") == "profiling"]
    done = [record["metrics"] for record in kept if not record.get("error")]
    metrics = [metric for key in WORDS if (metric := _of_requests(key, done, client))]
    counts = {"request_count": len(done), "error_request_count": len(kept) - len(done)}
    totals = [number(value, WORDS[key], f"{client}, {key}") for key, value in counts.items()]
    return found(client, [Benchmark({}, (*metrics, *totals))])


def _of_requests(key: str, done: Sequence[Mapping[str, Any]], client: str) -> Metric | None:
    told = [it[key] for it in done if isinstance(it.get(key), dict) and "value" in it[key]]
    if not told:
        return None
    word = _in(str(told[0].get("unit", "")), WORDS[key])
    values = [value for it in told for value in (it["value"] if isinstance(it["value"], list) else [it["value"]])]
    return series(values, word, f"{client}, {key}")
