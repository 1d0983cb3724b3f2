"""Results and logs that no run is known to have written: all that they hold counts."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fingerprint.metrics.collect import together
from fingerprint.metrics.formats import read, recognise
from fingerprint.metrics.found import Found, NothingRead, printable
from fingerprint.metrics.logs import LOGS, prometheus
from fingerprint.metrics.source import Source, load, unpacked


class Alone(NamedTuple):
    """formats: of each file that was read. refused: why others were not that are a result, a log, or broken."""

    found: Found = Found()
    formats: Mapping[str, str] = {}
    refused: Mapping[str, str] = {}


class _Read(NamedTuple):
    name: str
    format: str = ""
    found: Found = Found()
    why: str = ""


def of_files(paths: Iterable[str]) -> Alone:
    """Nothing raises: what is no result or log, or cannot be read, is none."""
    return _of(_file(path) for path in paths)


def log_of(path: str) -> str:
    """Which log of an engine a file is; empty where it is none, or one that is read as a whole each time."""
    try:
        chosen = recognise(load(path))
    except (NothingRead, OSError):
        return ""
    return chosen.client if chosen and chosen.client in LOGS and chosen.client != prometheus.CLIENT else ""


def of_content(content: bytes, name: str) -> Alone:
    return _of([_content(content, name)])


def _of(files: Iterable[_Read]) -> Alone:
    known = list(files)
    return Alone(
        together(each.found for each in known if each.format),
        {each.name: each.format for each in known if each.format},
        {each.name: each.why for each in known if each.why},
    )


def _file(path: str) -> _Read:
    try:
        source = load(path)
    except NothingRead as error:
        return _Read(path, why=str(error))
    except OSError:
        return _Read(path)
    return _source(source)


def _content(content: bytes, name: str) -> _Read:
    try:
        return _source(Source(name, unpacked(content, name)))
    except NothingRead as error:
        return _Read(name, why=str(error))


def _source(source: Source) -> _Read:
    try:
        chosen = recognise(source)
        if chosen is None:
            return _Read(source.name)
        found = read(source)
    except NothingRead as error:
        return _Read(source.name, why=str(error))
    return _Read(source.name, chosen.client, _named(found, source.name))


def _named(found: Found, file: str) -> Found:
    return found._replace(remarks=tuple(map(printable, found.remarks)), files=(file,))
