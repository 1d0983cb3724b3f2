"""What one dump tells, and what a format is."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from fingerprint.snapshot import Key
from probes.kit.facts import Section
from probes.kit.redact import Redactor


class Told(NamedTuple):
    """at: ns since 1970, 0 where the dump tells no time. host: empty where it names none. doubt: why there may be more
    than it tells, or what of it is left out."""

    sections: Mapping[Key, Section]
    at: int = 0
    host: str = ""
    doubt: str = ""


Reader = Callable[[str, Redactor], Told]
"""Raises ValueError, in one sentence, for a dump that cannot be read, or not in whole where that would tell wrong."""


class Format(NamedTuple):
    """name: what prints it.
    begins: the line that it begins with, wherever in a text that stands.
    read: what it tells; where it is a text, the reason why nothing of it is taken.
    continued: such a line may stand in it again and again.
    lines: `begins` matches each of its lines, which may stand among others.
    whole: it goes on to the end of the text, whatever dumps it holds itself.
    closed: it shows itself where it is cut off, within a line as well; of the others a last line without an end, which
    may be half of one, is left out.
    """

    name: str
    begins: re.Pattern[str]
    read: Reader | str
    continued: bool = False
    lines: bool = False
    whole: bool = False
    closed: bool = False


def of_host(sections: Mapping[str, Section], at: int = 0, host: str = "") -> Told:
    """By area."""
    return Told({Key(area): section for area, section in sections.items()}, at, host)


def numbered(index: int | str) -> str:
    """The key of a GPU of which a dump tells the number alone: `GPU03`."""
    return f"GPU{int(index):02}"
