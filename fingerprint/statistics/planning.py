"""Before a run: what its repetitions can resolve, and how many would resolve more."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import expm1, log1p, sqrt

import msgspec

from fingerprint.statistics.distributions import t_quantile
from fingerprint.statistics.rules import ALARM, ASSUMED, FEW, POWER, SMALL, TAIL
from fingerprint.statistics.series import Series, settled, typical_values
from fingerprint.statistics.spread import Spread, half_interval, pooled, rare_mode_alarm
from fingerprint.statistics.words import counted, distance, percent

# What the tests need over Student's with a pooled variance, by starts on each side, from simulation
# (docs/statistics.md): few starts must not overlap at all, more are compared by rank.
_LOSS = {3: 1.15, 4: 1.24, 5: 1.15}
_LOSS_OF_RANKS = 1.06
_MOST = 1000
_REASONABLE = 20
USUAL = (0.05, 0.10)


class Plan(msgspec.Struct, frozen=True):
    """resolves: the smallest relative change found with 80 % power, 0.08 for 8 %; None where nothing can be.
    needs: by relative change, starts on each side; None where a thousand would not do."""

    starts: int
    deviation: float
    is_known: bool
    resolves: float | None
    needs: Mapping[float, int | None]
    says: str


def plan(history: Series | Sequence[Series] | float | None, starts: int, effect: float | None = None) -> Plan:
    """history: starts of the same benchmark in one state, or in several, whose difference then is no spread; or the
    relative standard deviation between starts; or None.

    starts: on each side. effect: a relative change that matters, beside 5 and 10 %.
    """
    if starts < 1 or (effect is not None and effect <= 0):
        raise ValueError("a plan needs at least one start on each side, and an effect above 0")
    spread = spread_of(history)
    deviation = spread.deviation if spread.is_known else ASSUMED
    resolves = _resolves(spread, starts)
    needs = {size: starts_for(deviation, log1p(size)) for size in sorted({*USUAL, effect or USUAL[0]})}
    says = " ".join((_spread_says(spread), _starts_say(starts, resolves), _needs_say(needs)))
    return Plan(starts, deviation, spread.is_known, resolves, needs, says)


def spread_of(history: Series | Sequence[Series] | float | None) -> Spread:
    """Between starts, over all epochs: a run to come does not know which borders it will cross."""
    if isinstance(history, float | int):
        return Spread(log1p(history), _MOST, 0.0)
    states = [history] if isinstance(history, Series) else history or ()
    found = [typical_values(settled(state)) for state in states if state.starts]
    return pooled([values for values in found if min(values) > 0])


def _resolves(spread: Spread, starts: int) -> float | None:
    if starts >= FEW:
        return expm1(resolvable(spread.deviation if spread.is_known else ASSUMED, starts))
    if not spread.is_known:
        return None
    least = half_interval(spread, starts, starts)
    if rare_mode_alarm(starts, starts, spread.degrees + 1) > ALARM:
        least = max(least, SMALL)
    return expm1(least + t_quantile(POWER, spread.degrees) * spread.deviation * sqrt(2 / starts))


def resolvable(deviation: float, starts: int) -> float:
    """The smallest shift of logarithms found with 80 % power by at least three starts on each side.

    Cohen, Statistical Power Analysis (1988), section 2.4, corrected by simulation for the tests used here.
    """
    degrees = 2 * starts - 2
    student = t_quantile(1 - TAIL, degrees) + t_quantile(POWER, degrees)
    return student * deviation * sqrt(2 / starts) * _LOSS.get(starts, _LOSS_OF_RANKS)


def starts_for(deviation: float, shift: float) -> int | None:
    """Starts on each side that resolve it, three at least; None where a thousand would not."""
    if resolvable(deviation, _MOST) > shift:
        return None
    return bisect_left(range(_MOST), True, lo=FEW, key=lambda starts: resolvable(deviation, starts) <= shift)


def advice(deviation: float, starts: int, effect: float | None, is_known: bool, unit: str = "start") -> str:
    """What more starts would tell. effect: of logarithms, as seen; None: half of what these can resolve."""
    can = resolvable(deviation, max(starts, FEW))
    wanted = can / 2 if effect is None else effect
    needed = starts_for(deviation, wanted) if wanted else None
    if needed is None or needed - starts > _REASONABLE:
        needed = max(starts, FEW) + _REASONABLE // 2
        wanted = resolvable(deviation, needed)
    more = max(needed - starts, 1)
    unless = "" if is_known else f", if starts spread by {percent(ASSUMED)}"
    return f"{counted(more, f'more {unit}')} each would tell a change of {distance(wanted)}{unless}"


def _spread_says(spread: Spread) -> str:
    if not spread.is_known:
        return f"The spread between starts is unknown; taken as {percent(ASSUMED)}."
    known_from = "" if spread.degrees == _MOST else f", from {spread.degrees + 1} starts"
    return f"The spread between starts is {percent(spread.deviation)} (standard deviation{known_from})."


def _starts_say(starts: int, resolves: float | None) -> str:
    each = counted(starts, "start")
    if resolves is None:
        return f"{each} on each side cannot resolve a change without other starts to know the spread from."
    return f"{each} on each side can resolve a change of {percent(resolves)} (80 % power)."


def _needs_say(needs: Mapping[float, int | None]) -> str:
    return "; ".join(f"{percent(size)} takes {n or f'over {_MOST}'}" for size, n in needs.items()) + "."
