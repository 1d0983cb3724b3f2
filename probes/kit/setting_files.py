"""What a file of settings gives, YAML or JSON, by the path of its keys: `kv_cache_config.dtype` -> ("fp8",).

Of YAML the plain kind that engines' documents show: keys, scalars, lists of scalars, by indentation or in brackets.
Whatever is told in another form (anchors, tags, blocks of text, lists of mappings) is refused: half of a file would
be taken for all of it.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from probes.kit.lazy import lazy_regex

MOST_DEPTH = 16
_LINE = lazy_regex(r"( *)(- +|-$)?(.*)")
_KEY = lazy_regex(r"(?:\"(?P<double>[^\"\\]+)\"|'(?P<single>[^']+)'|(?P<plain>[\w.*/-]+)) *:(?: +(?P<value>.*))?$")
_QUOTED = lazy_regex(r"(?:(?P<double>\"(?:[^\"\\]|\\.)*\")|'(?P<single>(?:[^']|'')*)')\s*(?:#.*)?$")
_COMMENT = lazy_regex(r"(?:^|\s+)#.*$")
_OTHER_FORMS = tuple("&*!|>%@`?\t")
_MARKS = ("---", "...")

Settings = dict[str, tuple[str, ...]]


def settings(text: str) -> Settings:
    """Raises ValueError for what it cannot read; its words hold nothing of the text."""
    text = text.removeprefix("\ufeff")
    if text.lstrip()[:1] == "{":
        return _of_json(text)
    reading, number = _Reading(), 0
    try:
        for number, line in enumerate(text.splitlines(), 1):  # noqa: B007
            reading.take(line.rstrip())
    except ValueError as error:
        raise ValueError(f"line {number} is in a form of YAML that is not read") from error
    return reading.found


def _of_json(text: str) -> Settings:
    try:
        return dict(_flattened("", msgspec.json.decode(text), MOST_DEPTH))
    except RecursionError as error:
        raise ValueError("JSON without end") from error


def _flattened(path: str, value: Any, depth: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    if not depth:
        raise ValueError(f"deeper than {MOST_DEPTH}")
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flattened(f"{path}.{key}" if path else key, item, depth - 1)
    elif isinstance(value, list):
        yield path, tuple(_word(item) for item in value)
    else:
        yield path, (_word(value),)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class _Reading:
    """Of YAML, line by line. above: the keys that the present line may stand below, each with its indentation."""

    def __init__(self) -> None:
        self.found: Settings = {}
        self._above: list[tuple[int, str]] = []

    def take(self, line: str) -> None:
        match = _LINE.match(line)
        assert match is not None  # it matches all
        rest = "" if match[3].startswith("#") else match[3]
        if match[2]:
            self._item(len(match[1]), rest)
        elif rest and rest not in _MARKS:
            self._key(len(match[1]), rest)

    def _key(self, indent: int, text: str) -> None:
        match = _KEY.match(text) or _KEY.match(_COMMENT.sub("", text))
        if match is None:
            raise ValueError("no key")
        while self._above and self._above[-1][0] >= indent:
            self._above.pop()
        name = match["double"] or match["single"] or match["plain"]
        parent = self._above[-1][1] if self._above else ""
        self.found.pop(parent, None)  # what has keys below it has no value
        path = f"{parent}.{name}" if parent else name
        self._above.append((indent, path))
        self.found[path] = tuple(_values(match["value"] or ""))

    def _item(self, indent: int, text: str) -> None:
        while self._above and self._above[-1][0] > indent:
            self._above.pop()
        if not self._above or _KEY.match(text):
            raise ValueError("no list of scalars")
        path = self._above[-1][1]
        self.found[path] = (*self.found[path], *_values(text))


def _values(text: str) -> Iterator[str]:
    """Of a list in brackets its items; a list of lists or a mapping in braces is one word."""
    plain = _COMMENT.sub("", text)
    if text.startswith(_OTHER_FORMS) or (plain[:1] in ("[", "{") and plain[-1:] != {"[": "]", "{": "}"}[plain[0]]):
        raise ValueError("another form")
    if plain.startswith("[") and not re.search(r"[\[\]{}\"']", plain[1:-1]):
        yield from (item.strip() for item in plain[1:-1].split(",") if item.strip())
    elif quoted := _QUOTED.match(text):
        double, single = quoted["double"], quoted["single"]
        yield msgspec.json.decode(double, type=str) if double else single.replace("''", "'")
    elif text[:1] in ("'", '"'):
        raise ValueError("a text of several lines")
    elif plain:
        yield plain
