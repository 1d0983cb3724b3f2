"""Expectations that somebody wrote down: a TOML file.

vary = ["driver/**"]                   # may differ from the baseline

[[expect]]
fact = "gpu/*/power_limit"             # a glob of facts: `fingerprint facts`
min = 600                              # or equals, max, one_of, matches, same_as_baseline
unit = "W"
severity = "fail"                      # or warn
unknown = "fail"                       # or warn, ignore: what it means that it cannot be read
required = true                        # it must be there, and readable
reason = "measured at the full limit"

[[waive]]
fact = "gpu/0000:17:00.0/pcie/**"
reason = "riser ordered"
owner = "ops"
expires = 2027-01-31
"""

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from fingerprint.gate.expectation import Expectation, Op, Test
from fingerprint.gate.lines import Lines, as_toml
from fingerprint.gate.policy_check import check_expectation, check_glob
from fingerprint.gate.waivers import Waived
from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.refused import Complaint

OPS: Sequence[Op] = ("equals", "min", "max", "one_of", "matches", "same_as_baseline")


class PolicyError(Trouble):
    """One sentence: file and line, the key, what was found and what is expected."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class Expect(Part, frozen=True):
    fact: str
    equals: Any = None
    min: int | float | None = None
    max: int | float | None = None
    one_of: tuple[Any, ...] | None = None
    matches: str | None = None
    same_as_baseline: bool = False
    unit: str = ""
    severity: Literal["fail", "warn"] = "fail"
    unknown: Literal["fail", "warn", "ignore"] | None = None
    required: bool = False
    reason: str = ""


class Waive(Part, frozen=True):
    fact: str
    reason: str
    owner: str
    expires: Any


class File(Part, frozen=True):
    expect: tuple[Expect, ...] = ()
    waive: tuple[Waive, ...] = ()
    vary: tuple[str, ...] = ()


class Policy(msgspec.Struct, frozen=True):
    """name: the file as the user named it, with the revision where it is of one."""

    name: str
    expectations: tuple[Expectation, ...]
    waivers: tuple[Waived, ...]
    vary: tuple[str, ...]

    @property
    def needs_baseline(self) -> str:
        """Where a rule stands that needs one; empty where none does."""
        needing = (it for it in self.expectations if any(test.op == "same_as_baseline" for test in it.tests))
        return next((it.source for it in needing), "")


def policy_of(name: str, content: bytes) -> Policy:
    """The policy in a file's content. Raises PolicyError."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise PolicyError(f"{name}:{line} is not UTF-8: save it as UTF-8") from None
    lines = Lines(name, text)
    file = _file(lines, _table(name, text))
    if not (file.expect or file.waive or file.vary):
        raise PolicyError(
            f"{name} expects nothing: write [[expect]] with a fact and min, max, equals ... or leave it out"
        )
    try:
        return Policy(name, tuple(_expectations(file, lines)), tuple(_waivers(file, lines)), _vary(file, lines))
    except ValueError as error:
        raise PolicyError(str(error)) from None


def _table(name: str, text: str) -> Mapping[str, Any]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table: Mapping[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"{name} is not TOML: {error}") from None
    return table


def _file(lines: Lines, table: Mapping[str, Any]) -> File:
    for key in ("expect", "waive"):
        if isinstance(table.get(key), dict):
            raise PolicyError(f"{lines.at(key)}: [{key}] is one table: write [[{key}]], once for each rule")
    try:
        return msgspec.convert(table, File)
    except msgspec.ValidationError as error:
        from fingerprint.refused import complaints

        first = min(
            complaints(File, table), key=lambda it: not it.unknown, default=None
        )  # a slip in a key leaves another out
        raise PolicyError(_words(lines, first) if first else f"{lines.name}: {error}") from None


EXPECTED: Mapping[str, str] = {
    "a valid integer": "a number", "a valid tuple": "a list", "a valid list": "a list", "a valid string": "text",
    "a valid boolean": "true or false",
}  # fmt: skip
"""Of pydantic's words those that say in Python what TOML calls otherwise."""
TABLES: Mapping[str, type[Part]] = {"expect": Expect, "waive": Waive}


def _words(lines: Lines, complaint: "Complaint") -> str:
    """Of a union pydantic names the arm too, behind the key."""
    *at, key = complaint.key.split(".")[:3]
    where = lines.at(*at, key)
    if complaint.unknown:
        known = [field.name for field in msgspec.structs.fields(TABLES[at[0]] if at else File)]
        return f"{where}: there is no key '{key}': {_instead(key, known)}"
    if complaint.says == "Field required":
        return f"{where}: [[{at[0]}]] has no {key}: every one needs it"
    expected = EXPECTED.get(complaint.expected, complaint.expected)
    return f"{where}: {key} is {as_toml(complaint.found)}, but must be {expected}"


def _instead(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, known, 1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"


def _expectations(file: File, lines: Lines) -> Iterator[Expectation]:
    for at, it in enumerate(file.expect):
        expectation = _expectation(it, lines.at("expect", str(at)))
        meant = check_expectation(expectation, partial(lines.at, "expect", str(at)))
        moves = any(fact.kind == "telemetry" for fact in meant)  # what moves by itself may become right by itself
        yield msgspec.structs.replace(expectation, settles="quiet" if moves else "")
    _check_clashes(file, lines)


def _expectation(it: Expect, source: str) -> Expectation:
    return Expectation(
        rule=it.fact, origin="policy", source=source, fact=it.fact, tests=tuple(_tests(it)), severity=it.severity,
        unknown=it.unknown or it.severity, required=it.required, reason=it.reason,
    )  # fmt: skip


def _tests(it: Expect) -> Iterator[Test]:
    if it.same_as_baseline:
        yield Test("same_as_baseline")
    for op in OPS[:-1]:
        operand = getattr(it, op)
        if operand is not None:
            yield Test(op, operand, it.unit)


def _check_clashes(file: File, lines: Lines) -> None:
    """Two rules of one glob that no value can meet."""
    for (i, one), (j, other) in combinations(enumerate(file.expect), 2):
        if one.fact == other.fact and _clash(one, other):
            there, here = lines.at("expect", str(i)), lines.at("expect", str(j))
            raise ValueError(
                f"{here}: no {other.fact} can be as this rule and the one at {there} want it: keep one of them"
            )


def _clash(one: Expect, other: Expect) -> bool:
    if one.unit != other.unit:
        return False
    if one.equals is not None and other.equals is not None:
        return bool(one.equals != other.equals)
    (low, high), (least, most) = _bounds(one), _bounds(other)
    return bool(low > most or least > high)


def _bounds(it: Expect) -> tuple[float, float]:
    if isinstance(it.equals, (int, float)):
        return it.equals, it.equals
    return -math.inf if it.min is None else it.min, math.inf if it.max is None else it.max


def _waivers(file: File, lines: Lines) -> Iterator[Waived]:
    for at, it in enumerate(file.waive):
        where = lines.at("waive", str(at))
        check_glob(it.fact, lines.at("waive", str(at), "fact"))
        for key in ("reason", "owner"):
            if not getattr(it, key).strip():
                raise ValueError(
                    f"{lines.at('waive', str(at), key)}: {key} is empty: a waiver tells who answers, and why"
                )
        yield Waived(it.fact, it.reason, it.owner, _date(it.expires, lines.at("waive", str(at), "expires")), where)


def _date(found: Any, where: str) -> dt.date:
    if isinstance(found, dt.datetime):
        return found.date()
    if isinstance(found, dt.date):
        return found
    try:
        return dt.date.fromisoformat(found)
    except (TypeError, ValueError):
        raise ValueError(f"{where}: expires is {as_toml(found)}, but must be a date: 2027-01-31") from None


def _vary(file: File, lines: Lines) -> tuple[str, ...]:
    for glob in file.vary:
        check_glob(glob, lines.at("vary"))
    return file.vary
