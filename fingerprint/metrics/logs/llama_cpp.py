"""Reads what llama.cpp prints of its timings: of each request of a server, or once at the end of a program.

Seen: llama_print_timings (2023) to slot print_timing (2026). A server's step is drafting, verifying and sampling for
all of its slots. https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-context.cpp
"""

import re
from math import isnan
from typing import Any, NamedTuple

from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.logs import servers
from fingerprint.metrics.logs.lines import DIGITS, UNREADABLE, Line, number_of
from fingerprint.metrics.logs.starts import Starts
from fingerprint.metrics.logs.table import PER_STREAM, Column, Table, size_class
from fingerprint.metrics.source import Source

CLIENT = "llama-cpp-log"
_TIME, _DRAFTS, _BEGUN, _ENDED = b"eval time =", b"draft acceptance", b"processing task", b"stop processing"
_AT_ONCE = 1000  # requests
_STARTS = (b"build: ", b"build = ", b"loading model")
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
_TIMING = re.compile(rb"eval time = *(?:(" + DIGITS + rb")|[^ ]{1,40}) ms / *(" + DIGITS + rb") (?:tokens|runs)")
_SPEED = re.compile(rb"[^,]*, *(\d{1,12}(?:\.\d+)?) tokens per second")
_ACCEPTED = re.compile(rb"\( *(?P<accepted>\d{1,12}) accepted / *(?P<drafted>\d{1,12}) generated\)")
_LENGTH = re.compile(rb"mean (?:acceptance length|len) = *(\d{1,6}(?:\.\d+)?)(?![\d.,]*\d)")
_TASK = re.compile(rb"task +(\d+) ")
_BUILD = re.compile(rb"^[^|]{0,60}\bbuild(?:: | = )(\d+ \([0-9a-f]+\))")
_MODEL = re.compile(rb"(?:loading|load) model '([^']+)'")


def recognises(head: str) -> bool:
    return any(
        mark in head for mark in ("llama_print_timings:", "llama_perf_context_print:", "llama_model_loader:")
    ) or ("slot " in head and "eval time =" in head)


def read(source: Source) -> Found:
    """Raises NothingRead."""
    return servers.read(source, (_TIME, _DRAFTS, _BEGUN, _ENDED, *_STARTS), _Log, _found)


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
    """Of _TIMING."""
    if found is None:
        return _Timing()
    ms, count = number_of(found[1]) if found[1] else UNREADABLE, int(number_of(found[2]))
    if isnan(ms):
        return _Timing(ms, count, count)
    speed = _SPEED.match(found.string, found.end())
    return _Timing(ms, count, (round(ms * float(speed[1]) / 1000) if speed else 0) or count)


def _drafts(found: "re.Match[bytes] | None") -> tuple[int, int, float]:
    """Of _ACCEPTED: how many tokens were accepted and drafted, and what a step gives in the mean; 0 where untold."""
    if found is None:
        return 0, 0, 0.0
    length = _LENGTH.search(found.string)
    return int(found["accepted"]), int(found["drafted"]), float(length[1]) if length else 0.0


def _task(line: Line) -> bytes:
    """Its number; empty where the line names none before its mark."""
    at = line.text.rfind(b"task ", 0, line.of)
    found = _TASK.match(line.text, at) if at >= 0 else None
    return found[1] if found else b""


class _Log:
    def __init__(self) -> None:
        self.starts = Starts("llama.cpp", ("build", "model"))
        self._forget()

    def _forget(self) -> None:
        self.requests = Table()
        self._count = 0
        self._most: dict[bytes, int] = {}  # of each task that runs: how many ran with it at most
        self._last: _Request | None = None

    def take(self, line: Line, counts: bool) -> None:
        """counts: the run itself wrote it."""
        if line.mark == _TIME:
            self._timing(line, counts)
        elif line.mark == _DRAFTS:
            self._drafts(line)
        elif line.mark in (_BEGUN, _ENDED):
            self._running(line)
        else:
            self._start(line)

    def _start(self, line: Line) -> None:
        build, model = _BUILD.search(line.text), _MODEL.search(line.text)
        if build is None and model is None:
            return
        self.close()
        if self.starts.begins(b""):
            self._forget()
        for name, found in (("build", build), ("model", model)):
            if found:
                self.starts.told[name] = found[1].decode(errors="replace")

    def _running(self, line: Line) -> None:
        task = _task(line)
        if not task:
            return
        if line.mark == _ENDED:
            self._most.pop(task, None)
            return
        if len(self._most) > _AT_ONCE:  # their ends were not told
            self._most.clear()
        self._most[task] = 0
        running = len(self._most)
        for other, most in self._most.items():
            self._most[other] = max(most, running)

    def _timing(self, line: Line, counts: bool) -> None:
        found, is_prompt = _TIMING.match(line.text, line.of), line.text.endswith(b"prompt ", 0, line.of)
        if found is None:
            return
        if is_prompt or self._last is None or self._last.made is not None:
            self.close()
            self._last = _Request(self._most.get(_task(line), 0)) if counts else None
        self.starts.served()
        if self._last is not None and is_prompt:
            self._last.prompt = found
        elif self._last is not None and number_of(found[2]):
            self._last.made = found

    def _drafts(self, line: Line) -> None:
        found = _ACCEPTED.search(line.text, line.of)
        if found and self._last is not None:
            self._last.draft = found

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
