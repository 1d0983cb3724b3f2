"""Logs as serving engines write them, in small, and what is read of them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from fingerprint.metrics import Metric
from fingerprint.metrics.found import Found
from fingerprint.metrics.logs import LogFormat, recognise
from fingerprint.metrics.source import Source


def source(*lines: str, begin: int = 0) -> Source:
    return Source("server.log", "".join(f"{line}\n" for line in lines).encode(), b"", begin)


def read(*lines: str, begin: int = 0) -> Found:
    """By the reader that recognises it."""
    told = source(*lines, begin=begin)
    return chosen(told).read(told)


def chosen(told: Source) -> LogFormat:
    format_ = recognise(told.head)
    assert format_ is not None
    return format_


def metrics(found: Found) -> dict[str, Metric]:
    return {metric.name: metric for metric in found.metrics}


def samples(found: Found, name: str) -> tuple[float, ...]:
    return metrics(found)[name].samples


def size_of(lines: Iterable[str]) -> int:
    """Bytes that they have in a `source`."""
    return sum(len(line.encode()) + 1 for line in lines)


# SGLang


def decode(speed: float, accept: float | None = None, running: int = 1, rank: str = " TP0", graph: str = "True") -> str:
    accepted = "" if accept is None else f"accept len: {accept:.2f}, accept rate: 0.50, "
    return (
        f"[2026-03-02 10:11:12{rank}] Decode batch, #running-req: {running}, #token: 4096, token usage: 0.12, "
        f"{accepted}cuda graph: {graph}, gen throughput (token/s): {speed:.2f}, #queue-req: 3"
    )


def prefill(running: int = 0, new: int = 100, cached: int = 0, speed: float | None = None, rank: str = " TP0") -> str:
    told = "" if speed is None else f", cuda graph: False, input throughput (token/s): {speed:.2f}"
    return (
        f"[2026-03-02 10:11:10{rank}] Prefill batch, #new-seq: 1, #new-token: {new}, #cached-token: {cached}, "
        f"token usage: 0.02, #running-req: {running}, #queue-req: 0{told}"
    )


def sglang_start(model: str = "org/model", speculative: str = "None", more: str = "") -> str:
    return (
        f"[2026-03-02 10:00:00] server_args=ServerArgs(model_path='{model}', tp_size=8, attention_backend='triton', "
        f"mem_fraction_static=0.85, api_key='sk-0123456789abcdef', speculative_algorithm={speculative}{more})"
    )


READY = "[2026-03-02 10:05:00] The server is fired up and ready to roll!"
ACCESS = '[2026-03-02 10:11:12] INFO:     127.0.0.1:5555 - "POST /generate HTTP/1.1" 200 OK'


def sglang_log(speeds: Sequence[float], accepts: Sequence[float | None], start: str = "") -> list[str]:
    """One request, alone, whose first line of decoding holds the time since the server was ready."""
    first = [start or sglang_start(), prefill(new=7), READY, ACCESS, prefill(new=512), decode(0.4, accepts[0])]
    return [*first, *map(decode, speeds, accepts), ACCESS]


def written(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


# vLLM


def engine(
    speed: float, prompts: float = 0.0, running: int = 1, engine: str = "Engine 000: ", hits: float = 59.2
) -> str:
    return (
        f"(APIServer pid=7) INFO 03-02 10:11:12 [loggers.py:273] {engine}Avg prompt throughput: {prompts} tokens/s, "
        f"Avg generation throughput: {speed} tokens/s, Running: {running} reqs, Waiting: 2 reqs, "
        f"GPU KV cache usage: 0.7%, Prefix cache hit rate: {hits}%"
    )


def drafts(length: float, accepted: int, drafted: int, positions: str = "0.800, 0.600") -> str:
    return (
        f"(APIServer pid=7) INFO 03-02 10:11:12 [metrics.py:120] SpecDecoding metrics: "
        f"Mean acceptance length: {length}, Accepted throughput: 3.44 tokens/s, Drafted throughput: 6.18 tokens/s, "
        f"Accepted: {accepted} tokens, Drafted: {drafted} tokens, "
        f"Per-position acceptance rate: {positions}, Avg Draft acceptance rate: 55.7%"
    )


# What collects the lines of several servers


def composed(name: str, lines: Iterable[str]) -> list[str]:
    return [f"{name}  | {line}" for line in lines]
