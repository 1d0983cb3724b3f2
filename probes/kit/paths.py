"""Fact paths and globs: one grammar for policies, `--vary`, JSON and docs.

    path    = segment *( "/" segment )
    segment = 1*( any character, with % / * written as %25 %2F %2A )

A path reads area, then the target unless that is the host, then names; the name of a collection is
followed by a key: `gpu/0000:17:00.0/power_limit`, `process/main/env/NCCL_PROTO`. In a glob `*` stands
for exactly one segment or a part of one, `**` for any number of segments, none included.
"""

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache
from glob import escape
from types import EllipsisType

from probes.kit.lazy import lazy_regex

_ESCAPES = {"%": "%25", "/": "%2F", "*": "%2A"}
_ESCAPE = lazy_regex(r"[%/*]")
_UNESCAPE = lazy_regex(r"%(25|2F|2A)", re.IGNORECASE)


class FactPath(tuple[str, ...]):
    """The decoded segments of a path; `str()` gives the written form."""

    __slots__ = ()

    def __str__(self) -> str:
        return "/".join(_ESCAPE.sub(lambda m: _ESCAPES[m.group()], segment) for segment in self)

    def __truediv__(self, segment: str) -> "FactPath":
        return FactPath((*self, segment))


def parse_path(text: str) -> FactPath:
    """The path that `text` writes. Raises ValueError for an empty segment or a bare `*` or `%`."""
    if "*" in text:
        raise ValueError(f"'{text}' is a glob, not a path: write a literal * as %2A")
    parts = text.split("/")
    if "%" not in text and all(parts):
        return FactPath(parts)
    return FactPath(_segment(part, text) for part in parts)


def _segment(part: str, whole: str) -> str:
    if not part:
        raise ValueError(f"'{whole}' has an empty segment: write area/name/key")
    if "%" in _UNESCAPE.sub("", part):
        raise ValueError(f"'{whole}' holds a bare %: write it as %25")
    return _UNESCAPE.sub(lambda m: chr(int(m.group(1), 16)), part)


class Glob:
    """A pattern over paths. `matches` takes a path; `str()` gives the pattern back."""

    __slots__ = ("_parts", "text")

    def __init__(self, text: str) -> None:
        """Raises ValueError for an empty segment or a bare `%`."""
        self.text = text
        self._parts = tuple(_part(part, text) for part in text.split("/"))

    def matches(self, path: FactPath) -> bool:
        return _match(self._parts, path)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Glob({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Glob) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


Part = str | re.Pattern[str] | EllipsisType | None
"""A segment of a glob: a literal; what matches a part of one; `...` for any number of segments; None for any one."""


def _part(part: str, whole: str) -> Part:
    if part in ("*", "**"):
        return None if part == "*" else ...
    literals = [_segment(piece, whole) if piece else "" for piece in part.split("*")]
    if literals == [""]:
        raise ValueError(f"'{whole}' has an empty segment: write area/*/name")
    if len(literals) < 3:
        return literals[0] if len(literals) == 1 else re.compile(".*".join(map(re.escape, literals)), re.DOTALL)
    return re.compile(translate("*".join(map(escape, literals))))  # takes no longer than their length


def _match(parts: Sequence[Part], path: Sequence[str]) -> bool:
    if ... not in parts:
        return len(parts) == len(path) and all(map(_is_one, parts, path))
    ends = {0}
    for part in parts:
        if part is ...:
            ends = {*range(min(ends), len(path) + 1)}
        else:
            ends = {end + 1 for end in ends if end < len(path) and _is_one(part, path[end])}
        if not ends:
            return False
    return len(path) in ends


def _is_one(part: Part, segment: str) -> bool:
    if isinstance(part, str):
        return part == segment
    return part is None or (isinstance(part, re.Pattern) and part.fullmatch(segment) is not None)


@lru_cache(maxsize=16384)
def parse_glob(text: str) -> Glob:
    """A cached Glob. Raises ValueError as Glob does. More are kept than all rules have."""
    return Glob(text)
