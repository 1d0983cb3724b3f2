"""The lines of a log that matter, found by what marks them and in constant memory: most lines of a log do not."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fingerprint.metrics.source import Source

LONGEST = 1 << 20  # bytes of a line; what is longer is taken for several
_THOUSANDS = rb"\d{1,3}(?:,\d{3}){1,4}(?:\.\d*)?"
_NUMBER = re.compile(rb" *(\d{1,15}(?:\.\d*)?(?:[eE][+-]?\d{1,2})?|" + _THOUSANDS + rb")(?![\w.,]*\d)")
DIGITS = rb"(?:\d{1,15}(?:\.\d*)?|" + _THOUSANDS + rb")"
"""A pattern of what `number_of` takes, for where something else must follow it."""
_WORD = re.compile(rb" *([^\s,]+)")
UNREADABLE = float("nan")
"""In place of a number where a log has `nan`, `inf`, one below 0 or none; what is reckoned with it is so too."""


def number_of(digits: bytes) -> float:
    """Of digits, whose thousands may be set apart."""
    return float(digits.replace(b",", b""))


class Line(NamedTuple):
    """mark: the first in it. text: from its beginning to its end, mark at `of`. at: where in the log it begins."""

    mark: bytes
    text: bytes
    of: int
    at: int

    def number(self, key: bytes) -> float | None:
        """What stands behind the key, of `12 %` the 12; None where that is no number, as `nan`, or below 0."""
        begin = self.text.find(key)
        found = _NUMBER.match(self.text, begin + len(key)) if begin >= 0 else None
        return number_of(found[1]) if found else None

    def reading(self, key: bytes) -> float | None:
        """The number, UNREADABLE where the key is there and none stands behind it, and None where it is not there."""
        number = self.number(key)
        return UNREADABLE if number is None and key in self.text else number

    def word(self, key: bytes) -> str:
        """Up to the next blank or comma; empty where the key is not there."""
        begin = self.text.find(key)
        found = _WORD.match(self.text, begin + len(key)) if begin >= 0 else None
        return found[1].decode("ascii", "replace") if found else ""


def marked(source: Source, marks: Sequence[bytes]) -> Iterator[Line]:
    """Each line that holds one of the marks, in order. Raises NothingRead."""
    new, passed = tuple.__new__, 0
    for block in _blocks(source):
        end = -1
        for at, mark in _places(block, marks):
            if at >= end:
                begin = block.rfind(b"\n", 0, at) + 1
                end = block.find(b"\n", at)
                if end < 0:
                    end = len(block)
                yield new(Line, (mark, block[begin:end], at - begin, passed + begin))  # half of the time of Line(...)
        passed += len(block)


def _blocks(source: Source) -> Iterator[bytes]:
    """Whole lines, many at a time."""
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
    yield rest


def _places(block: bytes, marks: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Of the marks, in order."""
    there = [mark for mark in marks if mark in block]  # is told several times as fast as by a pattern
    places = [(found.start(), mark) for mark in there for found in re.finditer(re.escape(mark), block)]
    if len(there) > 1:
        places.sort()
    return places
