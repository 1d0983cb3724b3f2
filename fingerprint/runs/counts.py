"""What a server counted while it was recorded: of its own metrics when it was first asked, and when last."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from fingerprint.metrics import Metric

_OF_A_MOMENT = "prometheus, gauges"
_OF_THE_RUN = frozenset({"accept_length"})
"""Of gauges those that tell of more than the moment."""
_RATES: Mapping[str, tuple[str, str]] = {
    "generation_tokens": ("generation_rate", "tok/s"),
    "prompt_tokens": ("prompt_rate", "tok/s"),
    "requests": ("request_rate", "1/s"),
}


class _Scrape(NamedTuple):
    """at: seconds, on the monotonic clock."""

    at: float
    lines: Sequence[str]


class Counts:
    """By target."""

    def __init__(self) -> None:
        self._first: dict[str, _Scrape] = {}
        self._last: dict[str, _Scrape] = {}

    def take(self, target: str, lines: Sequence[str]) -> None:
        """Prometheus' text, line by line, as it was answered now."""
        scrape = _Scrape(time.monotonic(), lines)
        self._first.setdefault(target, scrape)
        self._last[target] = scrape

    def metrics(self) -> Iterator[Metric]:
        """Of who was asked twice. Of several servers each name stands behind its server's."""
        twice = [target for target, last in self._last.items() if last is not self._first[target]]
        for target in twice:
            for metric in between(self._first[target], self._last[target]):
                yield replace(metric, name=f"{target}/{metric.name}") if len(self._last) > 1 else metric


def between(first: _Scrape, last: _Scrape) -> Iterator[Metric]:
    """What was counted from the one to the other, and how much of it a second."""
    from fingerprint.metrics.found import NothingRead
    from fingerprint.metrics.logs import prometheus
    from fingerprint.metrics.source import Source

    texts = ["".join(f"{line}\n" for line in scrape.lines).encode() for scrape in (first, last)]
    try:
        found = prometheus.read(Source("/metrics", b"".join(texts), begin=len(texts[0])))
    except NothingRead:
        return
    if found.remarks:  # it was started anew in between
        return
    known = [it for it in found.metrics if it.source != _OF_A_MOMENT or it.name in _OF_THE_RUN]
    yield from (replace(it, source=f"{it.source}, of the server") for it in known)
    yield from _rates(known, last.at - first.at)


def _rates(metrics: Iterable[Metric], seconds: float) -> Iterator[Metric]:
    for it in metrics:
        if it.name in _RATES and it.samples and seconds > 0:
            name, unit = _RATES[it.name]
            yield Metric(name, unit, samples=(it.samples[0] / seconds,), source=f"{it.source}, of the server, by time")
