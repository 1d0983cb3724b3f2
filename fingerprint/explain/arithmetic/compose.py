"""Composes what a diff says of its numbers: two sides -> the contract's part."""

from collections.abc import Iterator, Sequence
from math import prod

from fingerprint.explain.arithmetic.clash import contradictions
from fingerprint.explain.arithmetic.crowd import OfOneStream, of_one_stream
from fingerprint.explain.arithmetic.numbers import Numbers, parts_sum, tokens
from fingerprint.explain.arithmetic.pays import pays, plain_rate, rate_of_other
from fingerprint.explain.arithmetic.rest import residuals
from fingerprint.explain.arithmetic.splitting import factors
from fingerprint.explain.contract import Arithmetic, BreakEven, Factor, MetricChange, Residual
from fingerprint.explain.metrics import MOVED, counted, is_marked
from fingerprint.explain.subject import Subject, unlike_ends

_SMALL = 0.005  # a share that would be written as 0 %


def arithmetic(a: Subject, b: Subject, metrics: Sequence[MetricChange]) -> Arithmetic | None:
    """None where the metrics of neither side say anything of each other, or the sides did not end alike.

    metrics: those that the diff tells, of which one has moved where a change is split.
    """
    if a.last is None or b.last is None or unlike_ends(a, b):
        return None
    x, y = of_one_stream(counted(a)), of_one_stream(counted(b))
    used = {name for side in (x, y) for number in side.numbers.values() for name in number.metrics}
    if not used & {metric.name for metric in metrics}:
        return None
    moved = any(metric.name in used and (metric.verdict in MOVED or is_marked(metric)) for metric in metrics)
    found = _composed(a, b, x, y, moved)
    if found is None:
        return None
    many = [f"{of.many} in {side.name}" for side, of in ((a, x), (b, y)) if of.many]
    return _of_many(" and ".join(many)) if many else found


def _composed(a: Subject, b: Subject, of_a: OfOneStream, of_b: OfOneStream, moved: bool) -> Arithmetic | None:
    x, y, each = of_a.numbers, of_b.numbers, of_a.each or of_b.each
    alike = not each or of_a.streams == of_b.streams  # speculation pays for few streams where it does not for many
    split, left = factors(x, y), residuals(x, y, (a.name, b.name))
    even = (
        pays(x, plain_rate(x) or (rate_of_other(y, b.name) if alike else None), "a", a.name),
        pays(y, plain_rate(y) or (rate_of_other(x, a.name) if alike else None), "b", b.name),
    )
    pay = tuple(each for each in even if each)
    clash = (*contradictions(x, "a", a.name), *contradictions(y, "b", b.name))
    if not (split or left or pay or clash):
        return None
    told = split if moved and not clash else ()
    says = (
        *(each.says for each in clash),
        *_split_in_words(told, "throughput of each stream" if each else "throughput"),
        *_even_in_words(pay),
        *_left_in_words([each.says for each in left if each.says and not _is_told(each, told)]),
    )
    identities = tuple(dict.fromkeys((*_identities(x), *_identities(y), *(each.formula for each in pay))))
    return Arithmetic(
        identities=identities, factors=split, residuals=left, break_even=pay, contradictions=clash, says=says
    )


def _of_many(why: str) -> Arithmetic:
    says = f"{why}: that throughput is accept length / cycle holds of one stream alone, so nothing is reckoned."
    return Arithmetic(identities=(), factors=(), residuals=(), break_even=(), contradictions=(), says=(says,))


def _identities(numbers: Numbers) -> Iterator[str]:
    rate, made, step = numbers.get("throughput"), tokens(numbers), numbers.get("cycle") or numbers.get("decode")
    if made and made.metrics:
        yield f"{rate.name if rate else 'throughput'} = {made.name} / {_name(numbers)}"
    elif made and rate and step:
        yield f"{rate.name} = 1 / {step.name}"
    if parts := parts_sum(numbers):
        yield f"{_name(numbers)} = {parts.name} + rest"


def _name(numbers: Numbers) -> str:
    return numbers["cycle"].name if "cycle" in numbers else "cycle"


def _split_in_words(split: Sequence[Factor], what: str) -> Iterator[str]:
    """By the parts of the cycle where they are known; as factors where some work against others."""
    cycle_is_split = any(factor.part_of for factor in split)
    causes = [factor for factor in split if not (cycle_is_split and factor.name == "cycle")]
    told = [(factor, factor.share) for factor in causes if factor.share is not None and abs(factor.share) >= _SMALL]
    told.sort(key=lambda cause: -abs(cause[1]))
    whole = f"{prod(factor.times for factor in split if not factor.part_of):.2f}"
    if any(share < 0 for _, share in told):
        yield f"{what} x {whole} = {', '.join(f'{factor.name} x {factor.times:.2f}' for factor, _ in told)}."
    elif told:
        yield f"Of {what} x {whole}: {', '.join(f'{factor.name} {100 * share:.0f} %' for factor, share in told)}."


def _is_told(left: Residual, split: Sequence[Factor]) -> bool:
    """Whether a part of the split is what is left, on both sides."""
    return any((factor.a, factor.b) == (left.a, left.b) for factor in split)


def _left_in_words(left: Sequence[str]) -> Iterator[str]:
    if left:
        yield f"{'; '.join(left)}."


def _even_in_words(even: Sequence[BreakEven]) -> Iterator[str]:
    if even:
        yield f"Break-even accept length: {'; '.join(each.says for each in even)}."
