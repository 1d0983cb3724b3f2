"""Reads numbers from what the command prints: `regex:PATTERN`."""

import os
import re
import select
import signal
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from fingerprint.fork import fork_bare
from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.metric import Metric
from fingerprint.metrics.naming import better_of, is_peak, plain_unit, unit_of
from fingerprint.metrics.values import condensed, sample
from fingerprint.metrics.wanted import Wanted

LONGEST = 64 << 10  # characters of a line: what is longer is no log
SECONDS = 10.0  # a pattern such as (x+x+)+y needs longer than anybody lives
_ENDS = re.compile(r"\r\n|\n|\r")  # progress bars write over their line
_COLORS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE)


class Row(NamedTuple):
    """A match as it stands: name and unit where the pattern took them, the value's text, and its line."""

    name: str
    unit: str
    value: str
    line: str


class Match(NamedTuple):
    name: str
    unit: str
    value: float


def read(output: bytes, wanted: Wanted, *, cut: bool = False) -> Found:
    """A metric for each name that the pattern's group `name` took, else one. Raises NothingRead.

    cut: of the output the beginning is missing.
    """
    matches: dict[str, list[Match]] = {}
    for match in _matches(_searched(_lines(output)[cut:], wanted), wanted):
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


def _searched(lines: list[str], wanted: Wanted) -> list[Row]:
    """By a process of its own: nothing ends a search from within, and the command's end is to be passed on.

    Raises NothingRead where it takes too long.
    """
    ours, theirs = os.pipe()
    pid = fork_bare([theirs], lambda: _write(theirs, msgspec.json.encode(list(_rows(lines, wanted.pattern)))))
    os.close(theirs)
    try:
        told = _told_within(ours, time.monotonic() + SECONDS)
    finally:
        os.close(ours)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if told is None:
        raise NothingRead(f"the search for /{wanted.argument}/ did not end within {SECONDS:g} s; make it simpler")
    return msgspec.json.decode(told, type=list[Row])


def _write(fd: int, data: bytes) -> None:
    with open(fd, "wb") as pipe:
        pipe.write(data)


def _told_within(fd: int, deadline: float) -> bytes | None:
    """All that is written until the other end closes; None where it does not."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    chunks = []
    while (left := deadline - time.monotonic()) > 0:
        if poll.poll(left * 1000):
            chunks.append(os.read(fd, 1 << 16))
            if not chunks[-1]:
                return b"".join(chunks)
    return None


def _rows(lines: Iterable[str], pattern: "re.Pattern[str]") -> Iterator[Row]:
    group = value_group(pattern)
    for line in lines:
        for found in pattern.finditer(line[:LONGEST]):
            if found[group] is not None:
                groups = found.groupdict()
                yield Row(groups.get("name") or "", groups.get("unit") or "", found[group], line.strip()[:80])


def _matches(rows: Iterable[Row], wanted: Wanted) -> Iterator[Match]:
    for row in rows:
        name = row.name or wanted.name
        unit = plain_unit(row.unit or wanted.unit or unit_of(name))
        yield Match(name, unit, _value(row.value, f"'{name}' in the line '{row.line}'", unit))


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
