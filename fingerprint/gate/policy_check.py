"""Whether the rules of a policy can be meant: against the facts that are declared. All raise ValueError, in words."""

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from fingerprint.catalog import CatalogFact, can_mean, facts, facts_of, nearest
from fingerprint.gate.expectation import Expectation, Test
from fingerprint.gate.lines import as_toml
from fingerprint.gate.units import factor, instead, must_be_said
from probes.kit.lazy import lazy_regex
from probes.kit.paths import parse_glob
from probes.kit.probe import areas, discover

Where = Callable[[str], str]
"""`FILE:LINE` of a key of the rule."""

LARGEST = 1e30
_INNER = lazy_regex(r"Map\[(.*)\]")


def check_glob(glob: str, where: str) -> tuple[CatalogFact, ...]:
    """The facts that it can mean, at least one."""
    try:
        parse_glob(glob)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    found = _meant(glob)
    if not found:
        raise ValueError(f"{where}: '{glob}' matches no declared fact: {_instead(glob)}")
    return found


def _meant(glob: str) -> tuple[CatalogFact, ...]:
    segments = glob.split("/")
    return tuple(fact for fact in _of_area(segments[0]) if can_mean(segments, fact))


def _instead(glob: str) -> str:
    """What may have been meant: the same of another area, all that is below, another fact of the area, or of any."""
    area, slash, rest = glob.partition("/")
    near = [] if area in areas() else get_close_matches(area, areas(), 1)
    if near and _meant(near[0] + slash + rest):
        return f"did you mean {near[0]}{slash}{rest}?"
    if below := _meant(f"{glob}/**"):
        return f"write {glob}/** for all that is below, or name one, as {below[0].path}"
    of_area = get_close_matches(glob, [fact.path for fact in _of_area(near[0] if near else area)], 1)
    told = of_area or nearest(glob) or near
    return f"did you mean {told[0]}?" if told else "`fingerprint facts` lists all"


def _of_area(segment: str) -> Sequence[CatalogFact]:
    """Of one area where the glob names one: the others are not imported for it."""
    return tuple(facts_of(discover([segment])[segment])) if segment in areas() else facts()


def check_expectation(rule: Expectation, where: Where) -> tuple[CatalogFact, ...]:
    """The facts that the rule is about."""
    meant = check_glob(rule.fact, where("fact"))
    _check_tests(rule, where)
    for test in rule.tests:
        fits = [fact for fact in meant if _takes(test, _type(rule.fact, fact))]
        if not fits:
            raise ValueError(_does_not_fit(test, rule.fact, meant[0], where(test.op)))
        _check_unit(test, rule.fact, fits, where)
        if test.op == "same_as_baseline":
            _check_comparable(rule.fact, meant, where)
    return meant


def _check_tests(rule: Expectation, where: Where) -> None:
    ops = [test.op for test in rule.tests]
    operands = {test.op: test.operand for test in rule.tests}
    if not ops and not rule.required:
        raise ValueError(
            f"{where('fact')}: nothing is expected of {rule.fact}: give equals, min, max, one_of, matches, "
            "same_as_baseline or required"
        )
    if len(ops) > 1 and set(ops) != {"min", "max"}:
        raise ValueError(f"{where(ops[-1])}: {' and '.join(ops)} in one rule: only min and max go together")
    if len(ops) > 1 and operands["min"] > operands["max"]:
        raise ValueError(f"{where('min')}: min {operands['min']} is above max {operands['max']}: no value can be both")
    if rule.required and rule.unknown == "ignore":
        raise ValueError(f"{where('unknown')}: required and unknown = 'ignore' contradict each other: keep one of them")
    for test in rule.tests:
        _check_finite(test, where)
    if operands.get("one_of") == ():
        raise ValueError(f"{where('one_of')}: one_of is empty: no value can be one of it")
    _check_pattern(operands.get("matches"), where)


def _check_finite(test: Test, where: Where) -> None:
    """TOML has nan, inf and whole numbers of any length; nothing that is read is one of them."""
    if not all(abs(it) <= LARGEST for it in _numbers(test)):
        raise ValueError(f"{where(test.op)}: {test.op} is no number that a value can have: give one, or leave it out")


def _check_pattern(pattern: str | None, where: Where) -> None:
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise ValueError(f"{where('matches')}: matches is no regular expression: {error}") from None


def _type(glob: str, fact: CatalogFact) -> str:
    """Of the values that a glob leads to: one segment more than the collection means its items."""
    inner = _INNER.fullmatch(fact.type)
    is_item = inner and "**" not in glob and len(glob.split("/")) > len(fact.segments)
    return inner[1] if inner and is_item else fact.type


def _takes(test: Test, kind: str) -> bool:
    """Whether a value of this type can be held against the operand."""
    if test.op in ("min", "max"):
        return kind.startswith(("int", "Map[", "tuple["))
    if test.op == "matches":
        return "str" in kind and not kind.startswith(("Map[", "tuple["))
    if test.op == "same_as_baseline":
        return True
    return all(_is_of(operand, kind) for operand in (test.operand if test.op == "one_of" else (test.operand,)))


def _is_of(operand: Any, kind: str) -> bool:
    if isinstance(operand, bool):
        return kind == "bool"
    if isinstance(operand, (int, float)):
        return kind.startswith("int")
    if isinstance(operand, str):
        return "str" in kind.split(" | ") or f'"{operand}"' in kind.split(" | ")
    return isinstance(operand, list) and kind.startswith(("tuple[", "Map["))


def _does_not_fit(test: Test, glob: str, fact: CatalogFact, where: str) -> str:
    unit = f" in {fact.unit}" if fact.unit else ""
    return f"{where}: {test.op} is {as_toml(test.operand)}, but {glob} is {_in_words(_type(glob, fact))}{unit}"


def _in_words(kind: str) -> str:
    words = {"int": "a whole number", "str": "text", "bool": "true or false", "str | Redacted": "text"}
    if kind.startswith("tuple["):
        return "a list"
    return "a collection of items, which min and max count" if kind.startswith("Map[") else words.get(kind, kind)


def _numbers(test: Test) -> Iterator[int | float]:
    several = test.operand if test.op == "one_of" else (test.operand,)
    yield from (it for it in several if isinstance(it, (int, float)) and not isinstance(it, bool))


def _check_unit(test: Test, glob: str, meant: Sequence[CatalogFact], where: Where) -> None:
    of = next((fact for fact in meant if _type(glob, fact).startswith("int")), None)
    numbers = [*_numbers(test)]
    if of is None or not numbers:
        if test.unit:
            raise ValueError(f"{where('unit')}: {glob} has no unit: leave it out")
        return
    if not test.unit and any(numbers) and must_be_said(of.unit):
        raise ValueError(f"{where(test.op)}: {glob} is in {of.unit}: say unit = {_choices(of.unit)}")
    wrong = next((fact for fact in meant if test.unit and factor(test.unit, fact.unit) is None), None)
    if wrong is not None:
        raise ValueError(f"{where('unit')}: unit is '{test.unit}', but {wrong.path} is in {_choices(wrong.unit)}")


def _choices(unit: str) -> str:
    return " or ".join(f'"{it}"' for it in instead(unit)) if unit else "no unit: leave it out"


def _check_comparable(glob: str, meant: Sequence[CatalogFact], where: Where) -> None:
    if not any(fact.kind in ("identity", "config", "state") for fact in meant):
        raise ValueError(
            f"{where('same_as_baseline')}: {glob} is {meant[0].kind}, which is another at each reading: give min or max"
        )
