"""What an engine says that it was started with."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

Settings = Mapping[str, Any]
# `name=value` and `'name': value`; a value is a literal of Python or a bare word. What is nested counts too.
_PAIR = re.compile(
    r"(?P<quote>'?)(?P<name>\b[a-z]\w*)(?P=quote)(?:=|: )"
    r"(?:'(?P<text>(?:[^'\\]|\\.)*)'|\"(?P<other>(?:[^\"\\]|\\.)*)\"|(?P<bare>[\w.+-]+)(?=[\s,)}\]]|$))"
)
_WORDS: Mapping[str, Any] = {"None": None, "True": True, "False": False}


def settings(text: bytes, names: Iterable[str]) -> dict[str, Any]:
    """Of these names, the first value that each has; no others, for they may be secrets. None is left out."""
    wanted = set(names)
    found: dict[str, Any] = {}
    for pair in _PAIR.finditer(text.decode("utf-8", "backslashreplace")):
        if pair["name"] in wanted:
            found.setdefault(pair["name"], _value(pair))
    return {name: value for name, value in found.items() if value is not None}


def _value(pair: "re.Match[str]") -> Any:
    if pair["bare"] is None:
        return pair["text"] if pair["text"] is not None else pair["other"]
    if pair["bare"] in _WORDS:
        return _WORDS[pair["bare"]]
    try:
        return int(pair["bare"])
    except ValueError:
        return pair["bare"]


def in_words(told: Settings, names: Iterable[str]) -> str:
    """`tp_size 8, attention_backend triton`; what is off or empty is left out."""
    return ", ".join(
        f"{name} {told[name]}" for name in names if told.get(name) not in (None, False, "", "auto", "none")
    )
