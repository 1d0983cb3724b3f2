"""The servers that write into one log, each told by the name that what collects their lines sets before them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

import msgspec

from fingerprint.metrics.found import Found, NothingRead, joined
from fingerprint.metrics.logs.lines import Mark, marked
from fingerprint.metrics.source import Source

_MOST = 32  # servers
_ALIKE, _LENGTHS = 10_000, 4  # of what stands before lines, held
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
    """One server's."""

    def take(self, found: "re.Match[bytes]", counts: bool) -> None:
        """counts: the run itself wrote the line."""


L = TypeVar("L", bound=Log)


def read(source: Source, marks: Sequence[Mark], log: Callable[[], L], found: Callable[[L, Source], Found]) -> Found:
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


def unnamed(line: bytes) -> bytes:
    """Without the name that stands before it."""
    return _NAME.sub(b"", line, count=1)


@contextmanager
def _kept(refused: list[NothingRead]) -> Iterator[None]:
    try:
        yield
    except NothingRead as why:
        refused.append(why)


def _logs(source: Source, marks: Sequence[Mark], log: Callable[[], L]) -> Mapping[str, L]:
    """By the name of the server, empty where there is none; at least one."""
    if not _NAME.search(next(source.chunks(_HEAD), b"")):
        only = log()
        for found, counts in marked(source, marks):
            only.take(found, counts)
        return {"": only}
    servers = _Servers(log)
    for found, counts in marked(source, marks):
        servers.of(found).take(found, counts)
    return {re.sub(r"[ |]", "/", name.decode()): it for name, it in servers.logs.items()} or {"": log()}


class _Servers(Generic[L]):
    """By their names. What stands before their lines is alike in millions of them, and of few lengths."""

    def __init__(self, log: Callable[[], L]) -> None:
        self.logs: dict[bytes, L] = {}
        self._log = log
        self._before: dict[bytes, L] = {}
        self._lengths: tuple[int, ...] = ()

    def of(self, found: "re.Match[bytes]") -> L:
        """The one that wrote the line. Raises NothingRead."""
        block = found.string
        begin = block.rfind(b"\n", 0, found.start()) + 1
        for length in self._lengths:
            known = self._before.get(block[begin : begin + length])
            if known is not None:
                return known
        return self._named(_NAME.match(block, begin, found.start()))

    def _named(self, found: "re.Match[bytes] | None") -> L:
        name = found[found.lastindex or 0] if found else b""
        if name not in self.logs:
            if len(self.logs) == _MOST:
                raise NothingRead(f"more than {_MOST} servers write into it; give each a log of its own")
            self.logs[name] = self._log()
        if found:
            self._hold(found[0], self.logs[name])
        return self.logs[name]

    def _hold(self, before: bytes, log: L) -> None:
        if len(self._before) > _ALIKE:
            self._before.clear()
        self._before[before] = log
        if len(before) not in self._lengths:
            self._lengths = (len(before), *self._lengths)[:_LENGTHS]


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
