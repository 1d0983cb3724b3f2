"""From which accept length on speculation pays."""

from msgspec.structs import replace

from fingerprint.explain.arithmetic.identities import break_even, throughput
from fingerprint.explain.arithmetic.numbers import ONE, Number, Numbers, cycle, is_plain
from fingerprint.explain.contract import BreakEven
from fingerprint.explain.values import percent
from fingerprint.words import quantity


def plain_rate(numbers: Numbers) -> Number | None:
    """Tokens a second without speculation, as this run itself tells them."""
    if found := numbers.get("plain throughput"):
        return found
    if is_plain(numbers) and (found := numbers.get("throughput")):
        return found
    step = numbers.get("decode") or (numbers.get("token") if is_plain(numbers) else None)
    return ONE / step if step else None


def rate_of_other(numbers: Numbers, name: str) -> Number | None:
    """The same as told by another run, `name`, and so named."""
    found = plain_rate(numbers)
    return replace(found, name=f"{found.name} of {name}") if found else None


def pays(numbers: Numbers, baseline: Number | None, side: str, name: str) -> BreakEven | None:
    """Of the run `name`, where it speculates and its cycle is known. side: `a`, `b`, or empty where there is one."""
    step, accept = cycle(numbers), numbers.get("accept length")
    if baseline is None or step is None or is_plain(numbers):
        return None
    needed = break_even(baseline.value, step.value)
    return BreakEven(
        side=side,
        baseline=baseline.value,
        baseline_is=baseline.name,
        cycle=step.value * 1000,
        cycle_is=step.name,
        formula=f"break-even accept length = {(baseline * step).name}",
        accept_length=needed,
        measured=accept.value if accept else None,
        throughput=throughput(accept.value, step.value) if accept else None,
        margin=accept.value / needed - 1 if accept else None,
        says=f"{name} {three(needed)}{_compared(accept, needed)}",
    )


def _compared(accept: Number | None, needed: float) -> str:
    return f" (has {three(accept.value)}, {percent(accept.value / needed)})" if accept else ""


def three(number: float) -> str:
    """Three significant digits."""
    return quantity(float(f"{number:.3g}"), "")
