"""The servers that write into one log, each told by the name that what collects their lines sets before them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

import msgspec

from fingerprint.metrics.found import Found, NothingRead, joined
from fingerprint.metrics.logs.lines import Line, marked
from fingerprint.metrics.source import Source

_MOST = 32  # servers
_HEAD = 1 << 16  # bytes: what collects lines sets a name before each of them
_NAME = re.compile(
    rb"^(?:\x1b\[[\d;]*m)*(?:\d\d:\d\d:\d\d )?(?:"
    rb"([\w.@/-]{1,200}(?:\|[\w.@/-]{1,200})?) +\| "  # docker compose logs, docker service logs, foreman, pm2
    rb"|\[pod/([\w./-]{1,400})\] "  # kubectl logs --prefix
    rb"|(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S{8,24}) "  # journalctl, syslog
    rb"([\w.-]{1,200} [\w.@/:-]{1,200})(?:\[\d+\])?: "
    rb")(?:\x1b\[[\d;]*m)*",
    re.MULTILINE,
)


class Log(Protocol):
    """One server's; a line counts where the run itself wrote it."""

    def take(self, line: Line, counts: bool) -> None: ...


L = TypeVar("L", bound=Log)


def read(source: Source, marks: Sequence[bytes], log: Callable[[], L], found: Callable[[L, Source], Found]) -> Found:
    """What `found` tells of the log of each server; of several the metrics have its name. Raises NothingRead."""
    logs = _logs(source, marks, log)
    if len(logs) == 1:
        return found(next(iter(logs.values())), source)
    told: dict[str, Found] = {}
    refused: list[NothingRead] = []
    for name, it in logs.items():
        with _kept(refused):
            told[name] = found(it, source._replace(name=f"{name} in {source.name}" if name else source.name))
    if not told:
        raise refused[0]
    return _named(told, source.name) if len(told) > 1 else next(iter(told.values()))


@contextmanager
def _kept(refused: list[NothingRead]) -> Iterator[None]:
    try:
        yield
    except NothingRead as why:
        refused.append(why)


def _logs(source: Source, marks: Sequence[bytes], log: Callable[[], L]) -> Mapping[str, L]:
    """By the name of the server, empty where there is none; at least one."""
    if not _NAME.search(next(source.chunks(_HEAD), b"")):
        only = log()
        for line in marked(source, marks):
            only.take(line, line.at >= source.begin)
        return {"": only}
    logs: dict[bytes, L] = {}
    for line in marked(source, marks):
        found = _NAME.match(line.text, 0, line.of)
        name, begin = (found[found.lastindex or 0], found.end()) if found else (b"", 0)
        if name not in logs:
            if len(logs) == _MOST:
                raise NothingRead(f"more than {_MOST} servers write into it; give each a log of its own")
            logs[name] = log()
        own = Line(line.mark, line.text[begin:], line.of - begin, line.at)
        logs[name].take(own, line.at >= source.begin)
    return {re.sub(r"[ |]", "/", name.decode()): it for name, it in logs.items()} or {"": log()}


def _named(told: Mapping[str, Found], source: str) -> Found:
    names = [name or "one without a name" for name in told]
    remark = f"{source} holds the lines of {len(names)} servers, whose metrics have their names: {', '.join(names)}"
    return joined([Found(remarks=(remark,)), *(_with_name(name, it) for name, it in told.items())])


def _with_name(name: str, found: Found) -> Found:
    """`NAME/METRIC`, and of the workload `ENGINE/NAME/FACT`."""
    if not name:
        return found
    metrics = tuple(msgspec.structs.replace(it, name=f"{name}/{it.name}") for it in found.metrics)
    parts = {key: key.partition("/") for key in found.workload}
    workload = {f"{engine}/{name}/{fact}": found.workload[key] for key, (engine, _, fact) in parts.items()}
    return found._replace(metrics=metrics, workload=workload)
