"""Reads what llama.cpp prints of its timings: of each request of a server, or once at the end of a program.

Seen: llama_print_timings (2023) to slot print_timing (2026). A server's step is drafting, verifying and sampling for
all of its slots. https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-context.cpp
"""

import re
from typing import Any, NamedTuple

from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.logs.lines import Line, marked
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
_TIMING = re.compile(
    rb"eval time = *(?P<ms>\d{1,12}(?:\.\d+)?) ms / *(?P<count>\d{1,12}) (?:tokens|runs)"
    rb"(?:[^,]*, *(?P<speed>\d{1,12}(?:\.\d+)?) tokens per second)?"
)
_ACCEPTED = re.compile(rb"\( *(?P<accepted>\d{1,12}) accepted / *(?P<drafted>\d{1,12}) generated\)")
_LENGTH = re.compile(rb"mean (?:acceptance length|len) = *(\d{1,6}(?:\.\d+)?)")
_TASK = re.compile(rb"task +(\d+) ")
_BUILD = re.compile(rb"^[^|]{0,60}\bbuild(?:: | = )(\d+ \([0-9a-f]+\))")
_MODEL = re.compile(rb"(?:loading|load) model '([^']+)'")


def recognises(head: str) -> bool:
    return any(
        mark in head for mark in ("llama_print_timings:", "llama_perf_context_print:", "llama_model_loader:")
    ) or ("slot " in head and "eval time =" in head)


def read(source: Source) -> Found:
    """Raises NothingRead."""
    log = _Log()
    for line in marked(source, (_TIME, _DRAFTS, _BEGUN, _ENDED, *_STARTS)):
        log.take(line, line.at >= source.begin)
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
    """streams: how many requests ran at most while this one did; 0 where the log does not tell."""

    def __init__(self, streams: int) -> None:
        self.streams = streams
        self.prompt = self.made = _Timing()
        self.accepted = self.drafted = 0
        self.length = 0.0  # of what a step gives in the mean; 0 where the log does not tell

    def values(self) -> dict[str, float | None]:
        speed, steps = self.made.speed, self.made.timed - self.accepted
        step = 1000 / speed if speed else None
        length = (self.length or self.made.timed / steps) if step and self.drafted and steps > 0 else None
        return {
            "prompt_throughput": self.prompt.speed,
            "generation_throughput": speed,
            PER_STREAM.name: speed if self.streams > 1 else None,
            "acceptance_length": length,
            "draft_acceptance_rate": self.accepted / self.drafted if self.drafted else None,
            "cycle_ms": step * length if step and length else None,
            "decode_step_ms": None if self.drafted else step,
            "prompt_tokens": self.prompt.tokens or None,
            "tokens": self.made.tokens or None,
        }


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
        if (task := _TASK.search(line.text)) is None:
            return
        if line.mark == _ENDED:
            self._most.pop(task[1], None)
            return
        if len(self._most) > _AT_ONCE:  # their ends were not told
            self._most.clear()
        self._most[task[1]] = 0
        running = len(self._most)
        for other, most in self._most.items():
            self._most[other] = max(most, running)

    def _timing(self, line: Line, counts: bool) -> None:
        found, is_prompt = _TIMING.match(line.text, line.of), line.text.endswith(b"prompt ", 0, line.of)
        if found is None:
            return
        ms, count, speed = float(found["ms"]), int(found["count"]), float(found["speed"] or 0)
        timing = _Timing(ms, count, round(ms * speed / 1000) or count)
        if is_prompt or self._last is None or self._last.made.tokens:
            self.close()
            task = _TASK.search(line.text)
            self._last = _Request(self._most.get(task[1], 0) if task else 0) if counts else None
        self.starts.served()
        if self._last is not None and is_prompt:
            self._last.prompt = timing
        elif self._last is not None:
            self._last.made = timing

    def _drafts(self, line: Line) -> None:
        found = _ACCEPTED.search(line.text)
        if found and self._last is not None:
            length = _LENGTH.search(line.text)
            self._last.accepted, self._last.drafted = int(found["accepted"]), int(found["drafted"])
            self._last.length = float(length[1]) if length else 0.0

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
