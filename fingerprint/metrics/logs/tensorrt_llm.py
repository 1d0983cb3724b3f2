"""Reads the log of TensorRT-LLM's PyTorch engine (seen: 0.20 to 1.2), which tells of each step with `print_iter_log`.

https://github.com/NVIDIA/TensorRT-LLM/blob/main/tensorrt_llm/_torch/pyexecutor/py_executor.py
"""

import re
from collections import defaultdict

from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.logs import servers
from fingerprint.metrics.logs.lines import COUNT, Line, mark
from fingerprint.metrics.logs.starts import Starts
from fingerprint.metrics.logs.table import Column, Table, requests_in_words, running_of
from fingerprint.metrics.metric import Metric
from fingerprint.metrics.source import Source

CLIENT = "tensorrt-llm-log"
_STEP = mark(b"iter = ", rb"\d+, (?:global_rank = (\d+), )?.*?currank_total_requests = ")
_READY = mark(b"Application startup complete")
_STARTS = tuple(map(mark, (b" tensor_parallel_size=", b"TensorRT LLM version: ", b"TensorRT-LLM version: ")))
_SCHEDULED = re.compile(rb"num_scheduled_requests(?:: | = )(" + COUNT + rb")")
_PROMPTS = re.compile(rb"'num_ctx_requests': [1-9]")
_NAMES = (
    "model", "backend", "tensor_parallel_size", "pipeline_parallel_size", "moe_expert_parallel_size",
    "enable_attention_dp", "dtype", "max_batch_size", "max_num_tokens", "max_seq_len", "enable_chunked_prefill",
    "disable_overlap_scheduler", "attn_backend", "moe_backend", "max_draft_len", "decoding_type",
)  # fmt: skip
_COLUMNS = (
    Column("decode_step_ms", "ms", "lower"),
    Column("cycle_ms", "ms", "lower"),
    Column("device_step_ms", "ms", "lower"),
    Column("running_requests", "", "unknown"),
    Column("kv_cache_usage", "", "unknown"),
)


def recognises(head: str) -> bool:
    return "[TensorRT-LLM]" in head or "[TRT-LLM]" in head


def read(source: Source) -> Found:
    """Raises NothingRead."""
    return servers.read(source, (_STEP, _READY, *_STARTS), _Log, _found)


def _found(log: "_Log", source: Source) -> Found:
    """Raises NothingRead."""
    if not log.steps:
        raise NothingRead(
            "TensorRT-LLM's log tells of no step, after its warm-up and in its last start; it does with "
            "print_iter_log: true in the file of --extra_llm_api_options"
        )
    return Found(tuple(log.metrics()), log.starts.workload("model", log.table.streams), tuple(log.remarks(source)))


class _Rank:
    """streams: of its step before, 0 where that began prompts. lines: of steps of as many as the one before."""

    def __init__(self) -> None:
        self.streams = self.lines = 0


class _Log:
    def __init__(self) -> None:
        self.starts = Starts("tensorrt-llm", _NAMES)
        self._forget()

    def _forget(self) -> None:
        self.table = Table()
        self.steps = 0
        self._ranks: defaultdict[bytes | None, _Rank] = defaultdict(_Rank)

    def take(self, found: "re.Match[bytes]", counts: bool) -> None:
        """counts: the run itself wrote it."""
        if found.re is _STEP.pattern:
            self._step(found, counts)
        elif found.re is _READY.pattern:
            self.starts.ready()
            self._forget()
        elif self.starts.begins(Line(found).text):
            self._forget()

    def _step(self, found: "re.Match[bytes]", counts: bool) -> None:
        """One that begins prompts, or follows such a one, is none of decoding."""
        text, rank = found[0], self._ranks[found[1]]
        number = _SCHEDULED.search(text)
        scheduled, streams = running_of(number[1]) if number and not _PROMPTS.search(text) else (0.0, 0)
        steady = streams == rank.streams != 0
        rank.streams = streams
        self.starts.served()
        if not counts:
            return
        self.steps += 1
        if steady:
            rank.lines += 1
            if self.table.wants(streams, rank.lines):
                self.table.add(streams, rank.lines, _values(Line(found), scheduled))

    def metrics(self) -> "list[Metric]":
        told = list(self.table.metrics(_COLUMNS, "tensorrt-llm log, steps without prompts"))
        why = (
            f"none of the log's {self.steps} steps is one of decoding alone, of as many requests as the step before; "
            "run longer"
        )
        return told or [Metric("decode_step_ms", "ms", "lower", gap=why)]

    def remarks(self, source: Source) -> "list[str]":
        told = list(self.starts.remarks(source))
        if streams := self.table.streams:
            told.append(
                f"{source.name}: {self.table.counted[streams]} of {self.steps} steps count, those of "
                f"{requests_in_words(streams)} and no prompt{self.table.kept}"
            )
        return told


def _values(line: Line, scheduled: float) -> dict[str, float | None]:
    """A step of more tokens than requests verifies what was drafted."""
    step, seconds = line.reading(b"host_step_time = "), line.reading(b"elapsed_time = ")
    ms = step if step is not None or seconds is None else 1000 * seconds
    verifies = (line.number(b"'num_generation_tokens': ") or 0.0) > scheduled
    return {
        "decode_step_ms": None if verifies else ms,
        "cycle_ms": ms if verifies else None,
        "device_step_ms": line.reading(b"prev_device_step_time = "),
        "running_requests": scheduled,
        "kv_cache_usage": line.reading(b"kv_cache_util = "),
    }
