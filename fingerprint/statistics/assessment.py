"""Is a metric's change real, or within the spread of what was measured? docs/statistics.md tells the rules."""

from collections.abc import Callable, Hashable, Sequence
from math import exp, expm1, log, sqrt
from statistics import median
from typing import Literal

import msgspec

from fingerprint.statistics import words
from fingerprint.statistics.distributions import NORMAL
from fingerprint.statistics.memory import blocks
from fingerprint.statistics.planning import advice
from fingerprint.statistics.ranks import rank_test
from fingerprint.statistics.rules import (
    ALARM,
    ASSUMED,
    FEW,
    FEWEST_BLOCKS,
    FEWEST_IN_RANGE,
    FEWEST_LINES,
    SMALL,
    TAIL,
)
from fingerprint.statistics.series import Series, Start, by_epoch, lie_apart, settled, typical_values
from fingerprint.statistics.shift import Shift, ranks_can_tell, shift
from fingerprint.statistics.spread import Spread, half_interval, pooled

Better = Literal["lower", "higher", "unknown"]
Word = Literal["worse", "better", "same", "changed", "unassessed"]
Basis = Literal["starts", "history", "samples", "none"]
"""What a verdict rests on: the starts of both sides; the spread of other starts too; the samples within one start or
two of each side, with the spread between starts assumed; nothing."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """medians  of A and B, without warm-up
    ratio    of the medians, B to A; None where one is not above 0, or they are not comparable
    ci       its 95 % interval; with the basis `samples` that of these very starts, not of others
    says     why
    more     what more would tell
    notes    what else the reader should know: warm-up left out, starts in two groups
    """

    verdict: Word
    medians: tuple[float, float] | None = None
    ratio: float | None = None
    ci: tuple[float, float] | None = None
    basis: Basis = "none"
    says: str
    more: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_marked(self) -> bool:
        """Whether it is unassessed and yet by enough to be pointed at."""
        return self.verdict == "unassessed" and self.ratio is not None and abs(log(self.ratio)) >= SMALL


class _Case(msgspec.Struct, frozen=True):
    """Without warm-up.

    unit   what a start stands for here
    apart  between the sides lies an epoch's border, and how epochs differ is not known
    """

    a: Series
    b: Series
    history: Series
    better: Better
    unit: Literal["start", "epoch"] = "start"
    apart: bool = False

    @property
    def effect(self) -> float:
        return log(self.b.median / self.a.median)

    @property
    def sizes(self) -> tuple[int, int]:
        return len(self.a.starts), len(self.b.starts)

    @property
    def who(self) -> str:
        return words.sides(self.a, self.b, self.unit)

    @property
    def assumed(self) -> float:
        """Half the interval that starts whose spread is not known add to the difference. Of epochs: one each side."""
        n, m = (1, 1) if self.apart else self.sizes
        return NORMAL.inv_cdf(1 - TAIL) * ASSUMED * sqrt(1 / n + 1 / m)


def assess(a: Series, b: Series, better: Better = "unknown", history: Series | None = None) -> Verdict:
    """B against A. history: other starts of the same benchmark, each with its state; none of A or B."""
    if not a.starts or not b.starts:
        return Verdict(verdict="unassessed", says=words.not_measured(bool(a.starts), bool(b.starts)))
    case = _Case(settled(a), settled(b), settled(history or Series()), better)
    medians = case.a.median, case.b.median
    return msgspec.structs.replace(_assessed(case), medians=medians, notes=_notes(case, a, b))


def _assessed(case: _Case) -> Verdict:
    a, b = case.a, case.b
    if a.kind != b.kind and "peak" in (a.kind, b.kind):
        return Verdict(verdict="unassessed", says=words.peak(a, b))
    if len({*a.samples, *b.samples}) == 1:
        return Verdict(verdict="same", says="equal")
    if min(*a.samples, *b.samples) <= 0:
        return _by_ranks(a, b, case.better)
    return _across_epochs(case) if lie_apart(a, b) else _within_epoch(case)


def _notes(case: _Case, a: Series, b: Series) -> tuple[str, ...]:
    """a, b: with their warm-up."""
    sides = ("A", case.a), ("B", case.b), ("the history", case.history)
    cut = (words.warmed_up(name, whole, kept) for whole, (name, kept) in zip((a, b), sides, strict=False))
    return tuple(note for note in (*cut, *(words.two_groups(*side) for side in sides)) if note)


def _across_epochs(case: _Case) -> Verdict:
    """Epochs are compared as starts are where they are enough, else starts, with how epochs differ assumed."""
    merged = _Case(by_epoch(case.a), by_epoch(case.b), by_epoch(case.history), case.better, "epoch")
    return _by_starts(merged) or _by_history(merged) or _within_epoch(msgspec.structs.replace(case, apart=True))


def _within_epoch(case: _Case) -> Verdict:
    ways: tuple[Callable[[_Case], Verdict | None], ...] = (_by_starts, _by_history, _by_samples, _by_range)
    return next((found for way in ways if (found := way(case))), None) or _by_numbers(case)


def _by_starts(case: _Case) -> Verdict | None:
    if min(case.sizes) < FEW:
        return None
    a, b = typical_values(case.a), typical_values(case.b)
    told = _Told(case, shift(_logs(a), _logs(b)), "starts", case.who, pooled([a, b]).deviation)
    if told.is_clear:
        return told.moved("beyond the spread of both")
    within = words.lies_within(a, b)
    return told.as_("same", within) if within else told.as_("unassessed", "no overlap, but too few to tell")


def _by_history(case: _Case) -> Verdict | None:
    """The spread around each side's own middle, and that of other starts, tells how far two such sides lie apart."""
    spread, others = _spread(case)
    if not spread.is_known:
        return None
    half = half_interval(spread, *case.sizes)
    told = _Told(
        case, Shift(case.effect, case.effect - half, case.effect + half), "history", case.who, spread.deviation
    )
    shown = f"what {words.witnesses(others, case.unit)} two such sides to differ by ({words.percent(expm1(half))})"
    if not told.is_clear:
        within = words.lies_within(typical_values(case.a), typical_values(case.b))
        return told.as_("same", within or f"within {shown}")
    rare = words.rare_mode(*case.sizes, others) if min(case.sizes) < FEW else ""
    if rare and abs(case.effect) < SMALL:
        return told.as_("unassessed", f"beyond {shown}, but under 10 %; {rare}")
    return told.moved(f"beyond {shown}" + (f"; {rare}" if rare else ""))


def _spread(case: _Case) -> tuple[Spread, int]:
    """Within the narrowest groups that tell enough, a state's epochs, states, all; and from how many starts beside
    the two sides'."""
    own = [typical_values(case.a), typical_values(case.b)]
    others = [start for start in case.history.starts if median(start.samples) > 0]
    narrow: tuple[Callable[[Start], str | tuple[str, str]], ...] = (lambda s: (s.state, s.epoch), lambda s: s.state)
    spreads = (pooled([*own, *_grouped(others, key)]) for key in narrow)
    known = next((spread for spread in spreads if spread.is_known), None)
    return known or pooled([*own, *_grouped(others, lambda _: "")]), len(others)


def _grouped(starts: Sequence[Start], key: Callable[[Start], Hashable]) -> list[list[float]]:
    groups: dict[Hashable, list[float]] = {}
    for start in starts:
        groups.setdefault(key(start), []).append(median(start.samples))
    return list(groups.values())


def _by_samples(case: _Case) -> Verdict | None:
    a, b = (_independent(side) for side in (case.a, case.b))
    if min(len(a), len(b)) < FEWEST_BLOCKS:
        return None
    found = shift(_logs(a), _logs(b))
    told = _Told(case, found, "samples", words.worth(case.a, case.b), ASSUMED)
    if not told.is_clear:
        return told.as_("same", words.lies_within(a, b) or "the samples' own spread covers it")
    doubt = f"{case.who}, and {words.assumed('starts')}"
    if min(abs(case.effect), abs(found.estimate)) < SMALL or not found.widened(case.assumed).is_clear:
        return told.as_("unassessed", f"beyond the samples' own spread, but {doubt}")
    return told.moved(f"beyond the samples' own spread; {doubt}")


def _independent(side: Series) -> list[float]:
    """Samples as good as independent: blocks of each start. Samples that are too few to show what they remember count
    only where each was made anew."""
    if side.kind in ("summary", "peak"):
        return []
    starts = [start.samples for start in side.starts]
    long = [block for samples in starts if len(samples) >= FEWEST_LINES for block in blocks(samples)]
    short = [sample for samples in starts if 1 < len(samples) < FEWEST_LINES for sample in samples]
    return long + (short if side.kind == "repeats" else [])


def _by_range(case: _Case) -> Verdict | None:
    """A single number lies among the other side's samples, or it does not."""
    ranges = [_range(side) for side in (case.a, case.b)]
    more = advice(ASSUMED, min(case.sizes), None, is_known=False)
    numbers = [[side.median] if len(side.samples) == 1 else [] for side in (case.a, case.b)]
    for name, other, value, within in (("B", "A", numbers[1], ranges[0]), ("A", "B", numbers[0], ranges[1])):
        if value and within and min(within) <= value[0] <= max(within):
            says = f"{name}'s {value[0]:.4g} lies within {other}'s own range ({words.reach(within)})"
            return Verdict(verdict="same", ratio=exp(case.effect), basis="samples", says=says, more=more)
    return None


def _range(side: Series) -> tuple[float, ...]:
    has_range = side.kind in ("repeats", "series") and len(side.samples) >= FEWEST_IN_RANGE
    return side.samples if has_range else ()


def _by_numbers(case: _Case) -> Verdict:
    apart = words.distance(abs(case.effect))
    says = f"{apart} apart, and {words.numbers(case.a, case.b)}: no spread is known to hold that against"
    more = advice(ASSUMED, min(case.sizes), abs(case.effect), is_known=False)
    return Verdict(verdict="unassessed", ratio=exp(case.effect), says=says, more=more)


def _by_ranks(a: Series, b: Series, better: Better) -> Verdict:
    """Without logarithms and ratios, because a value is not above 0."""
    x, y = typical_values(a), typical_values(b)
    if not ranks_can_tell(len(x), len(y)):
        return Verdict(
            verdict="unassessed", says="no ratio: a value is not above 0, and the starts are too few to rank"
        )
    tested = rank_test(x, y)
    says = f"no ratio: a value is not above 0; by rank, {words.sides(a, b)}: p = {tested.p:.2g}"
    if tested.p > ALARM:
        return Verdict(verdict="same", basis="starts", says=says)
    return Verdict(verdict=_direction(better, tested.u < len(x) * len(y) / 2), basis="starts", says=says)


class _Told(msgspec.Struct, frozen=True):
    """What all verdicts on one basis share.

    found      its estimate need not be the ratio of the medians, which jumps where values fall into modes
    deviation  between starts, as known or assumed there
    """

    case: _Case
    found: Shift
    basis: Basis
    who: str
    deviation: float

    @property
    def is_clear(self) -> bool:
        return self.found.reaching(self.case.effect).is_clear

    def moved(self, says: str) -> Verdict:
        """Changed, unless the border of an epoch may have done that."""
        if self.case.apart and not self.found.widened(self.case.assumed).is_clear:
            return self.as_(
                "unassessed", f"{says}, but between them lies an epoch's border, and {words.assumed('epochs')}"
            )
        return self.as_(_direction(self.case.better, self.case.effect > 0), says)

    def as_(self, verdict: Word, says: str) -> Verdict:
        found = self.found.widened(self.case.assumed) if self.case.apart else self.found
        found = found.reaching(self.case.effect)
        return Verdict(
            verdict=verdict,
            ratio=exp(self.case.effect),
            ci=(exp(found.low), exp(found.high)),
            basis=self.basis,
            says=f"{self.who}: {says}",
            more=self._more(verdict),
        )

    def _more(self, verdict: Word) -> str:
        if verdict not in ("same", "unassessed"):
            return ""
        if self.case.apart:
            return words.more_epochs()
        effect = abs(self.case.effect) if verdict == "unassessed" else None
        is_known = self.basis != "samples"
        more = advice(self.deviation, min(self.case.sizes), effect, is_known=is_known, unit=self.case.unit)
        return more + words.longer_starts(self.case.a, self.case.b) if self.basis == "starts" else more


def _direction(better: Better, is_higher: bool) -> Word:
    if better == "unknown":
        return "changed"
    return "better" if is_higher == (better == "higher") else "worse"


def _logs(values: Sequence[float]) -> list[float]:
    return [log(value) for value in values]
