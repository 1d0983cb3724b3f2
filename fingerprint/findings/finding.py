"""What one run shows by itself: a finding, and the words that it is told in."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from fingerprint.words import clean, in_words
from probes.kit.facts import Gap, Redacted

Rule = Literal[
    "variable-unlike-other-ranks",
    "variable-lost-on-the-way",  # the launcher has it, a process below it lacks it
    "variable-changed-on-the-way",  # both have it, with other values
    "variable-not-read",  # set, and no line of the installed engine names it
    "granted-unlike-other-ranks",  # CPUs, scheduling, limits, control groups
    "memory-unlike-other-ranks",  # policy and placement of pages
    "library-unlike-other-ranks",
    "library-mapped-twice",
    "package-deprecated",
    "nccl-setting-not-taken",
    "distance-told-otherwise",  # of two GPUs, by the bus and by NVML
    "file-system-silent",  # of a model or a cache
    "weights-to-come",  # from the server of their file system, as they are not in memory
    "engine-argument-not-taken",  # the server says itself that it serves by another value
]
NAMED = 4


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is odd, and what shows it.

    rule    what was looked for
    about   the variable, limit, library or package; two runs show the same thing where rule and about are the same
    facts   paths of what shows it
    values  by target, or by who tells it; {"gap": code} or {"redacted": true} where it is no value
    do      what to do about it
    """

    rule: Rule
    about: str
    facts: tuple[str, ...]
    values: Mapping[str, Any]
    says: str
    do: str

    @property
    def identity(self) -> tuple[Rule, str]:
        return self.rule, self.about


def plain(value: Any) -> Any:
    """As JSON."""
    if isinstance(value, Gap):
        return {"gap": value.code}
    if isinstance(value, Redacted):
        return {"redacted": True}
    return list(value) if isinstance(value, tuple) else value


def worded(value: Any) -> str:
    """`not set`, where it is absent."""
    told = plain(value)
    return "not set" if told == {"gap": "absent"} else in_words(told)


def named(labels: Sequence[str]) -> str:
    """`tp0, tp1 and 6 more`."""
    shown = labels if len(labels) <= NAMED else labels[: NAMED - 1]
    rest = len(labels) - len(shown)
    return f"{', '.join(shown)} and {rest} more" if rest else ", ".join(shown)


def spoken(parts: Sequence[tuple[Any, Sequence[str]]], *, whole: bool = False) -> str:
    """`1 on tp5, 8 on tp0, tp1, tp2 and 4 more`. Values that differ look different. whole: however long a text is."""
    values = [value for value, _ in parts]
    texts = [worded(value) for value in values]
    if whole or len(set(texts)) < len(texts):
        texts = [clean(value) if isinstance(value, str) else text for value, text in zip(values, texts, strict=True)]
    told = [f"another {text}" if text in texts[:at] else text for at, text in enumerate(texts)]
    return ", ".join(f"{text} on {named(labels)}" for text, (_, labels) in zip(told, parts, strict=True))
