"""Numbers that cannot all be true together, each held against what it cannot be more than."""

from collections.abc import Iterator
from typing import NamedTuple

from fingerprint.explain.arithmetic.numbers import (
    ONE,
    Number,
    Numbers,
    cycle_seen,
    is_plain,
    parts_sum,
    token_times,
)
from fingerprint.explain.contract import Contradiction
from fingerprint.words import quantity

TOLERANCE = 0.03
"""Numbers are written with two or three digits, 2.0 tokens as well as 2.04, and a median stands for a mean."""


class _Claim(NamedTuple):
    """That one time is at most another, because it is part of it. unless: what would make it untrue."""

    part: Number
    whole: Number
    unless: str


def contradictions(numbers: Numbers, side: str, name: str) -> tuple[Contradiction, ...]:
    """Of the run `name`, side `a` or `b`: beyond what either number spreads, and TOLERANCE."""
    found = []
    for claim in _claims(numbers):
        beyond = claim.part.low / claim.whole.high - 1
        if beyond > TOLERANCE:
            found.append(_contradiction(claim, side, name, _hint(claim, numbers)))
    return tuple(found)


def _claims(numbers: Numbers) -> Iterator[_Claim]:
    cycle, parts = numbers.get("cycle"), parts_sum(numbers)
    if cycle and parts:
        yield _Claim(parts, cycle, "they overlap")
    seen = cycle_seen(numbers)
    unless = "tokens were speculated" if is_plain(numbers) else "more than one stream was served"
    for step in (numbers.get("decode") if is_plain(numbers) else None, cycle, None if cycle else parts):
        if step and seen:
            yield _Claim(step, seen, unless)
    if len(times := token_times(numbers)) > 1:
        yield _Claim(times[1], times[0], "more than one stream was served")
    if (plain := numbers.get("plain throughput")) and (decode := numbers.get("decode")):
        yield _Claim(decode, ONE / plain, "more than one stream was served")


def _hint(claim: _Claim, numbers: Numbers) -> str:
    """Some clients count the drafted tokens alone, and leave out the one that the verify step itself gives."""
    accept = numbers.get("accept length")
    if accept is None or accept.name not in claim.whole.metrics:
        return claim.unless
    longer = claim.whole.value * (accept.value + 1) / accept.value
    if abs(claim.part.value / longer - 1) > TOLERANCE:
        return claim.unless
    return f"{accept.name} leaves out the token that verification itself gives: with it they agree"


def _contradiction(claim: _Claim, side: str, name: str, unless: str) -> Contradiction:
    part, whole = milliseconds(claim.part), milliseconds(claim.whole)
    beyond = claim.part.low / claim.whole.high - 1
    more = claim.part.value / claim.whole.value - 1
    apart = "" if abs(more - beyond) < 0.005 else f", {beyond:.0%} beyond their spread".replace("%", " %")
    return Contradiction(
        side=side,
        metrics=tuple(dict.fromkeys(claim.part.metrics + claim.whole.metrics)),
        part=claim.part.value * 1000,
        whole=claim.whole.value * 1000,
        unit="ms",
        beyond=beyond,
        says=f"{name}: {claim.part.name} ({part}) is {100 * more:.0f} % more than {claim.whole.name} ({whole}){apart}: "
        f"not all of them are true, unless {unless}.",
    )


def milliseconds(number: Number) -> str:
    return quantity(float(f"{number.value * 1000:.3g}"), "ms")
