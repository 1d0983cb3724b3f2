"""Reads what an engine's `/metrics` answers: one scrape, or several one after the other in one file.

Counters and histograms run since the server's start, so of two scrapes their difference is the run's; gauges are
readings. https://docs.vllm.ai/en/latest/design/metrics.html,
https://docs.sglang.io/references/production_metrics.html,
https://github.com/ggml-org/llama.cpp/tree/master/tools/server#get-metrics-prometheus-compatible-metrics-exporter
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import isnan, nan
from typing import NamedTuple

from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.logs.table import Column
from fingerprint.metrics.metric import Metric, Summary
from fingerprint.metrics.source import Source
from fingerprint.metrics.values import condensed

CLIENT = "prometheus"
_ENGINES = ("vllm:", "sglang:", "llamacpp:")
_SAMPLE = re.compile(r"^(?:vllm|sglang|llamacpp):\w+(?:\{[^\n]*\})? [\d.]", re.MULTILINE)
_MOST = 1e18
_ONCE = "counters and histograms are those since the server's start; scrape it before the run too"
_ANEW = (
    "the server was started anew between two scrapes, so counters and histograms are those since its last start; "
    "for those of a run let the server run from the first scrape to the last"
)
_STARTED = "process_start_time_seconds"
_NO_NUMBER = "no number of 0 or more is told of it (but NaN, which stands for not measured yet, Inf or one below 0)"
_QUANTILES = (50, 90, 99)

# A histogram is a mean, and quantiles within its buckets.
_HISTOGRAMS = {
    "time_to_first_token_seconds": "ttft",
    "request_time_per_output_token_seconds": "tpot",
    "time_per_output_token_seconds": "tpot",
    "inter_token_latency_seconds": "itl",
    "e2e_request_latency_seconds": "e2e_latency",
    "request_queue_time_seconds": "queue_time",
    "queue_time_seconds": "queue_time",
    "request_prefill_time_seconds": "prefill_time",
    "request_decode_time_seconds": "decode_time",
}
# A share or rate is one counter by another.
_RATIOS = (
    (Column("draft_acceptance_rate", "", "higher"), "spec_decode_num_accepted_tokens", "spec_decode_num_draft_tokens"),
    (Column("prefix_cache_hit_rate", "", "unknown"), "prefix_cache_hits", "prefix_cache_queries"),
    (Column("prompt_throughput", "tok/s", "higher"), "prompt_tokens", "prompt_seconds"),
    (Column("generation_throughput", "tok/s", "higher"), "tokens_predicted", "tokens_predicted_seconds"),
)
_COUNTERS = {
    "request_success_total": Column("requests", "", "unknown"),
    "num_requests_total": Column("requests", "", "unknown"),
    "num_aborted_requests_total": Column("aborted_requests", "", "unknown"),
    "num_preemptions_total": Column("preemptions", "", "unknown"),
    "generation_tokens_total": Column("generation_tokens", "tokens", "unknown"),
    "prompt_tokens_total": Column("prompt_tokens", "tokens", "unknown"),
    "tokens_predicted_total": Column("generation_tokens", "tokens", "unknown"),
}
# A gauge of several ranks is their sum where it is an amount, and their mean where it is a share.
_AMOUNTS = {
    "gen_throughput": Column("gen_throughput", "tok/s", "higher"),
    "num_requests_running": Column("running_requests", "", "unknown"),
    "num_running_reqs": Column("running_requests", "", "unknown"),
    "requests_processing": Column("running_requests", "", "unknown"),
    "num_requests_waiting": Column("waiting_requests", "", "unknown"),
    "num_queue_reqs": Column("waiting_requests", "", "unknown"),
    "requests_deferred": Column("waiting_requests", "", "unknown"),
}
_SHARES = {
    "kv_cache_usage_perc": Column("kv_cache_usage", "", "unknown"),
    "gpu_cache_usage_perc": Column("kv_cache_usage", "", "unknown"),
    "kv_cache_usage_ratio": Column("kv_cache_usage", "", "unknown"),
    "token_usage": Column("kv_cache_usage", "", "unknown"),
    "cache_hit_rate": Column("prefix_cache_hit_rate", "", "unknown"),
    "spec_accept_length": Column("accept_length", "tokens", "higher"),
    "spec_accept_rate": Column("accept_rate", "", "higher"),
}
_NONE_AT_ZERO = ("spec_accept_length", "spec_accept_rate")  # nothing was drafted
_RANK = ("tp_rank", "pp_rank", "moe_ep_rank")


class Reading(NamedTuple):
    labels: Mapping[str, str]
    value: float


Scrape = Mapping[str, Sequence[Reading]]
"""By name, without the engine's prefix."""


def recognises(head: str) -> bool:
    return _SAMPLE.search(head) is not None


def read(source: Source) -> Found:
    """Raises NothingRead."""
    before = _scrapes(source.data[: source.begin] or source.earlier)[-1:]
    now = _scrapes(source.data[source.begin :])
    if not now:
        raise NothingRead("no scrape of vLLM, SGLang or llama.cpp in it that was added now")
    scrapes = [*before, *now]
    anew = any(_restarted(one, other) for one, other in pairwise(scrapes))
    first = scrapes[0] if len(scrapes) > 1 and not anew else {}
    metrics = tuple(_metrics(now, first))
    if not metrics:
        raise NothingRead("the scrapes tell of no request, no gauge and no counter that is known")
    return Found(metrics, _workload(now[-1]), () if first else (f"{source.name}: {_ANEW if anew else _ONCE}",))


def _scrapes(data: bytes) -> list[Scrape]:
    """Where a family comes again, the next one begins. A last line without an end is none. Raises NothingRead."""
    from prometheus_client.parser import text_string_to_metric_families

    scrapes: list[dict[str, list[Reading]]] = []
    seen: set[str] = set()
    text = data[: data.rfind(b"\n") + 1].decode("utf-8", "backslashreplace")
    try:
        for family in text_string_to_metric_families(text):
            if not scrapes or family.name in seen:
                scrapes.append({})
                seen = set()
            seen.add(family.name)
            for sample in family.samples:
                name = _own(sample.name)
                if name:
                    scrapes[-1].setdefault(name, []).append(Reading(sample.labels, _measured(sample.value)))
    except ValueError as error:
        raise NothingRead(f"it is no text of Prometheus: {error}") from None
    return [scrape for scrape in scrapes if scrape.keys() - {_STARTED}]


def _own(name: str) -> str:
    """Without the engine's prefix; empty for what is of no engine."""
    engine, _, rest = name.partition(":")
    return rest if f"{engine}:" in _ENGINES else name if name == _STARTED else ""


def _restarted(first: Scrape, last: Scrape) -> bool:
    """Its counters began anew, or it says so."""
    fell = any(_total(last, name) < _total(first, name) for name in first if name.endswith("_total"))
    return fell or (_STARTED in first and _STARTED in last and first[_STARTED] != last[_STARTED])


def _measured(value: float) -> float:
    """NaN, which stands for what was not measured yet, also in place of what nothing can measure."""
    return value if 0 <= value < _MOST else nan


def _total(scrape: Scrape, name: str) -> float:
    return sum(reading.value for reading in scrape.get(name, ()))


def _metrics(now: Sequence[Scrape], first: Scrape) -> Iterator[Metric]:
    last, told = now[-1], set()
    found = (*_histograms(last, first), *_counters(last, first), *_gauges(now))
    for metric in sorted(found, key=lambda it: bool(it.gap)):
        if metric.name not in told:
            told.add(metric.name)
            yield metric


def _histograms(last: Scrape, first: Scrape) -> Iterator[Metric]:
    for name, short in _HISTOGRAMS.items():
        count = _total(last, f"{name}_count") - _total(first, f"{name}_count")
        total = _total(last, f"{name}_sum") - _total(first, f"{name}_sum")
        if isnan(count + total):
            yield Metric(short, "s", "lower", gap=_NO_NUMBER)
        elif count > 0:
            quantiles = dict(_quantiles(_buckets(last, name), _buckets(first, name)))
            summary = Summary(count=int(count), mean=total / count, quantiles=quantiles)
            yield Metric(short, "s", "lower", source=f"prometheus, {name}", kind="summary", summary=summary)


def _buckets(scrape: Scrape, name: str) -> Mapping[float, float]:
    """How many took no longer than so many seconds."""
    found: defaultdict[float, float] = defaultdict(float)
    for reading in scrape.get(f"{name}_bucket", ()):
        found[float(reading.labels.get("le", "inf"))] += reading.value
    return found


def _quantiles(last: Mapping[float, float], first: Mapping[float, float]) -> Iterator[tuple[str, float]]:
    """Linear within a bucket, as Prometheus reckons; none where it has no upper end."""
    counts = [(end, count - first.get(end, 0.0)) for end, count in sorted(last.items())]
    if any(isnan(count) for _, count in counts):
        return
    for percent in _QUANTILES:
        below_end, below = 0.0, 0.0
        for end, count in counts:
            if count >= counts[-1][1] * percent / 100:
                if end != float("inf"):
                    part = (counts[-1][1] * percent / 100 - below) / (count - below) if count > below else 1.0
                    yield str(percent), below_end + (end - below_end) * part
                break
            below_end, below = end, count


def _counters(last: Scrape, first: Scrape) -> Iterator[Metric]:
    def grown(name: str) -> float:
        return _total(last, name) - _total(first, name)

    drafts, accepted = grown("spec_decode_num_drafts_total"), grown("spec_decode_num_accepted_tokens_total")
    if not drafts <= 0:
        yield _counted(Column("acceptance_length", "tokens", "higher"), 1 + accepted / drafts)
    for column, above, below in _RATIOS:
        if f"{above}_total" in last and not (whole := grown(f"{below}_total")) <= 0:
            yield _counted(column, grown(f"{above}_total") / whole)
    for name, column in _COUNTERS.items():
        if name in last:
            yield _counted(column, grown(name))


def _counted(column: Column, value: float) -> Metric:
    if isnan(value):
        return Metric(column.name, column.unit, column.better, gap=_NO_NUMBER)
    return Metric(column.name, column.unit, column.better, (value,), source="prometheus, counters")


def _gauges(now: Sequence[Scrape]) -> Iterator[Metric]:
    for name, column in {**_AMOUNTS, **_SHARES}.items():
        told = [_gauge(scrape[name], name in _AMOUNTS) for scrape in now if name in scrape]
        samples = tuple(value for value in told if not isnan(value))
        if told and not samples:
            yield Metric(column.name, column.unit, column.better, gap=_NO_NUMBER)
        elif samples and not (name in _NONE_AT_ZERO and not any(samples)):
            metric = Metric(column.name, column.unit, column.better, samples, "prometheus, gauges", kind="series")
            yield condensed(metric)


def _gauge(readings: Sequence[Reading], is_amount: bool) -> float:
    """The ranks of one scheduler tell the same. NaN where none tells a number."""
    of: dict[tuple[tuple[str, str], ...], float] = {}
    for reading in (it for it in readings if not isnan(it.value)):
        scheduler = tuple((name, value) for name, value in sorted(reading.labels.items()) if name not in _RANK)
        of[scheduler] = max(reading.value, of.get(scheduler, reading.value))
    return sum(of.values()) / (1 if is_amount else len(of)) if of else nan


def _workload(scrape: Scrape) -> Mapping[str, str]:
    names = {reading.labels["model_name"] for of in scrape.values() for reading in of if "model_name" in reading.labels}
    return {"prometheus/model_name": next(iter(names))} if len(names) == 1 else {}
