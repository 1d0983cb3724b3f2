"""What serving engines write of themselves while they run: logs, and the answer of `/metrics`."""

from typing import Protocol

from fingerprint.metrics.found import Found
from fingerprint.metrics.source import Source

LOGS = ("sglang-log", "vllm-log", "llama-cpp-log", "tensorrt-llm-log", "prometheus")
"""Names of their readers."""


class LogFormat(Protocol):
    """One engine's; `read` streams the log, however long it is."""

    CLIENT: str

    def recognises(self, head: str) -> bool: ...
    def read(self, source: Source) -> Found: ...


def recognise(head: str) -> LogFormat | None:
    """The format of a log that begins so; None for any other text."""
    return next((it for it in _formats() if it.recognises(head)), None)


def named(reader: str) -> LogFormat:
    """The format that one of LOGS reads."""
    return next(it for it in _formats() if reader == it.CLIENT)


def _formats() -> "tuple[LogFormat, ...]":
    from fingerprint.metrics.logs import llama_cpp, prometheus, sglang, tensorrt_llm, vllm

    return (prometheus, sglang, vllm, tensorrt_llm, llama_cpp)
