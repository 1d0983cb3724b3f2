"""The lines of a log that matter, found by what marks them and in constant memory: most lines of a log do not.

A pattern takes a line from its mark to its end, and what is read of every line stands in its groups: of a long log few
lines are kept, and only those are read further.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fingerprint.metrics.source import Source

LONGEST = 1 << 20  # bytes of a line; what is longer is taken for several
DIGITS = rb"[\d.,]{1,24}"
"""A pattern of what `number_of` takes, where no comma may follow it."""
COUNT = rb"(?:\d{1,9}|\d{1,3}(?:,\d{3}){1,3})(?!,?\d)"
"""The same of whole numbers, where one may."""
_THOUSANDS = rb"\d{1,3}(?:,\d{3}){1,4}(?:\.\d*)?"
_APART = re.compile(_THOUSANDS)
_NUMBER = re.compile(rb" *(\d{1,15}(?:\.\d*)?(?:[eE][+-]?\d{1,2})?|" + _THOUSANDS + rb")(?![\w.,]*\d)")
_WORD = re.compile(rb" *([^\s,]+)")
UNREADABLE = float("nan")
"""In place of a number where a log has `nan`, `inf`, one below 0 or none; what is reckoned with it is so too."""


def number_of(digits: bytes) -> float:
    """Of DIGITS, whose thousands may be set apart; UNREADABLE where they are no number."""
    try:
        return float(digits)
    except ValueError:
        return float(digits.replace(b",", b"")) if _APART.fullmatch(digits) else UNREADABLE


class Mark(NamedTuple):
    """literal: what a line that matters holds. pattern: of that and the rest of the line."""

    literal: bytes
    pattern: "re.Pattern[bytes]"


def mark(literal: bytes, behind: bytes = b"") -> Mark:
    """behind: a pattern of what is read behind it, within the line."""
    return Mark(literal, re.compile(re.escape(literal) + behind + rb".*"))


class Line(NamedTuple):
    """found: by the pattern of a mark."""

    found: "re.Match[bytes]"

    @property
    def before(self) -> bytes:
        """What stands before the mark."""
        at = self.found.start()
        return self.found.string[self.found.string.rfind(b"\n", 0, at) + 1 : at]

    @property
    def text(self) -> bytes:
        return self.before + self.found[0]

    def number(self, key: bytes) -> float | None:
        """What stands behind the key, of `12 %` the 12; None where that is no number, as `nan`, or below 0."""
        text = self.found[0]
        at = text.find(key)
        found = _NUMBER.match(text, at + len(key)) if at >= 0 else None
        return number_of(found[1]) if found else None

    def reading(self, key: bytes) -> float | None:
        """The number, UNREADABLE where the key is there and none stands behind it, and None where it is not there."""
        number = self.number(key)
        return UNREADABLE if number is None and self.has(key) else number

    def has(self, key: bytes) -> bool:
        """From the mark on, as all that is read of a line."""
        return key in self.found[0]

    def word(self, key: bytes) -> str:
        """Up to the next blank or comma; empty where the key is not there."""
        text = self.found[0]
        at = text.find(key)
        found = _WORD.match(text, at + len(key)) if at >= 0 else None
        return found[1].decode("ascii", "replace") if found else ""


def marked(source: Source, marks: Sequence[Mark]) -> "Iterator[tuple[re.Match[bytes], bool]]":
    """What the patterns find, a line once and in order, with whether the run itself wrote it. Raises NothingRead."""
    passed = 0
    for block in _blocks(source):
        is_new, end = passed >= source.begin, -1
        for found in _places(block, marks):
            if found.start() >= end:
                end = found.end()
                yield found, is_new or passed + block.rfind(b"\n", 0, found.start()) + 1 >= source.begin
        passed += len(block)


def _places(block: bytes, marks: Sequence[Mark]) -> "Iterable[re.Match[bytes]]":
    """In order; of a line that holds several marks the first takes all."""
    there = [it.pattern for it in marks if it.literal in block]  # is told several times as fast as by a pattern
    if len(there) == 1:
        return there[0].finditer(block)
    places = [found for pattern in there for found in pattern.finditer(block)]
    places.sort(key=re.Match.start)
    return places


def _blocks(source: Source) -> Iterator[bytes]:
    """Whole lines, many at a time; not the last one if it has no end, for it may be cut within a number."""
    rest = b""
    for chunk in source.chunks():
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield rest + chunk[:cut]
            rest = chunk[cut:]
        else:
            rest += chunk
        if len(rest) > LONGEST:
            yield rest
            rest = b""
