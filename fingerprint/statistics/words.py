"""What the verdicts say, in words."""

from collections.abc import Sequence
from math import exp, expm1
from statistics import median

from fingerprint.statistics.memory import effective_size
from fingerprint.statistics.rules import ALARM, ASSUMED, FEW
from fingerprint.statistics.series import Series, typical_values
from fingerprint.statistics.spread import components, modes, rare_mode_alarm


def percent(share: float, sign: bool = False) -> str:
    """0.0812 -> `8.1 %`, 0.58 -> `58 %`."""
    form = ("+" if sign else "") + (".0f" if abs(share) >= 0.0995 else ".2g")
    return f"{share * 100:{form}} %"


def distance(shift: float) -> str:
    """Of logarithms: `58 %`; beyond a doubling `x 24`, which no percentage tells as well in both directions."""
    return percent(expm1(shift)) if expm1(shift) < 1 else f"x {exp(shift):.3g}"


def counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def reach(values: Sequence[float]) -> str:
    """`100 to 111, 11 %`: of values above 0."""
    return f"{min(values):.4g} to {max(values):.4g}, {percent(max(values) / min(values) - 1)}"


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


def sides(a: Series, b: Series, unit: str = "start") -> str:
    """`5 starts of A, 1 of B`."""
    return f"{counted(len(a.starts), unit)} of A, {len(b.starts)} of B"


def numbers(a: Series, b: Series) -> str:
    """How little there is to go by."""
    if len(a.samples) == len(b.samples) == 1:
        return "one number each"
    few = "too few, or they remember each other too long" if min(len(a.samples), len(b.samples)) > 1 else "too few"
    return f"{counted(len(a.samples), 'sample')} of A and {len(b.samples)} of B, in {sides(a, b)}, are {few}"


def witnesses(others: int, unit: str) -> str:
    return f"{others} other {unit}s show" if others > 1 else f"their own {unit}s show"


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


def longer_starts(a: Series, b: Series) -> str:
    """Whether more samples in each start would help as more starts do; empty where starts hold one sample each."""
    if len(a.samples) + len(b.samples) == len(a.starts) + len(b.starts):
        return ""
    levels = [components(side) for side in (a, b)]
    within, between = (
        sum(part**2 for part in parts) for parts in zip(*((c.within, c.between or 0) for c in levels), strict=True)
    )
    return "; more samples in each start would " + ("help as well" if within > between else "hardly help")


def worth(a: Series, b: Series) -> str:
    """`412 samples of A, 398 of B, worth 80 and 75 independent ones`."""
    independent = [f"{sum(effective_size(start.samples) for start in side.starts):.0f}" for side in (a, b)]
    return f"{len(a.samples)} samples of A, {len(b.samples)} of B, worth {' and '.join(independent)} independent ones"


def warmed_up(name: str, whole: Series, kept: Series) -> str:
    """How many samples were left out; empty where none were."""
    cut = len(whole.samples) - len(kept.samples)
    if not cut:
        return ""
    where = "first" if len(whole.starts) == 1 else f"first of {len(whole.starts)} starts, altogether"
    return f"{name}: the {where} {cut} of {len(whole.samples)} samples were warm-up and do not count"


def two_groups(name: str, side: Series) -> str:
    """Where the starts are mixed; else empty."""
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
    middle = f"their median is {median(samples):.4g}, their range {min(samples):.4g} to {max(samples):.4g}"
    if below < 0.75 and above < 0.75:
        return f"{value:.4g} is typical of the {len(samples)} samples: {middle}"
    side, share = ("above", below) if below >= 0.75 else ("below", above)
    return f"{value:.4g} is a peak, {side} {share:.0%} of the {len(samples)} samples, and no typical value: {middle}"
