"""The lines of a log that matter, found by what marks them and in constant memory: most lines of a log do not."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fingerprint.metrics.source import Source

LONGEST = 1 << 20  # bytes of a line; what is longer is taken for several
_NUMBER = re.compile(rb" *(\d{1,15}(?:\.\d*)?(?:[eE][+-]?\d{1,2})?)(?![\w.]*\d)")
_WORD = re.compile(rb" *([^\s,]+)")


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
        return float(found[1]) if found else None

    def word(self, key: bytes) -> str:
        """Up to the next blank or comma; empty where the key is not there."""
        begin = self.text.find(key)
        found = _WORD.match(self.text, begin + len(key)) if begin >= 0 else None
        return found[1].decode("ascii", "replace") if found else ""


def marked(source: Source, marks: Sequence[bytes]) -> Iterator[Line]:
    """Each line that holds one of the marks, in order. Raises NothingRead."""
    passed = 0
    for block in _blocks(source):
        yield from _marked(block, marks, passed)
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


def _marked(block: bytes, marks: Sequence[bytes], passed: int) -> Iterator[Line]:
    find, begins, end = block.find, block.rfind, -1
    for at, mark in sorted((place, one) for one in marks for place in _places(block, one)):
        if at >= end:
            begin = begins(b"\n", 0, at) + 1
            end = find(b"\n", at)
            end = end if end >= 0 else len(block)
            yield Line(mark, block[begin:end], at - begin, passed + begin)


def _places(block: bytes, mark: bytes) -> list[int]:
    if block.find(mark) < 0:  # several times as fast as a pattern
        return []
    return [found.start() for found in re.finditer(re.escape(mark), block)]
