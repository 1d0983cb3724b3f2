"""Reads the log of a vLLM engine (seen: 0.2.7 to 0.25.1, V0 and V1).

Each 10 s (5 s in V0) an engine writes the tokens since the line before over the time since then, and how many requests
run just now; V1 writes behind it what was drafted and accepted in that time, V0 what was since the start.
https://github.com/vllm-project/vllm/blob/main/vllm/v1/metrics/loggers.py
https://github.com/vllm-project/vllm/blob/v0.6.3/vllm/engine/metrics.py
"""

import re
from collections import defaultdict

from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.logs import servers
from fingerprint.metrics.logs.lines import DIGITS, UNREADABLE, Line, mark, number_of
from fingerprint.metrics.logs.starts import Starts
from fingerprint.metrics.logs.table import PER_STREAM, Column, Table, per_stream, requests_in_words, running_of
from fingerprint.metrics.metric import Metric
from fingerprint.metrics.source import Source

CLIENT = "vllm-log"
_PROMPTS = b"Avg prompt throughput: "
_ENGINE = mark(
    _PROMPTS,
    rb"(?:(" + DIGITS + rb")?[^,\n]*, Avg generation throughput: (?:(" + DIGITS + rb")|[^ \n]{1,40}) "
    rb"[^,\n]*, Running: (" + DIGITS + rb") reqs(?:[^P\n]*Preemptions: (\d{1,15}))?)?",
)
_DRAFTS = mark(b"SpecDecoding metrics: ", rb"(?:.* Drafted: (" + DIGITS + rb"))?")
_DRAFTS_SO_FAR, _STAGES = mark(b"Speculative metrics: "), mark(b"SpecDecodeWorker stage times: ")
_TOTAL_PREEMPTED = b"total_num_cumulative_preemption="
_PREEMPTED = mark(_TOTAL_PREEMPTED)
_STARTS = tuple(map(mark, (b"non-default args: ", b"LLM engine (v", b" args: Namespace(")))
_NAMES = (
    "model", "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "enable_expert_parallel",
    "quantization", "kv_cache_dtype", "dtype", "max_model_len", "method", "num_speculative_tokens",
    "num_spec_tokens", "gpu_memory_utilization", "max_num_seqs", "max_num_batched_tokens", "enforce_eager",
    "enable_prefix_caching", "enable_chunked_prefill", "disable_custom_all_reduce", "attention_backend",
    "cudagraph_mode", "async_scheduling", "num_scheduler_steps",
)  # fmt: skip
_COLUMNS = (
    Column("generation_throughput", "tok/s", "higher"),
    PER_STREAM,
    Column("prompt_throughput", "tok/s", "higher"),
    Column("cycle_ms", "ms", "lower"),
    Column("decode_step_ms", "ms", "lower"),
    Column("running_requests", "", "unknown"),
    Column("waiting_requests", "", "unknown"),
    Column("kv_cache_usage", "%", "unknown"),
    Column("prefix_cache_hit_rate", "%", "unknown"),
)
# lmdeploy/metrics/loggers.py: what is between its name and the words is `DP: 0, `.
_LMDEPLOY = re.compile(rb"\blmdeploy\b|\bDP: \d+, $")
_WRITER = re.compile(rb"\((\w{1,40}) pid=(\d{1,9})\)")
_NUMBER = re.compile(rb"Engine \d+: $")
_BEFORE = 16  # bytes in which that stands
_ALIKE = 10_000  # of them, held
_POSITIONS = 16  # of a draft
_SHARE = re.compile(rb" ?\d(?:\.\d{1,9})?")
_SPECULATED = (
    Column("acceptance_length", "tokens", "higher"),
    Column("draft_acceptance_rate", "", "higher"),
    Column("draft_ms", "ms", "lower"),
    Column("verify_ms", "ms", "lower"),
    *(Column(f"acceptance_rate/position_{at}", "", "higher") for at in range(1, _POSITIONS + 1)),
)


def recognises(head: str) -> bool:
    return any(
        mark in head
        for mark in (
            "Avg prompt throughput: ",
            "LLM engine (v",
            "vLLM API server version",
            "(EngineCore",
            "(APIServer pid",
        )
    )


def read(source: Source) -> Found:
    """Raises NothingRead."""
    return servers.read(source, (_ENGINE, _DRAFTS, _DRAFTS_SO_FAR, _STAGES, _PREEMPTED, *_STARTS), _Log, _found)


def _found(log: "_Log", source: Source) -> Found:
    """Raises NothingRead."""
    metrics = tuple(log.metrics())
    if not metrics:
        raise NothingRead("vLLM's log tells of no request that ran, in its last start; --disable-log-stats hides them")
    return Found(metrics, log.starts.workload("model", log.engines.streams), tuple(log.remarks(source)))


class _Step:
    """Of a row in whose time no prompt ended. That none was begun the next line tells, in which none ends either."""

    def __init__(self, row: dict[str, float], ms: float) -> None:
        self.length = 0.0
        self._row = row
        self._ms = ms

    def counts(self) -> None:
        self._row["decode_step_ms"] = self._ms
        if self.length:
            self._row["cycle_ms"] = self.length * self._ms


class _Engine:
    """streams: of its line before, 0 where it was idle. lines: of a time that began and ended with equally many.

    step: of its line before, where that is kept and no prompt ended in its time.
    """

    def __init__(self) -> None:
        self.streams = self.lines = 0
        self.step: _Step | None = None


class _Log:
    def __init__(self) -> None:
        self.starts = Starts("vllm", _NAMES)
        self._forget()

    def _forget(self) -> None:
        self.engines, self.drafts = Table(), Table()
        self.busy = self._drafted = 0
        self.preempted: float | None = None
        self._preempted_before = 0.0
        self._engines: defaultdict[bytes, _Engine] = defaultdict(_Engine)
        self._writers: dict[bytes, _Engine] = {}
        self._wrote: _Engine | None = None  # the last line of an engine
        self._so_far = (0.0, 0.0, 0.0)
        self._draft_tokens = 0.0

    def take(self, found: "re.Match[bytes]", counts: bool) -> None:
        """counts: the run itself wrote it."""
        mark = found.re
        if mark is _ENGINE.pattern:
            self._engine(found, counts)
        elif mark is _DRAFTS.pattern:
            self._drafts(found, counts)
        elif mark is _DRAFTS_SO_FAR.pattern:
            self._drafts_so_far(Line(found), counts)
        elif mark is _STAGES.pattern:
            self._stages(Line(found), counts)
        elif mark is _PREEMPTED.pattern:
            self._preempted_so_far(Line(found).number(_TOTAL_PREEMPTED), counts)
        elif self.starts.begins(Line(found).text):
            self._forget()

    def _engine(self, found: "re.Match[bytes]", counts: bool) -> None:
        of = found.start()
        key = found.string[max(0, of - _BEFORE) : of]
        engine = self._wrote = self._writers.get(key) or self._of(found, key)
        before, engine.step = engine.step, None
        prompts, made, requests, preempted = found.groups()
        if requests is None or not (speed := number_of(made) if made else UNREADABLE):
            engine.streams = 0
            return
        running, streams = running_of(requests)
        steady = streams == engine.streams != 0
        engine.streams = streams
        if not steady:
            self._written(found)
            self.starts.served()
        if not counts:
            return
        self.busy += 1
        if preempted is not None:
            self.preempted = (self.preempted or 0.0) + int(preempted)
        if steady:
            engine.lines += 1
            if before and not _is_some(prompts):
                before.counts()
            if self.engines.wants(streams, engine.lines):
                self._written(found)
                row = self.engines.add(streams, engine.lines, _values(Line(found), running, speed))
                engine.step = None if _is_some(prompts) else _Step(row, 1000 * running / speed)

    def _written(self, found: "re.Match[bytes]") -> None:
        """Raises NothingRead."""
        if writer := _WRITER.search(Line(found).before):
            self.starts.written(writer[1], writer[2])

    def _of(self, found: "re.Match[bytes]", key: bytes) -> _Engine:
        """That which wrote the line, by what stands right before its mark: millions are alike. Raises NothingRead."""
        before = Line(found).before
        if _LMDEPLOY.search(before):
            raise NothingRead(
                "it is LMDeploy's log, which has vLLM's words for what it counts otherwise, and it is not read; "
                "for a value of it say regex:PATTERN"
            )
        if len(self._writers) > _ALIKE:
            self._writers.clear()
        number = _NUMBER.search(before)
        engine = self._writers[key] = self._engines[number[0] if number else b""]
        return engine

    def _preempted_so_far(self, total: float | None, counts: bool) -> None:
        """Of V0, which tells of each fiftieth."""
        if total is None:
            return
        if counts:
            self.preempted = (self.preempted or 0.0) + max(0.0, total - self._preempted_before)
        self._preempted_before = total

    def _drafts(self, found: "re.Match[bytes]", counts: bool) -> None:
        """Of the engine whose line stands before."""
        digits = found[1]
        if counts and digits and digits != b"0" and self._wants_drafts():
            self.drafts.add(1, self._drafted, _drafted(Line(found), number_of(digits)))
        if self._wrote and (step := self._wrote.step):
            step.length = Line(found).reading(b"Mean acceptance length: ") or step.length

    def _drafts_so_far(self, line: Line, counts: bool) -> None:
        """Of V0; what the line before told is taken off."""
        names = (b"Number of accepted tokens: ", b"Number of draft tokens: ", b"Number of emitted tokens: ")
        now = tuple(line.reading(name) or 0.0 for name in names)
        accepted, drafted, emitted = (new - old for new, old in zip(now, self._so_far, strict=True))
        self._so_far = (now[0], now[1], now[2])
        self._draft_tokens = line.number(b"Number of speculative tokens: ") or 0.0
        if counts and not drafted <= 0 and self._draft_tokens:
            length = emitted * self._draft_tokens / drafted
            self._speculated({"acceptance_length": length, "draft_acceptance_rate": accepted / drafted})

    def _stages(self, line: Line, counts: bool) -> None:
        """Of V0: how long its steps took in the mean of 5 s."""
        draft, score = line.reading(b"average_time_per_proposal_tok_ms="), line.reading(b"scoring_time_ms=")
        check = line.reading(b"verification_time_ms=")
        if counts and draft is not None and score is not None and check is not None:
            tokens = self._draft_tokens or self.starts.told.get("num_spec_tokens")
            self._speculated({"draft_ms": draft * tokens if tokens else None, "verify_ms": score + check})

    def _speculated(self, values: "dict[str, float | None]") -> None:
        if self._wants_drafts():
            self.drafts.add(1, self._drafted, values)

    def _wants_drafts(self) -> bool:
        self.starts.served()
        self._drafted += 1
        return self.drafts.wants(1, self._drafted)

    def metrics(self) -> "list[Metric]":
        drafts = list(self.drafts.metrics(_SPECULATED, "vllm log, lines of drafts"))
        columns = [it for it in _COLUMNS if not (drafts and it.name == "decode_step_ms")]
        told = list(self.engines.metrics(columns, "vllm log, lines of the engine"))
        if self.busy and not told:
            told = [Metric("generation_throughput", "tok/s", "higher", gap=self._why_none())]
        if self.preempted is not None:
            told.append(Metric("preemptions", "", "unknown", (self.preempted,), "vllm log"))
        return told + drafts

    def _why_none(self) -> str:
        return (
            f"none of the {self.busy} lines in which the engine tells of tokens is of a time in which equally many "
            "requests ran at its beginning and at its end; run longer"
        )

    def remarks(self, source: Source) -> "list[str]":
        told = list(self.starts.remarks(source))
        if streams := self.engines.streams:
            told.append(
                f"{source.name}: {self.engines.counted[streams]} of {self.busy} lines of a busy engine count, those of "
                f"a time that began and ended with {requests_in_words(streams)}{self.engines.kept}"
            )
        return told


def _is_some(prompts: bytes | None) -> bool:
    return prompts is not None and prompts != b"0.0" and number_of(prompts) > 0


def _values(line: Line, running: float, speed: float) -> dict[str, float | None]:
    return {
        "generation_throughput": speed,
        PER_STREAM.name: per_stream(speed, running),
        "prompt_throughput": line.reading(_PROMPTS) or None,
        "running_requests": running,
        "waiting_requests": line.reading(b"Waiting: ") if line.has(b"Waiting: ") else line.reading(b"Pending: "),
        "kv_cache_usage": line.reading(b"GPU KV cache usage: "),
        "prefix_cache_hit_rate": line.reading(b"Prefix cache hit rate: "),
    }


def _drafted(line: Line, drafted: float) -> dict[str, float | None]:
    accepted = line.reading(b" Accepted: ")
    return {
        "acceptance_length": line.reading(b"Mean acceptance length: "),
        "draft_acceptance_rate": accepted / drafted if accepted is not None else None,
        **_positions(line),
    }


def _positions(line: Line) -> dict[str, float | None]:
    rates = line.found[0].partition(b"Per-position acceptance rate: ")[2].partition(b", Avg")[0].split(b",")
    told = [float(it) if _SHARE.fullmatch(it) else UNREADABLE for it in rates[:_POSITIONS] if it.strip()]
    return {f"acceptance_rate/position_{at}": rate for at, rate in enumerate(told, 1)}
