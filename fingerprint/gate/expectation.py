"""What a value is held against: one rule, whoever wrote it, and its test of one value."""

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

import msgspec

from fingerprint.gate.contract import Origin, Severity
from fingerprint.gate.live import Live, Value, published
from fingerprint.gate.units import factor
from fingerprint.walk import within_tolerance
from fingerprint.words import exactly
from probes.kit.facts import Gap
from probes.kit.lazy import lazy_regex
from probes.kit.parse import cpu_list
from probes.kit.paths import FactPath, parse_path

Op = Literal["equals", "min", "max", "one_of", "none_of", "matches", "same_as_baseline"]
Unknown = Literal["fail", "warn", "ignore"]
Settles = Literal["", "idle", "cool", "quiet", "joined"]

_CPUS = lazy_regex(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*")
WORDS: Mapping[Op, str] = {
    "equals": "{}",
    "min": "at least {}",
    "max": "at most {}",
    "one_of": "one of {}",
    "none_of": "none of {}",
    "matches": "text that matches {}",
    "same_as_baseline": "as in the baseline, {}",
}


class Beside(msgspec.Struct, frozen=True):
    """Another fact of the same item, as a glob with the same asterisks."""

    fact: str

    def of(self, value: Value, glob: str) -> FactPath:
        """Where it stands for the item that `value` is of."""
        keys = iter(name for star, name in zip(glob.split("/"), value.path, strict=False) if star == "*")
        return FactPath(next(keys) if part == "*" else part for part in self.fact.split("/"))


class Each(msgspec.Struct, frozen=True):
    """So many for each item of a collection: 4 CPUs for each GPU. of: what is counted."""

    collection: str
    times: int
    of: str


class Test(msgspec.Struct, frozen=True):
    """operand: a value, several of one_of and none_of, Beside or Each. unit: of a number; empty for the fact's own."""

    op: Op
    operand: Any = None
    unit: str = ""


class Where(msgspec.Struct, frozen=True):
    """Where a fact of the same item, or one of the host, has one of these values. but: where it has none of them.

    says: why a rule is about no others.
    """

    fact: str
    values: tuple[Any, ...]
    says: str = ""
    but: bool = False

    def holds(self, value: Value, glob: str, live: Live) -> bool:
        return (live.at(Beside(self.fact).of(value, glob)) in self.values) != self.but


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """rule, source: as of a Check. tests: all of them must hold.

    unknown   what it means that there is no value
    required  the fact has to be there, and readable
    absent    whether a thing that is not there is unknown, or nothing to check
    only      elsewhere the value says nothing
    softly    where it warns instead of failing
    settles   what it takes for it to become right by itself
    by_nature a maximum that a host may never reach: what its history never showed is a note
    remedy    a command in place of the fact's own
    sentence  in place of `{where} is {found}, expected {expected}`
    """

    rule: str
    origin: Origin
    source: str = ""
    fact: str
    tests: tuple[Test, ...]
    severity: Severity = "fail"
    unknown: Unknown = "fail"
    required: bool = False
    absent: Literal["unknown", "out_of_scope"] = "unknown"
    reason: str = ""
    only: tuple[Where, ...] = ()
    softly: tuple[Where, ...] = ()
    settles: Settles = ""
    by_nature: bool = False
    remedy: str = ""
    sentence: str = ""


class Held(msgspec.Struct, frozen=True):
    """One value held against one test. operand: what it came to; a Gap where that is not known. counted: what it is a
    number of, where it is no value of the fact itself."""

    good: bool | Gap
    op: Op
    operand: Any
    counted: str = ""

    def expected(self, unit: str, of: str = "") -> str:
        if isinstance(self.operand, Gap):
            return "not known"
        several = self.op in ("one_of", "none_of")
        told = ", ".join(
            exactly(published(it), self.counted or unit, of) for it in (self.operand if several else (self.operand,))
        )
        return WORDS[self.op].format(told)


def hold(value: Value, test: Test, rule: Expectation, live: Live, baseline: Live | None) -> Held:
    """A seen value against one test of its rule."""
    operand = _operand(value, test, rule, live, baseline)
    if isinstance(operand, Gap):
        return Held(operand, test.op, operand)
    counted = test.operand.of if isinstance(test.operand, Each) else ""
    return Held(_good(value, test.op, operand), test.op, operand, counted)


def _operand(value: Value, test: Test, rule: Expectation, live: Live, baseline: Live | None) -> Any:
    if test.op == "same_as_baseline":
        return Gap("not_read", "no baseline") if baseline is None else baseline.at(value.path)
    if isinstance(test.operand, Each):
        items = live.at(parse_path(test.operand.collection))
        return items if isinstance(items, Gap) else len(items) * test.operand.times
    if isinstance(test.operand, Beside):
        return live.at(test.operand.of(value, rule.fact))
    return _scaled(test.operand, test.unit, value.fact.unit if value.fact else "")


def _scaled(operand: Any, unit: str, of: str) -> Any:
    if isinstance(operand, (list, tuple)):
        return tuple(_scaled(part, unit, of) for part in operand)
    if not unit or isinstance(operand, (bool, str)):
        return operand
    scaled = Fraction(str(operand)) * (factor(unit, of) or 1)  # as it was written: 0.1 is no float's
    return int(scaled) if scaled.denominator == 1 else float(scaled)


def _good(value: Value, op: Op, operand: Any) -> bool:
    seen = value.seen
    if op in ("min", "max"):
        size = _size(seen)
        return bool(size >= operand if op == "min" else size <= operand)
    if op in ("one_of", "none_of"):
        return any(_same(value, it) for it in operand) == (op == "one_of")
    if op == "matches":
        return isinstance(seen, str) and re.search(operand, seen) is not None
    return _same(value, operand)


def _size(seen: Any) -> float:
    """A number, or how many: items, CPUs of a list (`0-3,8`), CPUs that a quota lets run (`400000 100000`)."""
    if isinstance(seen, tuple):
        return len(seen)
    if not isinstance(seen, str):
        number: float = seen
        return number
    if _CPUS.fullmatch(seen):
        return len(cpu_list(seen))
    quota, _, period = seen.partition(" ")
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() else math.inf  # `max`, `unlimited`


def _same(value: Value, operand: Any) -> bool:
    other = tuple(operand) if isinstance(operand, list) else operand
    if type(value.seen) is bool or type(other) is bool:
        return value.seen is other
    return bool(value.seen == other) or (value.fact is not None and within_tolerance(value.fact, value.seen, other))
