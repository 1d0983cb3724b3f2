"""Which metrics are which quantities, by name and unit. What a name does not tell surely is none of them."""

import re
from typing import Literal, NamedTuple

from fingerprint.metrics.naming import unit_of

Quantity = Literal[
    "throughput",
    "plain throughput",
    "accept length",
    "cycle",
    "draft",
    "verify",
    "overhead",
    "decode",
    "token",
    "ttft",
    "stream throughput",
]
"""token: the time per output token, however it was made. decode: a step without speculation, which makes one.
stream throughput: of each of several streams that were served at once."""

_NAMES: dict[Quantity, tuple[str, ...]] = {
    "throughput": (
        "throughput", "output_throughput", "token_throughput", "generation_throughput", "gen_throughput",
        "decode_throughput", "tokens_per_second", "tokens_per_s", "tokens_s", "tok_per_s", "tok_s",
        "output_tokens_per_second",
    ),
    "plain throughput": (
        "plain_throughput", "baseline_throughput", "plain_tokens_per_second", "plain_tok_s", "baseline_tok_s",
    ),
    "accept length": (
        "accept_length", "acceptance_length", "accept_len", "acceptance_len", "spec_accept_length",
        "spec_decode_acceptance_length",
    ),
    "cycle": ("cycle", "cycle_time"),
    "draft": ("draft", "draft_time", "draft_step"),
    "verify": ("verify", "verify_time", "verify_step"),
    "overhead": ("overhead", "cycle_overhead"),
    "decode": ("decode", "decode_step", "plain_decode", "plain_decode_step"),
    "token": ("tpot", "time_per_output_token"),
    "ttft": ("ttft", "time_to_first_token"),
    "stream throughput": ("throughput_per_stream",),
}  # fmt: skip
_BY_NAME = {name: quantity for quantity, names in _NAMES.items() for name in names}
_RATES = ("throughput", "plain throughput", "stream throughput")
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_TOKENS = ("", "tok", "token", "tokens")
_PER_SECOND = ("", *(f"{word}/s" for word in ("tok", "token", "tokens", "t")))
# Which of several to take: the identities hold of means.
_STATISTICS = ("", "mean", "avg", "average", "median")
_STATISTIC = re.compile(r"^(mean|avg|average|median)_")
_TIME = re.compile(r"_(?:ms|s|us|ns|msecs?|usecs?|secs?|seconds|milliseconds|microseconds)$")


class Known(NamedTuple):
    """size: what one of the metric's unit is in s, tokens or tokens a second. order: the least is taken of several."""

    quantity: Quantity
    size: float
    order: int


def known(name: str, unit: str) -> Known | None:
    """Of a metric. Without a unit a time is not known; a throughput is one of tokens, because nothing else has a
    name of these."""
    words = re.sub(r"[^a-z0-9]+", "_", re.split(r"[/.]", name.lower())[-1]).strip("_")
    statistic = _STATISTIC.match(words)
    words = _STATISTIC.sub("", words)
    quantity = _BY_NAME.get(words) or _BY_NAME.get(_TIME.sub("", words))
    size = _size(quantity, unit or unit_of(name)) if quantity else None
    if quantity is None or size is None:
        return None
    return Known(quantity, size, _STATISTICS.index(statistic[1] if statistic else ""))


def _size(quantity: Quantity, unit: str) -> float | None:
    if quantity in _RATES:
        return 1.0 if unit in _PER_SECOND else None
    if quantity == "accept length":
        return 1.0 if unit in _TOKENS else None
    return _SECONDS.get(unit)
