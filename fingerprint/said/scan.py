"""Looks for every known message in one pass over a text of any length.

A regular expression finds a piece of each message that begins with a letter which logs seldom hold, so that most bytes
are looked at once; only the line around such a piece is then held against the messages that have it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from fingerprint.said.catalogue import CATALOGUE
from fingerprint.said.heard import Heard
from fingerprint.said.message import Message

LONGEST = 1 << 16
"""Bytes of a line that are looked at, from its beginning."""
SELDOM = b"LCUvywdf"
"""The most seldom first, together 5 % of the bytes in logs of servers: each text holds one of them."""
LEAST, MOST = 5, 12
"""Bytes of a piece."""


class _Search(NamedTuple):
    """by_piece: the messages that have it."""

    pattern: "re.Pattern[bytes]"
    by_piece: Mapping[bytes, Sequence[Message]]


def heard(chunks: Iterable[bytes]) -> Mapping[str, Heard]:
    """By message, in the order in which they were said first. However the text is cut, the same is heard."""
    scan = _Scan(_search())
    for chunk in chunks:
        scan.add(chunk)
    return scan.end()


@lru_cache(maxsize=1)
def _search() -> _Search:
    found: dict[bytes, dict[str, Message]] = defaultdict(dict)
    pieces = {piece_of(text) for message in CATALOGUE.values() for text in message.texts}
    for message in CATALOGUE.values():
        for text in message.texts:
            shortest = min((piece for piece in pieces if piece_of(text).startswith(piece)), key=len)
            found[shortest][message.id] = message
    return _Search(re.compile(_any_of(found)), {piece: tuple(found[piece].values()) for piece in found})


def piece_of(text: bytes) -> bytes:
    """Raises ValueError for a text that has none."""
    begins = [at for at in range(len(text) - LEAST + 1) if text[at] in SELDOM]
    at = min(begins, key=lambda at: SELDOM.index(text[at]))
    return text[at : at + MOST]


def _any_of(pieces: Iterable[bytes]) -> bytes:
    """By their first letters: the expression is then searched for by these alone."""
    by_first: dict[bytes, list[bytes]] = defaultdict(list)
    for piece in sorted(pieces):
        by_first[piece[:1]].append(re.escape(piece[1:]))
    return b"|".join(first + b"(?:" + b"|".join(rest) + b")" for first, rest in by_first.items())


class _Scan:
    def __init__(self, search: _Search) -> None:
        self._search = search
        self._rest = b""  # of a line that has not ended
        self._before = 0  # lines
        self._heard: dict[str, Heard] = {}

    def add(self, data: bytes) -> None:
        text = self._rest + data
        end = text.rfind(b"\n") + 1
        self._rest = text[end : end + LONGEST]
        if end:
            self._read(text[:end])

    def end(self) -> Mapping[str, Heard]:
        self._read(self._rest)
        self._rest = b""
        return self._heard

    def _read(self, text: bytes) -> None:
        """text: whole lines."""
        told: dict[str, int] = {}
        at = 0
        while found := self._search.pattern.search(text, at):
            at = found.start() + 1
            begin = text.rfind(b"\n", 0, at) + 1
            if at - begin <= LONGEST:
                line = text[begin : _end_of_line(text, at, begin)]
                self._hold(line, begin, self._search.by_piece[found[0]], told, text)
        self._before += text.count(b"\n")

    def _hold(self, line: bytes, begin: int, messages: Sequence[Message], told: dict[str, int], text: bytes) -> None:
        """told: where the last line begins that said a message: each says it once."""
        for message in messages:
            if told.get(message.id) != begin and message.is_in(line):
                told[message.id] = begin
                known = self._heard.get(message.id)
                first = known.first if known else self._before + text.count(b"\n", 0, begin) + 1
                self._heard[message.id] = Heard(1 + (known.lines if known else 0), first)


def _end_of_line(text: bytes, at: int, begin: int) -> int:
    end = text.find(b"\n", at)
    return min(begin + LONGEST, len(text) if end < 0 else end)
