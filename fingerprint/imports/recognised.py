"""Which dumps a text holds, each where it stands: a report of a bug or an environment holds several."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fingerprint.imports.dump import Format, Told
from fingerprint.imports.formats import FORMATS
from fingerprint.sections import leaves
from probes.kit.redact import Redactor

NOTHING = "it tells nothing that is read"


class Excerpt(NamedTuple):
    format: Format
    text: str


class Read(NamedTuple):
    """What came of one excerpt. told None: why it could not be read stands in `says`."""

    format: str
    told: Told | None
    says: str = ""


class _Start(NamedTuple):
    at: int
    format: Format


def read(text: str, redactor: Redactor) -> tuple[Read, ...]:
    """Of all that is recognised; nothing raises."""
    return tuple(_read(excerpt, redactor) for excerpt in excerpts(text))


def _read(excerpt: Excerpt, redactor: Redactor) -> Read:
    name, reader = excerpt.format.name, excerpt.format.read
    if isinstance(reader, str):
        return Read(name, None, reader)
    try:
        told = reader(excerpt.text, redactor)
    except (ValueError, LookupError) as error:
        return Read(name, None, str(error))
    if not told.at and not any(True for section in told.sections.values() for _ in leaves(section)):
        return Read(name, None, NOTHING)
    return Read(name, told, told.doubt)


def excerpts(text: str, formats: Sequence[Format] = FORMATS) -> Iterator[Excerpt]:
    """Each dump from the line that it begins with to where the next one begins; lines that stand among others, as of
    a kernel's log, are taken together."""
    ended = text[: text.rfind("\n") + 1]
    for known in formats:
        if known.lines and (lines := known.begins.findall(ended)):
            yield Excerpt(known, "\n".join(lines) + "\n")
        elif known.whole and (begins := known.begins.search(ended)):
            yield Excerpt(known, ended[begins.start() :])
    starts = _starts(text, [known for known in formats if not known.lines and not known.whole])
    for start, end in zip(starts, (*(start.at for start in starts[1:]), len(text)), strict=False):
        taken = text if start.format.closed else ended
        if start.at < len(taken):
            yield Excerpt(start.format, taken[start.at : end])


def _starts(text: str, formats: Sequence[Format]) -> list[_Start]:
    found = [_Start(match.start(), known) for known in formats for match in known.begins.finditer(text)]
    found.sort(key=lambda start: (start.at, formats.index(start.format)))
    kept: list[_Start] = []
    for start in found:
        previous = kept[-1] if kept else None
        again = previous and previous.format is start.format and start.format.continued
        if not again and (previous is None or previous.at != start.at):
            kept.append(start)
    return kept
