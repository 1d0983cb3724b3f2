"""Reads what llama.cpp prints of its timings: of each request of a server, or once at the end of a program.

Seen: llama_print_timings (2023) to slot print_timing (2026). A server's step is drafting, verifying and sampling for
all of its slots. https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-context.cpp
"""

import re
from math import isnan
from typing import Any, NamedTuple

from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.logs import servers
from fingerprint.metrics.logs.lines import COUNT, DIGITS, UNREADABLE, Line, Mark, mark, number_of
from fingerprint.metrics.logs.servers import unnamed
from fingerprint.metrics.logs.starts import Starts
from fingerprint.metrics.logs.table import PER_STREAM, Column, Table, size_class
from fingerprint.metrics.source import Source

CLIENT = "llama-cpp-log"
_TIME = mark(b"eval time =", rb" *(?:(" + DIGITS + rb")|[^ \n]{1,40}) ms / *(" + COUNT + rb") (?:tokens|runs)")
_DRAFTS = mark(b"draft acceptance", rb"[^\n(]*\( *(\d{1,12}) accepted / *(\d{1,12}) generated\)")
_TASK = Mark(
    b"task ",
    re.compile(
        rb"task +(\d+) \| (?:(processing task).*|(stop processing).*| *(?=(?:prompt )?eval time|\r?$))", re.MULTILINE
    ),
)
_STARTS = tuple(map(mark, (b"build: ", b"build = ", b"loading model")))
_AT_ONCE = 1000  # requests
_COLUMNS = (
    Column("generation_throughput", "tok/s", "higher"),
    PER_STREAM,
    Column("prompt_throughput", "tok/s", "higher"),
    Column("acceptance_length", "tokens", "higher"),
    Column("draft_acceptance_rate", "", "higher"),
    Column("cycle_ms", "ms", "lower"),
    Column("decode_step_ms", "ms", "lower"),
    Column("prompt_tokens", "tokens", "unknown"),
    Column("tokens", "tokens", "unknown"),
)
_SPEED = re.compile(rb"[^,]*, *(\d{1,12}(?:\.\d+)?) tokens per second")
_LENGTH = re.compile(rb"mean (?:acceptance length|len) = *(\d{1,6}(?:\.\d+)?)(?![\d.,]*\d)")
_BUILD = re.compile(rb"^[^|]{0,60}\bbuild(?:: | = )(\d+ \([0-9a-f]+\))")
_MODEL = re.compile(rb"(?:loading|load) model '([^']+)'")


def recognises(head: str) -> bool:
    return any(
        word in head for word in ("llama_print_timings:", "llama_perf_context_print:", "llama_model_loader:")
    ) or ("slot " in head and "eval time =" in head)


def read(source: Source) -> Found:
    """Raises NothingRead."""
    return servers.read(source, (_TIME, _DRAFTS, _TASK, *_STARTS), _Log, _found)


def _found(log: "_Log", source: Source) -> Found:
    """Raises NothingRead."""
    log.close()
    metrics = tuple(log.requests.metrics(_COLUMNS, "llama.cpp log, a request each"))
    if not metrics:
        raise NothingRead("llama.cpp's log tells the timings of no request, in its last start; did any run?")
    return Found(metrics, log.workload(), tuple(log.starts.remarks(source)))


class _Timing(NamedTuple):
    """ms: what `timed` of the tokens took: some releases leave out the first one, which the prompt's step gives."""

    ms: float = 0.0
    tokens: int = 0
    timed: float = 0.0

    @property
    def speed(self) -> float | None:
        """Tokens a second; of one token alone nothing can be told."""
        return 1000 * self.timed / self.ms if self.ms and self.tokens > 1 and self.timed else None


class _Request:
    """What its lines say, which is read where it counts: most of a long log are not kept.

    streams: how many requests ran at most while this one did; 0 where the log does not tell.
    """

    def __init__(self, streams: int) -> None:
        self.streams = streams
        self.prompt: re.Match[bytes] | None = None
        self.made: re.Match[bytes] | None = None
        self.draft: re.Match[bytes] | None = None

    def values(self) -> dict[str, float | None]:
        prompt, made = _timing(self.prompt), _timing(self.made)
        accepted, drafted, mean = _drafts(self.draft)
        speed, steps = made.speed, made.timed - accepted
        step = 1000 / speed if speed else None
        length = (mean or made.timed / steps) if step and drafted and steps > 0 else None
        return {
            "prompt_throughput": prompt.speed,
            "generation_throughput": speed,
            PER_STREAM.name: speed if self.streams > 1 else None,
            "acceptance_length": length,
            "draft_acceptance_rate": accepted / drafted if drafted else None,
            "cycle_ms": step * length if step and length else None,
            "decode_step_ms": None if drafted else step,
            "prompt_tokens": prompt.tokens or None,
            "tokens": made.tokens or None,
        }


def _timing(found: "re.Match[bytes] | None") -> _Timing:
    """Of _TIME."""
    if found is None:
        return _Timing()
    ms, count = number_of(found[1]) if found[1] else UNREADABLE, int(number_of(found[2]))
    if isnan(ms):
        return _Timing(ms, count, count)
    speed = _SPEED.match(found.string, found.end(2), found.end())
    return _Timing(ms, count, (round(ms * float(speed[1]) / 1000) if speed else 0) or count)


def _drafts(found: "re.Match[bytes] | None") -> tuple[int, int, float]:
    """Of _DRAFTS: how many tokens were accepted and drafted, and what a step gives in the mean; 0 where untold."""
    if found is None:
        return 0, 0, 0.0
    length = _LENGTH.search(found[0])
    return int(found[1]), int(found[2]), float(length[1]) if length else 0.0


class _Log:
    def __init__(self) -> None:
        self.starts = Starts("llama.cpp", ("build", "model"))
        self._forget()

    def _forget(self) -> None:
        self.requests = Table()
        self._count = 0
        self._most: dict[bytes, int] = {}  # of each task that runs: how many ran with it at most
        self._named = b""  # the task whose timings follow
        self._last: _Request | None = None

    def take(self, found: "re.Match[bytes]", counts: bool) -> None:
        """counts: the run itself wrote it."""
        mark = found.re
        if mark is _TIME.pattern:
            self._timing(found, counts)
        elif mark is _TASK.pattern:
            self._task(*found.groups())
        elif mark is not _DRAFTS.pattern:
            self._start(unnamed(Line(found).text))
        elif self._last is not None:
            self._last.draft = found

    def _start(self, line: bytes) -> None:
        build, model = _BUILD.search(line), _MODEL.search(line)
        if build is None and model is None:
            return
        self.close()
        if self.starts.begins(b""):
            self._forget()
        for name, found in (("build", build), ("model", model)):
            if found:
                self.starts.told[name] = found[1].decode(errors="replace")

    def _task(self, task: bytes, begun: bytes | None, ended: bytes | None) -> None:
        if ended:
            self._most.pop(task, None)
        elif begun:
            self._begun(task)
        else:
            self._named = task

    def _begun(self, task: bytes) -> None:
        if len(self._most) > _AT_ONCE:  # their ends were not told
            self._most.clear()
        self._most[task] = 0
        running = len(self._most)
        for other, most in self._most.items():
            if most < running:
                self._most[other] = running

    def _timing(self, found: "re.Match[bytes]", counts: bool) -> None:
        is_prompt = found.string.endswith(b"prompt ", 0, found.start())
        if is_prompt or self._last is None or self._last.made is not None:
            self.close()
            self._last = _Request(self._most.get(self._named, 0)) if counts else None
            self.starts.served()
        if self._last is None:
            return
        if is_prompt:
            self._last.prompt = found
        elif found[2] != b"0":
            self._last.made = found

    def close(self) -> None:
        """What stands between two requests belongs to the first."""
        last, self._last = self._last, None
        if last is not None:
            self._count += 1
            streams = size_class(last.streams)
            if self.requests.wants(streams, self._count):
                self.requests.add(streams, self._count, last.values())

    def workload(self) -> dict[str, Any]:
        return dict(self.starts.workload("model", self.requests.streams))
