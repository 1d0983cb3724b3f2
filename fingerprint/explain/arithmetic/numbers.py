"""The numbers of one side, each with how far it spreads, and what can be reckoned from them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from statistics import fmean
from typing import NamedTuple

import msgspec

from fingerprint.explain.arithmetic.quantities import Known, Quantity, known
from fingerprint.explain.metrics import series_of
from fingerprint.metrics import Metric
from fingerprint.runs.run import Run
from fingerprint.statistics import Series
from fingerprint.statistics.series import settled

_OF_A_CYCLE: tuple[Quantity, ...] = (
    "throughput", "plain throughput", "accept length", "cycle", "draft", "verify", "overhead", "decode",
)  # fmt: skip
_OF_A_STEP: tuple[Quantity, ...] = ("accept length", "cycle", "draft", "verify", "overhead", "decode")
_TAIL = 0.05  # of the samples on each side, which a few odd ones may fill


class Number(msgspec.Struct, frozen=True):
    """In s, tokens or tokens a second, above 0. name: as it is written in a formula; metrics: what it was made of.

    low, high: where the values that it stands for lie, so that a mean and a median of them are no contradiction.
    """

    name: str
    value: float
    low: float
    high: float
    metrics: tuple[str, ...]

    def __add__(self, other: "Number") -> "Number":
        return Number(
            f"{self.name} + {other.name}",
            self.value + other.value,
            self.low + other.low,
            self.high + other.high,
            self.metrics + other.metrics,
        )

    def __mul__(self, other: "Number") -> "Number":
        return Number(
            f"{_operand(self)} x {_operand(other)}",
            self.value * other.value,
            self.low * other.low,
            self.high * other.high,
            self.metrics + other.metrics,
        )

    def __truediv__(self, other: "Number") -> "Number":
        return Number(
            f"{_operand(self)} / {_operand(other)}",
            self.value / other.value,
            self.low / other.high,
            self.high / other.low,
            self.metrics + other.metrics,
        )


Numbers = Mapping[Quantity, Number]
ONE = Number("1", 1.0, 1.0, 1.0, ())


def _operand(number: Number) -> str:
    return f"({number.name})" if " " in number.name else number.name


def exact(name: str, value: float) -> Number:
    """A single number: nobody knows its spread."""
    return Number(name, value, value, value, (name,))


class _Candidate(NamedTuple):
    """order: as of `Known`. way: what measured it, a client or a log."""

    order: int
    way: str
    number: Number


def numbers_of(runs: Sequence[Run]) -> Numbers:
    """What the attempts of one side measured.

    Of several metrics that could be one quantity that counts which was measured with the most others of a cycle, for
    the identities hold of one measurement; none where that is the same.
    """
    found = _candidates(runs)
    ways = Counter(way for of, its in found.items() if of in _OF_A_CYCLE for way in {it.way for it in its})
    taken = {quantity: _taken(candidates, ways) for quantity, candidates in found.items()}
    return {quantity: number for quantity, number in taken.items() if number}


def numbers_of_each(runs: Sequence[Run]) -> Numbers:
    """What the attempts measured of each of several streams, all of it by what told the throughput of each, for all
    others speak of all streams together. None where nothing did."""
    found = _candidates(runs)
    if len(each := found.get("stream throughput", ())) != 1:
        return {}
    own = {of: [it for it in its if it.way == each[0].way] for of, its in found.items() if of in _OF_A_STEP}
    return {of: its[0].number for of, its in own.items() if len(its) == 1} | {"throughput": each[0].number}


def _candidates(runs: Sequence[Run]) -> Mapping[Quantity, Sequence[_Candidate]]:
    metrics = {
        name: metric for run in runs for name, metric in run.metrics.items() if not metric.gap and not metric.peak
    }
    found: dict[Quantity, list[_Candidate]] = {}
    for name, metric in metrics.items():
        if (of := known(name, metric.unit)) and (number := _number(of, name, runs)):
            candidate = _Candidate(of.order, metric.source.partition(",")[0], number)
            found.setdefault(of.quantity, []).append(candidate)
    return _of_one_each(found)


def _of_one_each(found: Mapping[Quantity, Sequence[_Candidate]]) -> Mapping[Quantity, Sequence[_Candidate]]:
    """Without what one log tells of several servers: one's accept length and another's steps are of no cycle."""
    names = {(it.way, it.number.name.rpartition("/")[0]) for its in found.values() for it in its}
    several = {way for way, told in Counter(way for way, _ in names).items() if told > 1}
    kept = {of: [it for it in its if it.way not in several] for of, its in found.items()}
    return {of: its for of, its in kept.items() if its}


def _taken(candidates: Sequence[_Candidate], ways: Mapping[str, int]) -> Number | None:
    least = min(it.order for it in candidates)
    first = [it for it in candidates if it.order == least]
    most = max(ways.get(it.way, 0) for it in first)
    first = [it for it in first if ways.get(it.way, 0) == most]
    return first[0].number if len(first) == 1 else None


def _number(of: Known, name: str, runs: Sequence[Run]) -> Number | None:
    """None where one value is not above 0: no quantity of these is, so it is not what its name says."""
    measured = [run for run in runs if name in run.metrics]
    if len({run.metrics[name].unit for run in measured}) > 1:
        return None
    series = settled(series_of(measured, name))
    if not series.starts or min(series.samples) <= 0:
        return None
    low, high = _bounds(series, [run.metrics[name] for run in measured])
    return Number(name, series.median * of.size, low * of.size, high * of.size, (name,))


def _bounds(series: Series, metrics: Iterable[Metric]) -> tuple[float, float]:
    ordered = sorted(series.samples)
    odd = int(len(ordered) * _TAIL)
    middles = [series.median, *(fmean(start.samples) for start in series.starts)]
    told = [value for metric in metrics if metric.summary for value in (metric.summary.mean, metric.summary.median)]
    middles += [value for value in told if value]
    return min(ordered[odd], *middles), max(ordered[-1 - odd], *middles)


PARTS: tuple[Quantity, ...] = ("draft", "verify", "overhead")


def parts_sum(numbers: Numbers) -> Number | None:
    """Of the parts of a cycle that were measured."""
    parts = [numbers[part] for part in PARTS if part in numbers]
    return reduce(lambda one, other: one + other, parts) if parts else None


def is_plain(numbers: Numbers) -> bool:
    """Whether nothing tells of speculation."""
    return not numbers.keys() & {"accept length", "cycle", *PARTS}


def tokens(numbers: Numbers) -> Number | None:
    """What one cycle, or one step, makes."""
    return ONE if is_plain(numbers) else numbers.get("accept length")


def token_times(numbers: Numbers) -> tuple[Number, ...]:
    """The time per token, by all that tell it: the first is what throughput was seen to be."""
    rate, time = numbers.get("throughput"), numbers.get("token")
    return tuple(number for number in (ONE / rate if rate else None, time) if number)


def cycle_seen(numbers: Numbers) -> Number | None:
    """The time of a cycle as throughput shows it."""
    made, rate, time = tokens(numbers), numbers.get("throughput"), numbers.get("token")
    if made is None:
        return None
    if rate:
        return made / rate
    return (time if made is ONE else made * time) if time else None


def cycle(numbers: Numbers) -> Number | None:
    """As measured, else as throughput shows it, else the parts that were measured, verify among them."""
    found = numbers.get("cycle") or (None if is_plain(numbers) else cycle_seen(numbers))
    return found or (parts_sum(numbers) if "verify" in numbers else None)
