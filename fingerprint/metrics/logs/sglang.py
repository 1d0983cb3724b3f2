"""Reads the log of an SGLang server (seen: 0.2 to 0.5, on CUDA, ROCm and Ascend).

Each 40th decode step the scheduler of a data-parallel rank writes a line: how many requests run, the tokens of that
rank since the line before over the time since then, and the mean accept length, the token of verification included.
https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/managers/scheduler_metrics_mixin.py
"""

import re
from collections import defaultdict

from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.logs import servers
from fingerprint.metrics.logs.lines import COUNT, UNREADABLE, Line, mark, number_of
from fingerprint.metrics.logs.starts import Starts
from fingerprint.metrics.logs.table import PER_STREAM, Column, Table, per_stream, requests_in_words, running_of
from fingerprint.metrics.metric import Metric
from fingerprint.metrics.source import Source

CLIENT = "sglang-log"
_DECODE = mark(b"Decode batch", rb"(?: \[\d+\])?[.,] #running-req: (" + COUNT + rb")")
_PREFILL = mark(
    b"Prefill batch",
    rb"[^\n]{0,60}?#new-token: ("
    + COUNT
    + rb"), #cached-token: ("
    + COUNT
    + rb")(?:,[^#\n]*#running-req: (\d{1,9})\b)?",
)
_START, _READY = mark(b"server_args=ServerArgs("), mark(b"fired up and ready")
_NUMBER_RETRACTED = b"#retracted_reqs: "
_RETRACTED = mark(_NUMBER_RETRACTED)
_BATCH = re.compile(r"(?:Decode|Prefill) batch(?: \[\d+\])?[.,] #(?:running-req|new-seq): \d")
_BEFORE = 48  # bytes, in which a line says its rank
_ALIKE = 10_000  # of them, held
_SPEED = b"input throughput (token/s): "
_WAITING = re.compile(rb"#queue-req: (\d{1,9})\b")
_RANK = re.compile(rb"\b(?:DP|TP|PP|EP|CP)\d+\b|\bgpu(?:_id)?=\d+")
SETTINGS = (
    "model_path", "tp_size", "dp_size", "pp_size", "ep_size", "quantization", "kv_cache_dtype", "attention_backend",
    "decode_attention_backend", "prefill_attention_backend", "speculative_algorithm", "speculative_draft_model_path",
    "speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens", "mem_fraction_static",
    "chunked_prefill_size", "max_running_requests", "disable_cuda_graph", "cuda_graph_max_bs", "disable_radix_cache",
    "disable_overlap_schedule", "disable_custom_all_reduce", "enable_dp_attention", "enable_torch_compile",
    "moe_a2a_backend", "moe_runner_backend",
)  # fmt: skip
_COLUMNS = (
    Column("gen_throughput", "tok/s", "higher"),
    PER_STREAM,
    Column("accept_length", "tokens", "higher"),
    Column("accept_rate", "", "higher"),
    Column("cycle_ms", "ms", "lower"),
    Column("decode_step_ms", "ms", "lower"),
    Column("cuda_graph", "", "unknown"),
    Column("token_usage", "", "unknown"),
    Column("running_requests", "", "unknown"),
    Column("queued_requests", "", "unknown"),
)
_PREFILLS = (Column("prefill_throughput", "tok/s", "higher"),)


def recognises(head: str) -> bool:
    return "server_args=ServerArgs(" in head or _BATCH.search(head) is not None


def read(source: Source) -> Found:
    """Raises NothingRead."""
    return servers.read(source, (_DECODE, _PREFILL, _START, _READY, _RETRACTED), _Log, _found)


def _found(log: "_Log", source: Source) -> Found:
    """Raises NothingRead."""
    if not log.decodes + log.prefills:
        raise NothingRead(
            "SGLang's log tells of no batch that ran, after its warm-up and in its last start; did any run?"
        )
    return Found(
        tuple(log.metrics()), log.starts.workload("model_path", log.decoded.streams), tuple(log.remarks(source))
    )


class _Rank:
    """A scheduler. streams: of its decode line before, 0 where the time since then held an idle one.

    lines: of decoding that are of a time in which equally many requests ran. prefilled: its line before was one of it;
    waits: and prompts were waiting then.
    """

    def __init__(self) -> None:
        self.streams = 0
        self.prefilled = self.waits = False
        self.lines = 0


class _Log:
    def __init__(self) -> None:
        self.starts = Starts("sglang", SETTINGS)
        self._forget()

    def _forget(self) -> None:
        self.decoded, self.prefilled = Table(), Table()
        self.decodes = self.prefills = self.retracted = 0
        self.tokens = self.cached = 0
        self._ranks: defaultdict[bytes, _Rank] = defaultdict(_Rank)
        self._writers: dict[bytes, _Rank] = {}

    def take(self, found: "re.Match[bytes]", counts: bool) -> None:
        """counts: the run itself wrote it."""
        mark = found.re
        if mark is _DECODE.pattern:
            self._decode(found, counts)
        elif mark is _PREFILL.pattern:
            self._prefill(found, counts)
        elif mark is _RETRACTED.pattern:
            self.retracted += int(Line(found).number(_NUMBER_RETRACTED) or 0) if counts else 0
        elif mark is _READY.pattern:
            self.starts.ready()
            self._forget()  # before it is ready a server asks itself for a few tokens
        elif self.starts.begins(Line(found).text):
            self._forget()

    def _decode(self, found: "re.Match[bytes]", counts: bool) -> None:
        rank, (running, streams) = self._rank(found), running_of(found[1])
        steady = streams == rank.streams != 0
        rank.streams, rank.prefilled = streams, False
        if not counts:
            return
        self.decodes += 1
        if steady:
            rank.lines += 1
            if self.decoded.wants(streams, rank.lines):
                self.decoded.add(streams, rank.lines, _values(Line(found), running))

    def _rank(self, found: "re.Match[bytes]") -> _Rank:
        """That which wrote the line, by what stands between its time and the mark: ` DP0 TP0] `, `[gpu=0] `."""
        block, of = found.string, found.start()
        key = block[max(0, of - _BEFORE, block.rfind(b":", 0, of)) : of]
        rank = self._writers.get(key)
        if rank is None:
            self.starts.served()
            if len(self._writers) > _ALIKE:
                self._writers.clear()
            own = key.rpartition(b"\n")[2]
            rank = self._writers[key] = self._ranks[b" ".join(_RANK.findall(own))]
        return rank

    def _prefill(self, found: "re.Match[bytes]", counts: bool) -> None:
        rank, (tokens, cached, running) = self._rank(found), found.groups()
        busy = running is not None and running != b"0"
        steady = rank.prefilled and (busy or rank.waits)
        rank.streams, rank.prefilled = rank.streams if busy else 0, True
        rank.waits = running is None and _is_waiting(found)
        if not counts:
            return
        self.prefills += 1
        self.tokens += int(number_of(tokens))
        self.cached += int(number_of(cached))
        if steady and self.prefilled.wants(1, self.prefills):
            self.prefilled.add(1, self.prefills, {"prefill_throughput": Line(found).reading(_SPEED)})

    def metrics(self) -> "list[Metric]":
        told = list(self.decoded.metrics(_COLUMNS, "sglang log, decode lines"))
        if not told:
            told = [Metric("gen_throughput", "tok/s", "higher", gap=self._why_none())]
        told += self.prefilled.metrics(_PREFILLS, "sglang log, prefill lines")
        if total := self.tokens + self.cached:
            share = (self.cached / total,)
            told.append(Metric("prefix_cache_hit_rate", "", "unknown", share, "sglang log, all prefill lines"))
        if self.decodes:
            told.append(Metric("retracted_requests", "", "unknown", (float(self.retracted),), "sglang log"))
        return told

    def _why_none(self) -> str:
        if not self.decodes:
            return "the log has no decode line; SGLang writes one each 40 decode steps (--decode-log-interval)"
        return (
            f"none of the log's {self.decodes} decode lines is of a time in which equally many requests ran "
            "throughout; run longer"
        )

    def remarks(self, source: Source) -> "list[str]":
        told = list(self.starts.remarks(source))
        streams = self.decoded.streams
        if streams:
            told.append(
                f"{source.name}: {self.decoded.counted[streams]} of {self.decodes} decode lines count, those of a "
                f"time in which {requests_in_words(streams)} ran throughout{self.decoded.kept}"
            )
        return told


def _is_waiting(found: "re.Match[bytes]") -> bool:
    """Of a server that prefills alone, and so runs nothing: whether prompts wait."""
    waiting = _WAITING.search(found[0])
    return waiting is not None and waiting[1] != b"0"


def _values(line: Line, running: float) -> dict[str, float | None]:
    speed, accepted = line.reading(b"gen throughput (token/s): "), line.reading(b"accept len: ")
    if accepted == 0:  # nothing was verified: each step accepts the token of verification at least
        accepted = UNREADABLE
    step = 1000 * running * (accepted or 1.0) / speed if speed else None
    graph = line.word(b" graph: ") or line.word(b"cuda graph: ")
    return {
        "gen_throughput": speed,
        PER_STREAM.name: per_stream(speed, running),
        "accept_length": accepted,
        "accept_rate": line.reading(b"accept rate: "),
        "cycle_ms": step if accepted else None,
        "decode_step_ms": None if accepted else step,
        "cuda_graph": {"True": 1.0, "False": 0.0}.get(graph),
        "token_usage": line.reading(b"token usage: "),
        "running_requests": running,
        "queued_requests": line.reading(b"#queue-req: "),
    }
