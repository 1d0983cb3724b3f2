"""The results of benchmark clients: which client's a file or a text is, told by its content, never by its name."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from fingerprint.metrics.clients import PRINTED, RECORDED, WHOLE, pyperf
from fingerprint.metrics.clients.printed import printed_text
from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.logs import LOGS, LogFormat, named
from fingerprint.metrics.logs import recognise as recognise_log
from fingerprint.metrics.results import FORMATS
from fingerprint.metrics.source import Source, document, documents, is_of_lines, unpacked

_JSON = re.compile(rb"\s*(?:\{|\[\s*[\[{\"])")  # a log may begin with a bracket too
_PRINTED = 8 << 20  # bytes that a client prints at most


class Recognised(NamedTuple):
    client: str
    read: Callable[[], Found]


def read(source: Source, reader: str = "auto") -> Found:
    """What a client's result tells, by the reader that was named or by that which recognises it. Raises NothingRead."""
    if not source.head.strip():
        raise NothingRead(f"{source.name} is empty: whatever should have written it wrote nothing")
    chosen = recognise(source) if reader not in LOGS else _named(source, reader)
    if chosen is None or reader not in ("auto", chosen.client):
        raise NothingRead(_not_of(reader, source, chosen))
    try:
        found = chosen.read()
    except msgspec.ValidationError as error:
        raise NothingRead(f"{source.name} is not what {chosen.client} writes: {error}") from None
    except NothingRead as error:
        raise NothingRead(f"{source.name}: {error}") from None
    if not found.metrics:
        raise NothingRead(f"{source.name} holds no benchmark of {chosen.client} that was run now; did any run?")
    return found._replace(
        metrics=tuple(msgspec.structs.replace(it, file=source.name) for it in found.metrics),
        remarks=(*found.remarks, *_unread(source, chosen.client)),
    )


def _unread(source: Source, client: str) -> Iterator[str]:
    """Which other logs the file holds as well: one of several servers, or of a server and its client."""
    for reader in LOGS:
        if reader != client and named(reader).recognises(source.head) and _tells(named(reader), source):
            yield f"{source.name} holds a log for {reader} too, of which nothing was read; say {reader}:{source.name}"


def _tells(log: LogFormat, source: Source) -> bool:
    try:
        return any(not metric.gap for metric in log.read(source).metrics)
    except NothingRead:
        return False


def recognise(source: Source) -> Recognised | None:
    """Whose result or log it is; None for any other JSON or text. Raises NothingRead for JSON that is cut or broken.

    A client may print what its engine logs, so of a text that a client could have printed a log is the last thing that
    it can be.
    """
    log = recognise_log(source.head)
    if source.held is None or (log and len(source.held) > _PRINTED):
        return _of_log(source, log)
    return _of_client(source) or _of_log(source, log)


def _named(source: Source, reader: str) -> Recognised | None:
    """What begins like no log may still be one: an engine may write much before it tells of itself.

    Where several engines wrote one, that which is asked for is read.
    """
    if not _is_json(source) and named(reader).recognises(source.head):
        return _of_log(source, named(reader))
    found = _of_log(source, recognise_log(source.head)) or recognise(source)
    return found or _of_log(source, None if _is_json(source) else named(reader))


def _of_log(source: Source, chosen: LogFormat | None) -> Recognised | None:
    return Recognised(chosen.CLIENT, lambda: chosen.read(source)) if chosen else None


def _is_json(source: Source) -> bool:
    return _JSON.match(source.head.encode()) is not None


def _of_client(source: Source) -> Recognised | None:
    try:
        return _of_lines(source) if is_of_lines(source) else _of_document(source)
    except NothingRead as error:
        text = printed_text(source.data[source.begin :])
        if (chosen := _of_text(text)) or not _is_json(source):
            return chosen
        raise NothingRead(f"{error}, so it was not recognised") from None


def _of_document(source: Source) -> Recognised | None:
    told = document(source)
    whole = next((it for it in WHOLE if it.recognises(told)), None)
    if whole is pyperf:
        return Recognised(pyperf.CLIENT, lambda: pyperf.read(told, _earlier(source)))
    if whole is not None:
        return Recognised(whole.CLIENT, lambda: whole.read(told))
    return _of_records(told if isinstance(told, list) else [told])


def _of_lines(source: Source) -> Recognised | None:
    return _of_records([told for _, told in documents(source)])


def _of_records(records: Sequence[Any]) -> Recognised | None:
    """The client's whose the first record is. Others among them are left out, which is told."""
    chosen = next((it for it in RECORDED if it.recognises(records[0])), None) if records else None
    if chosen is None:
        return None
    own = [record for record in records if chosen.recognises(record)]
    others = len(records) - len(own)
    remark = f"{others} of {len(records)} records are none of {chosen.CLIENT} and were left out"

    def read() -> Found:
        found = chosen.read(own)
        return found._replace(remarks=(*found.remarks, remark)) if others else found

    return Recognised(chosen.CLIENT, read)


def _of_text(text: str) -> Recognised | None:
    chosen = next((it for it in PRINTED if it.recognises_text(text)), None)
    return Recognised(chosen.CLIENT, lambda: chosen.read_text(text)) if chosen else None


def _earlier(source: Source) -> Any:
    try:
        return document(Source(source.name, unpacked(source.earlier, source.name))) if source.earlier else None
    except NothingRead:
        return None


def _not_of(reader: str, source: Source, chosen: Recognised | None) -> str:
    name = source.name
    if chosen is not None:
        what, of = ("", "for") if chosen.client in LOGS else ("a result ", "of")
        return f"{name} is {what}{of} {chosen.client}, not {of} {reader}; say {chosen.client}:{name} or auto:{name}"
    logs = f", nor as a log for {', '.join(LOGS[:-1])} or {LOGS[-1]}"
    known = reader if reader != "auto" else f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}{logs}"
    other = f"a value of other JSON, say json:{name}#PATH" if _is_json(source) else "other text, regex:PATTERN"
    return f"{name} was not recognised as a result of {known}; to read {other}"
