"""What a name tells of its metric: unit, which way is better, whether it is a peak. Where unsure: nothing."""

import re

from fingerprint.metrics.metric import Better

_UNITS = {
    "ms": "ms", "msec": "ms", "msecs": "ms", "milliseconds": "ms",
    "us": "us", "usec": "us", "microseconds": "us",
    "ns": "ns", "nsec": "ns", "nanoseconds": "ns",
    "s": "s", "sec": "s", "secs": "s", "seconds": "s",
    "bytes": "B", "kb": "kB", "mb": "MB", "gb": "GB", "kib": "KiB", "mib": "MiB", "gib": "GiB",
    "percent": "%", "pct": "%",
}  # fmt: skip
_SPELLED = {"µs": "us", "μs": "us", "sec": "s", "second": "s", "seconds": "s", "milliseconds": "ms", "byte": "B"}
_RATE = re.compile(r"(?:^|_)(?P<what>[a-z]+)_(?:per|/)_(?:s|sec|second)$|(?:^|_)(?P<short>tok|tokens|req|requests)_s$")
_TIMES = ("s", "ms", "us", "ns")
_MORE_IS_BETTER = re.compile(r"(?:^|_)(?:throughput|goodput|bandwidth|ops|tps|qps|rps|fps|tflops|gflops)(?:_|$)")
_FAULTS = re.compile(r"err|fail|miss|drop|timeout|retr|preempt|evict|abort|cancel")
_PEAK = re.compile(r"^(?:max|maximum|peak)(?:_|$)|_(?:max|maximum|peak)$")


def plain_unit(unit: str) -> str:
    """As units are written here: `us` for microseconds, `s` for seconds."""
    return _SPELLED.get(unit, unit)


def unit_of(name: str) -> str:
    """By the end of the name: `mean_ttft_ms`, `tokens_per_second`, `ms`. Empty where it tells none, as `s` alone."""
    words = _words(name)
    if rate := _RATE.search(words):
        return f"{rate['what'] or rate['short']}/s"
    last = words.rpartition("_")[2]
    return _UNITS.get(last, "") if last != words or len(last) > 1 else ""


def better_of(name: str, unit: str) -> Better:
    """By what everybody agrees on: less time, more done in a time."""
    words = _words(name)
    if unit in _TIMES:
        return "lower"
    if unit.endswith("/s") or _MORE_IS_BETTER.search(words):
        return "unknown" if _FAULTS.search(words) else "higher"
    return "unknown"


def is_peak(name: str) -> bool:
    return _PEAK.search(_words(name)) is not None


def _words(name: str) -> str:
    return re.sub(r"[^a-z0-9/%]+", "_", name.lower()).strip("_")
