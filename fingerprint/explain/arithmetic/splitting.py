"""A change of throughput by its causes: accept length, and the parts of the cycle."""

from collections.abc import Iterator, Mapping
from math import exp, log

from msgspec.structs import replace

from fingerprint.explain.arithmetic.identities import Split, residual, split
from fingerprint.explain.arithmetic.numbers import PARTS, Number, Numbers, cycle_seen, is_plain, tokens
from fingerprint.explain.contract import Factor

REST = "rest of the cycle"
OUTSIDE = "outside the cycle"
OUTSIDE_STEP = "outside the step"
_STEADY = log(1.005)  # of a change smaller than this no share is told: it would be one of rounding

Laid = Mapping[str, float]
"""A cycle as parts that add up to it: name -> s."""


def factors(x: Numbers, y: Numbers) -> tuple[Factor, ...]:
    """Accept length and the cycle first, whose shares add up to 1; then the parts of the cycle, which add up to its."""
    made, laid = (tokens(x), tokens(y)), laid_out(x, y)
    if laid is None or made[0] is None or made[1] is None:
        return ()
    if is_plain(x) and is_plain(y) and len(laid[0]) == 1:
        return ()  # a throughput says nothing of itself
    return tuple(_factors((made[0], made[1]), *laid))


def _factors(made: tuple[Number, Number], a: Laid, b: Laid) -> Iterator[Factor]:
    found = split((made[0].value, made[1].value), a, b)
    if name := made[0].metrics or made[1].metrics:
        yield _factor(name[0], "", (made[0].value, made[1].value), found.accept_length, found)
    yield _factor("cycle", "ms", _ms(sum(a.values()), sum(b.values())), found.cycle, found)
    if len(a) > 1:
        for part in a:
            factor = _factor(part, "ms", _ms(a[part], b[part]), found.parts[part], found)
            yield replace(factor, part_of="cycle")


def _factor(name: str, unit: str, sides: tuple[float, float], effect: float, found: Split) -> Factor:
    share = effect / found.whole if abs(found.whole) >= _STEADY else None
    return Factor(name=name, part_of="", a=sides[0], b=sides[1], unit=unit, times=exp(effect), share=share)


def _ms(a: float, b: float) -> tuple[float, float]:
    return a * 1000, b * 1000


def laid_out(x: Numbers, y: Numbers) -> tuple[Laid, Laid] | None:
    """The cycle as throughput shows it, else as it was measured, else its parts: by what both sides measured.

    The names are those of A's metrics on both sides.
    """
    seen = cycle_seen(x), cycle_seen(y)
    if seen[0] and seen[1]:
        return _laid(seen[0], x, x, y), _laid(seen[1], y, x, y)
    if "cycle" in x and "cycle" in y:
        return _laid(x["cycle"], x, x, y), _laid(y["cycle"], y, x, y)
    if "verify" in x and "verify" in y:
        return _parts(x, x, y), _parts(y, x, y)
    return None


def _laid(whole: Number, numbers: Numbers, x: Numbers, y: Numbers) -> Laid:
    """`numbers`, which are those of one side, laid out by what both have."""
    parts = _parts(numbers, x, y)
    if is_plain(x) and is_plain(y):
        return {**parts, OUTSIDE_STEP: residual(whole.value, list(parts.values()))}
    measured = "cycle" in x and "cycle" in y
    cycle = numbers["cycle"] if measured else whole
    rest = REST if parts else x["cycle"].name if measured else "cycle"
    laid = {**parts, rest: residual(cycle.value, list(parts.values()))}
    return laid if cycle is whole else {**laid, OUTSIDE: whole.value - cycle.value}


def _parts(numbers: Numbers, x: Numbers, y: Numbers) -> Laid:
    wanted = ("decode",) if is_plain(x) and is_plain(y) else PARTS
    return {x[part].name: numbers[part].value for part in wanted if part in x and part in y}
