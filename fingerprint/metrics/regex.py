"""Reads numbers from what the command prints: `regex:PATTERN`."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.metric import Metric
from fingerprint.metrics.naming import better_of, is_peak, plain_unit, unit_of
from fingerprint.metrics.values import condensed, sample
from fingerprint.metrics.wanted import Wanted

LONGEST = 64 << 10  # characters of a line: what is longer is no log
_ENDS = re.compile(r"\r\n|\n|\r")  # progress bars write over their line
_COLORS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE)


class Match(NamedTuple):
    name: str
    unit: str
    value: float


def read(output: bytes, wanted: Wanted, *, cut: bool = False) -> Found:
    """A metric for each name that the pattern's group `name` took, else one. Raises NothingRead.

    cut: of the output the beginning is missing.
    """
    matches: dict[str, list[Match]] = {}
    for match in _matches(_lines(output)[cut:], wanted):
        matches.setdefault(match.name, []).append(match)
    kept = f"only the last {len(output) >> 20} MiB of the output were kept" if cut else ""
    if not matches:
        why = kept or ("try it on a line of it" if output else "it printed nothing that was kept")
        raise NothingRead(f"no line of the command's output matches /{wanted.argument}/; {why}")
    return Found(
        tuple(_metric(wanted, of_name) for of_name in matches.values()),
        remarks=(f"{wanted.name}: {kept}",) if kept else (),
    )


def _lines(output: bytes) -> list[str]:
    return _ENDS.split(_COLORS.sub("", output.decode("utf-8", "backslashreplace")))


def _matches(lines: Iterable[str], wanted: Wanted) -> Iterator[Match]:
    group = value_group(wanted.pattern)
    for line in lines:
        for found in wanted.pattern.finditer(line[:LONGEST]):
            if found[group] is not None:
                groups = found.groupdict()
                name = groups.get("name") or wanted.name
                unit = plain_unit(groups.get("unit") or wanted.unit or unit_of(name))
                yield Match(name, unit, _value(found[group], f"'{name}' in the line '{line.strip()[:80]}'", unit))


def value_group(pattern: "re.Pattern[str]") -> int:
    """That called `value`, else the one without a name, else the whole match."""
    named = pattern.groupindex
    return named.get("value") or next((at for at in range(1, pattern.groups + 1) if at not in named.values()), 0)


def _value(text: str, where: str, unit: str) -> float:
    text = text.strip()
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    return sample(float(text) if _NUMBER.fullmatch(text) else text, where, unit)


def _metric(wanted: Wanted, matches: list[Match]) -> Metric:
    name, unit, _ = matches[0]
    if other := next((match.unit for match in matches if match.unit != unit), None):
        raise NothingRead(f"'{name}' is printed in {unit or 'no unit'} and in {other}; match one of them")
    return condensed(
        Metric(
            name=name,
            unit=unit,
            better=wanted.better or better_of(name, unit),
            samples=tuple(match.value for match in matches),
            source=f"output, /{wanted.argument}/",
            kind=wanted.kind or ("series" if len(matches) > 1 else "repeats"),
            peak=wanted.peak or is_peak(name),
        )
    )
