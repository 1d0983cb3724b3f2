"""A policy's text: where a key stands, as tomllib tells no lines of what it has read, and how a value is written."""

from typing import Any

from probes.kit.lazy import lazy_regex

_HEADER = lazy_regex(r"\s*\[\[?\s*(?P<table>[\w.\"'-]+)\s*\]\]?\s*(?:#.*)?$")
_KEY = lazy_regex(r"\s*(?P<key>[\w\"'-]+)\s*=")


class Lines:
    """name: of the file. What is written in another way, as in an array on one line, has the file's name alone."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._at: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        counts: dict[str, int] = {}
        for number, line in enumerate(text.splitlines(), 1):
            if header := _HEADER.fullmatch(line):
                word = header["table"].strip("\"'")
                table = (word, str(counts.setdefault(word, 0)))
                counts[word] += 1
                self._at.setdefault((word,), number)
                self._at[table] = number
            elif key := _KEY.match(line):
                self._at.setdefault((*table, key["key"].strip("\"'")), number)

    def at(self, *place: str) -> str:
        """`FILE:LINE` of a key, else of the table around it, else the file."""
        for end in range(len(place), 0, -1):
            if place[:end] in self._at:
                return f"{self.name}:{self._at[place[:end]]}"
        return self.name


def as_toml(value: Any) -> str:
    """A value as somebody wrote it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {as_toml(it)}' for key, it in value.items())}}}"
    return repr(value) if isinstance(value, str) else str(value)
