"""The results of benchmark clients, each told by its content: whole files, records of JSON (one, a list or lines of
them), and printed texts."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from fingerprint.metrics.clients import (
    aiperf,
    genai_perf,
    google_benchmark,
    guidellm,
    hyperfine,
    inferencex,
    llama_bench,
    nccl_tests,
    nvbandwidth,
    pyperf,
    pytest_benchmark,
    sglang_batch,
    sglang_offline,
    sglang_serving,
    trtllm_bench,
    vllm_batch,
    vllm_serving,
)
from fingerprint.metrics.found import Found


class Whole(Protocol):
    """One client's file; `read` gets a document that it recognises."""

    CLIENT: str

    def recognises(self, document: Any) -> bool: ...
    def read(self, document: Any) -> Found: ...


class Recorded(Protocol):
    """One client's records; `read` gets those that it recognises."""

    CLIENT: str

    def recognises(self, record: Any) -> bool: ...
    def read(self, records: Sequence[Mapping[str, Any]]) -> Found: ...


class Printed(Protocol):
    """One client's text, without colours; `read_text` gets one that it recognises."""

    CLIENT: str

    def recognises_text(self, text: str) -> bool: ...
    def read_text(self, text: str) -> Found: ...


WHOLE: tuple[Whole, ...] = (pyperf, hyperfine, google_benchmark, pytest_benchmark)
RECORDED: tuple[Recorded, ...] = (
    sglang_serving, vllm_serving, inferencex, sglang_batch, sglang_offline, vllm_batch, aiperf, genai_perf, guidellm,
    llama_bench, trtllm_bench, nvbandwidth,
)  # fmt: skip
PRINTED: tuple[Printed, ...] = (
    sglang_serving, vllm_serving, sglang_batch, sglang_offline, vllm_batch, aiperf, genai_perf, llama_bench,
    trtllm_bench, nccl_tests, nvbandwidth,
)  # fmt: skip
