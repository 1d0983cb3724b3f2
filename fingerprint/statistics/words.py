"""What the verdicts say, in words."""

from collections.abc import Sequence
from math import expm1
from statistics import median

from fingerprint.statistics.memory import effective_size
from fingerprint.statistics.rules import ALARM, ASSUMED, FEW
from fingerprint.statistics.series import Series, settled, typical_values
from fingerprint.statistics.shift import Shift
from fingerprint.statistics.spread import modes, rare_mode_alarm


def percent(share: float, sign: bool = False) -> str:
    """0.0812 -> `8.1 %`, 0.58 -> `58 %`."""
    form = ("+" if sign else "") + (".0f" if abs(share) >= 0.0995 else ".2g")
    return f"{share * 100:{form}} %"


def counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def change(found: Shift) -> str:
    """`+58 % (95 %: +55 % to +61 %)`."""
    estimate, low, high = (percent(expm1(value), sign=True) for value in (found.estimate, found.low, found.high))
    return f"{estimate} (95 %: {low} to {high})"


def reach(values: Sequence[float]) -> str:
    """From the smallest to the largest."""
    return f"{min(values):.4g} to {max(values):.4g}"


def not_measured(has_a: bool, has_b: bool) -> str:
    missing = " and ".join(name for name, has in (("A", has_a), ("B", has_b)) if not has)
    return f"not measured in {missing}"


def peak(a: Series, b: Series) -> str:
    side, other = ("A", "B") if a.kind == "peak" else ("B", "A")
    value = (a if side == "A" else b).median
    return f"not comparable: {side}'s {value:.4g} is a peak, and a peak is not a typical value, as {other}'s is"


def lies_within(a: Sequence[float], b: Sequence[float]) -> str:
    """Whose typical value lies within whose spread, both ways tested; empty where neither does."""
    b_in_a, a_in_b = (min(wide) <= median(value) <= max(wide) for value, wide in ((b, a), (a, b)))
    if b_in_a and a_in_b and len(a) > 1 and len(b) > 1:
        return f"each lies within the other's own spread (A {reach(a)}, B {reach(b)})"
    if b_in_a and len(a) > 1:
        return f"B's {median(b):.4g} lies within A's own spread ({reach(a)})"
    return f"A's {median(a):.4g} lies within B's own spread ({reach(b)})" if a_in_b and len(b) > 1 else ""


def against(a: Series, b: Series) -> str:
    return f"{counted(len(b.starts), 'start')} against {len(a.starts)}"


def numbers(a: Series, b: Series) -> str:
    """How little there is to go by."""
    if len(a.samples) == len(b.samples) == 1:
        return "one number each"
    return f"{against(a, b)}, {counted(len(b.samples), 'sample')} against {len(a.samples)}"


def witnesses(others: int) -> str:
    return f"{counted(others, 'other start')} show" if others else "their own starts show"


def rare_mode(n: int, m: int, others: int) -> str:
    """A warning where starts are so few that a rare mode may pass for a change; else empty."""
    alarm = rare_mode_alarm(n, m, others)
    if alarm <= ALARM:
        return ""
    return f"not excluded: a rare mode of starts that the others did not show (at worst {percent(alarm)} of such cases)"


def assumed(what: str) -> str:
    return f"how {what} differ by themselves is not known and was taken as {percent(ASSUMED)}"


def more_epochs() -> str:
    return f"A and B in turn, in {FEW} epochs each, would tell; so would other starts in five epochs"


def worth(a: Series, b: Series) -> str:
    """`398 samples against 412, worth 75 and 80 independent ones`."""
    sizes = [sum(effective_size(settled(start)) for start in side.starts) for side in (b, a)]
    return (
        f"{len(b.samples)} samples against {len(a.samples)}, worth {sizes[0]:.0f} and {sizes[1]:.0f} independent ones"
    )


def notes(a: Series, b: Series, history: Series) -> tuple[str, ...]:
    """Warm-up that was left out, and starts that fall into two groups."""
    found = [_warm_up(name, side) for name, side in (("A", a), ("B", b))]
    found += [_two_groups(name, side) for name, side in (("A", a), ("B", b), ("the history", history))]
    return tuple(note for note in found if note)


def _warm_up(name: str, side: Series) -> str:
    cut = sum(len(start.samples) - len(settled(start)) for start in side.starts)
    return f"{name}: the first {cut} of {len(side.samples)} samples were warm-up and do not count" if cut else ""


def _two_groups(name: str, side: Series) -> str:
    found = modes(typical_values(side))
    if found is None:
        return ""
    return (
        f"the starts of {name} fall into two groups: {found.low_count} around {found.low:.4g}, "
        f"{found.high_count} around {found.high:.4g}"
    )


def standing(value: float, samples: Sequence[float]) -> str:
    """What a single quoted number is among the samples it was quoted from: typical, or a peak."""
    below = sum(sample < value for sample in samples) / len(samples)
    above = sum(sample > value for sample in samples) / len(samples)
    middle = f"their median is {median(samples):.4g}, their range {reach(samples)}"
    if below < 0.75 and above < 0.75:
        return f"{value:.4g} is typical of the {len(samples)} samples: {middle}"
    side, share = ("above", below) if below >= 0.75 else ("below", above)
    return f"{value:.4g} is a peak, {side} {share:.0%} of the {len(samples)} samples, and no typical value: {middle}"
