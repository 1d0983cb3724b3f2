"""Which known messages stand in what a run printed and logged: of each text that `--metrics` names, but for JSON, which
holds what a model said; of what `said` names of JSON, too: a log may be lines of it."""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fingerprint.metrics.collect import Expected, Output
    from fingerprint.metrics.source import Source
    from fingerprint.runs.record import Said

ASKED = "said"
_JSON = re.compile(rb"\s*(?:\{|\[\s*[\[{\"])")


def said(expected: "Sequence[Expected]", output: "Output") -> "list[Said]":
    """Nothing raises: why a file was not read its reader says. No text is read twice."""
    from fingerprint.runs.record import BOTH_STREAMS, OUTPUT

    texts = {one.file.path: one for one in sorted(expected, key=lambda one: one.wanted.reader == ASKED) if one.file}
    found = [record for one in texts.values() for record in _of_file(one)]
    if printed := [one.wanted.reader for one in expected if one.file is None]:
        asked = ASKED in printed
        found += said_in(BOTH_STREAMS if asked else OUTPUT, [output.data], cut=output.cut, asked=asked)
    return found


def said_in(source: str, chunks: Iterable[bytes], *, cut: bool = False, asked: bool = False) -> "list[Said]":
    """One record; none of JSON. asked: for whatever the text holds."""
    from fingerprint.runs.record import Said
    from fingerprint.said.scan import heard

    begun = iter(chunks)
    first = next(begun, b"")
    if _JSON.match(first) and not asked:
        return []
    return [Said(time.time_ns(), source, dict(heard(chain((first,), begun))), cut)]


def _of_file(one: "Expected") -> "list[Said]":
    from fingerprint.metrics.found import NothingRead
    from fingerprint.metrics.written import followed, written

    assert one.file
    try:
        source = followed(one.file).source if one.others else written(one.file)
        return said_in(one.file.path, added(source), asked=one.wanted.reader == ASKED)
    except (NothingRead, OSError):
        return []


def added(source: "Source") -> Iterator[bytes]:
    """What the run added to a file."""
    left = source.begin
    for chunk in source.chunks():
        if left < len(chunk):
            yield chunk[left:]
        left = max(0, left - len(chunk))
