"""What no measured part accounts for."""

from collections.abc import Iterator
from typing import NamedTuple

from fingerprint.explain.arithmetic.identities import residual
from fingerprint.explain.arithmetic.numbers import Number, Numbers, cycle_seen, is_plain, parts_sum
from fingerprint.explain.contract import Residual
from fingerprint.words import quantities, quantity

_TOLD = 0.03  # of the whole: less is rounding


class _Left(NamedTuple):
    whole: Number
    parts: Number
    perhaps: str  # what may be in it

    @property
    def ms(self) -> float:
        return 1000 * residual(self.whole.value, [self.parts.value])

    @property
    def is_told(self) -> bool:
        return self.ms >= _TOLD * 1000 * self.whole.value


def residuals(x: Numbers, y: Numbers, names: tuple[str, str]) -> tuple[Residual, ...]:
    """What each side's whole is longer than its parts; one line where both were reckoned from the same numbers.

    names: of the sides, empty where there is only one.
    """
    a, b = ({(left.whole.name, left.parts.name): left for left in _left(side)} for side in (x, y))
    return tuple(_residual(a.get(key), b.get(key), names) for key in dict.fromkeys((*a, *b)))


def _left(numbers: Numbers) -> Iterator[_Left]:
    seen, cycle, parts = cycle_seen(numbers), numbers.get("cycle"), parts_sum(numbers)
    inner = numbers.get("decode") if is_plain(numbers) else cycle
    if (whole := cycle or seen) and parts:
        yield _Left(whole, parts, "")
    if seen and inner:
        first = numbers.get("ttft")
        yield _Left(seen, inner, f", {first.name} perhaps among it" if first else "")


def _residual(a: _Left | None, b: _Left | None, names: tuple[str, str]) -> Residual:
    """Said of what is more than rounding; what is below 0 beyond that is a contradiction, and told as one."""
    one = a or b
    assert one is not None
    leave = "leave" if " + " in one.parts.name else "leaves"
    says = f"{one.parts.name} {leave} {_words(a, b, names)} of {one.whole.name}{one.perhaps}"
    return Residual(
        whole=one.whole.name,
        parts=one.parts.name,
        a=a.ms if a else None,
        b=b.ms if b else None,
        unit="ms",
        says=says if any(left and left.is_told for left in (a, b)) else "",
    )


def _words(a: _Left | None, b: _Left | None, names: tuple[str, str]) -> str:
    if a and b and min(a.ms, b.ms) >= 0:
        return quantities(_three(a.ms), _three(b.ms), "ms")
    told = [(name, left.ms) for name, left in zip(names, (a, b), strict=True) if left and left.ms >= 0]
    return " and ".join(f"{quantity(_three(ms), 'ms')}{f' in {name},' if name else ''}" for name, ms in told)


def _three(number: float) -> float:
    return float(f"{number:.3g}")
