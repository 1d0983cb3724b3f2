"""The answer of `fingerprint breakeven`: its published document, `fingerprint.breakeven/1`."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import to_builtins

from fingerprint.explain.arithmetic.clash import contradictions
from fingerprint.explain.arithmetic.numbers import PARTS, Number, Numbers, cycle
from fingerprint.explain.arithmetic.pays import pays, three
from fingerprint.explain.arithmetic.rest import residuals
from fingerprint.explain.contract import BreakEven

SCHEMA = "fingerprint.breakeven/1"
_EVEN = 0.03  # a margin that numbers of two or three digits cannot tell from none


def supposed(numbers: Numbers, given: Numbers) -> Numbers:
    """What a run measured, with what is given in its place: of a cycle that is given in part or whole nothing of the
    run's own is kept, and an accept length that is given leaves the run's cycle as it was."""
    if given.keys() & {"cycle", *PARTS}:
        return {**_only(numbers, "accept length"), **given}
    step = cycle(numbers) if "accept length" in given else None
    return {**_only(numbers, *PARTS), "cycle": step, **given} if step else {**numbers, **given}


def _only(numbers: Numbers, *kept: str) -> Numbers:
    return {quantity: number for quantity, number in numbers.items() if quantity in kept}


def document(numbers: Numbers, baseline: Number, run: str) -> Mapping[str, Any] | None:
    """None where the numbers do not tell the time of a cycle. run: whose they are, or `given`."""
    even = pays(numbers, baseline, "", run)
    if even is None:
        return None
    left = residuals({}, numbers, ("", ""))
    clash = contradictions(numbers, "", run)
    return {
        "schema": SCHEMA,
        "run": run,
        "break_even": _without(to_builtins(even), "side", "says"),
        "residuals": [{"whole": it.whole, "parts": it.parts, "left": it.b, "unit": it.unit} for it in left],
        "contradictions": [_without(to_builtins(each), "side") for each in clash],
        "says": [*_in_words(even), *(f"{it.says}." for it in left if it.says), *(each.says for each in clash)],
    }


def _without(part: Mapping[str, Any], *sides: str) -> Mapping[str, Any]:
    """There are no two sides here."""
    return {name: value for name, value in part.items() if name not in sides}


def _in_words(even: BreakEven) -> Iterator[str]:
    plain, step = f"{three(even.baseline)} tok/s", f"{three(even.cycle)} ms"
    yield f"Break-even accept length {three(even.accept_length)}: {plain} without speculation x a cycle of {step}."
    if even.measured is not None and even.margin is not None and even.throughput is not None:
        yield (
            f"Accept length {three(even.measured)} is {_apart(even.margin)}: {three(even.throughput)} tok/s with "
            f"speculation, {plain} without."
        )


def _apart(margin: float) -> str:
    if abs(margin) < _EVEN:
        return "about that"
    return f"{100 * abs(margin):.0f} % {'above it, speculation pays' if margin > 0 else 'below it, speculation loses'}"
