"""The formats of benchmark clients' result files, each told by its content, never by its name."""

from typing import Any, Protocol

import msgspec

from fingerprint.metrics import google_benchmark, hyperfine, pyperf, pytest_benchmark
from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.results import FORMATS
from fingerprint.metrics.source import Source, document, is_of_lines, unpacked


class Format(Protocol):
    """One client's; `read` gets a document that it recognises."""

    CLIENT: str

    def recognises(self, document: Any) -> bool: ...
    def read(self, document: Any) -> Found: ...


KNOWN: tuple[Format, ...] = (pyperf, hyperfine, google_benchmark, pytest_benchmark)


def recognise(told: Any) -> Format | None:
    """The format that the document has; None for any other JSON."""
    return next((it for it in KNOWN if it.recognises(told)), None)


def read(source: Source, reader: str = "auto") -> Found:
    """What a client's file tells, by the reader that was named, or by that which recognises it. Raises NothingRead."""
    told = _document(source, reader)
    chosen = recognise(told)
    if chosen is None or reader not in ("auto", chosen.CLIENT):
        raise NothingRead(_not_of(reader, source.name, chosen))
    try:
        found = pyperf.read(told, _earlier(source)) if chosen is pyperf else chosen.read(told)
    except msgspec.ValidationError as error:
        raise NothingRead(f"{source.name} is not what {chosen.CLIENT} writes: {error}") from None
    except NothingRead as error:
        raise NothingRead(f"{source.name}: {error}") from None
    if not found.metrics:
        raise NothingRead(f"{source.name} holds no benchmark of {chosen.CLIENT} that was run now; did any run?")
    return found._replace(metrics=tuple(msgspec.structs.replace(it, file=source.name) for it in found.metrics))


def _document(source: Source, reader: str) -> Any:
    if is_of_lines(source):
        raise NothingRead(_not_of(reader, source.name, None))
    try:
        return document(source)
    except NothingRead as error:
        raise NothingRead(f"{error}, so it was not recognised") from None


def _earlier(source: Source) -> Any:
    try:
        return document(Source(source.name, unpacked(source.earlier, source.name))) if source.earlier else None
    except NothingRead:
        return None


def _not_of(reader: str, name: str, chosen: Format | None) -> str:
    if chosen is not None:
        return f"{name} is a file of {chosen.CLIENT}, not of {reader}; say {chosen.CLIENT}:{name} or auto:{name}"
    known = reader if reader != "auto" else f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
    return f"{name} was not recognised as a file of {known}; to read a value of other JSON, say json:{name}#PATH"
