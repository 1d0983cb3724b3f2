"""Which engine of models, or which test of what is between GPUs, a program is: by its name, or by the package that its
code is of."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain

from fingerprint.explain.mechanisms.graph import Reader

SERVE: frozenset[Reader] = frozenset(("vllm", "sglang", "tensorrt-llm", "llama.cpp"))
"""Engines of models; the others are tests."""
_PACKAGES: Mapping[str, Reader] = {
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorrt_llm": "tensorrt-llm",
    "llama_cpp": "llama.cpp",
}
_COMMANDS: Mapping[Reader, str] = {
    "vllm": r"vllm",
    "sglang": r"sglang",
    "tensorrt-llm": r"trtllm-(serve|bench|build|eval)",
    "nccl": r"((all_)?(reduce|gather)|alltoallv?|broadcast|hypercube|(reduce_)?scatter|sendrecv)_perf",
    "rdma": r"ucx_perftest|fi_pingpong|rping|ib_\w+_(bw|lat)|raw_ethernet_(bw|lat)",
    "llama.cpp": r"koboldcpp\.py",
}
_COMPILED: Mapping[Reader, str] = {
    **_COMMANDS,
    "llama.cpp": r"llama-\w[\w-]*|ollama(_llama_server)?|koboldcpp[\w-]*|llamafile",
}
"""A script called llama-something may be anybody's."""
_FOLDERS = re.compile(r"(^|/)(llama-\w[\w-]*|llama\.cpp|ollama|koboldcpp)/")
_IN_FOLDERS = re.compile(
    r"main|server|perplexity|quantize|embedding|simple|speculative|parallel|infill|imatrix|lookup|lookahead|"
    r"batched(-bench)?|rpc-server|llava-cli"
)
"""Programs of llama.cpp that bear its folder's name alone: its first releases'."""
_INSTALLED = re.compile(r"(?:^|/)(?:site|dist)-packages/(.*)")
_CHECKED_OUT = re.compile(
    r"(?:^|/)("
    r"vllm/(?:entrypoints/(?:openai/|cli/|llm\.)|v1/(?:engine|worker|executor)/|benchmarks/benchmark_).*"
    r"|(?<=/vllm/)vllm/(?:benchmarks|engine|executor|worker)/.*"
    r"|sglang/(?:srt/|launch_server\.|bench_|lang/|profiler\.).*"
    r"|tensorrt_llm/(?:commands|bench|llmapi|executor)/.*"
    r")"
)
"""Scripts of engines in a checkout: what other folder of an engine's name holds one tells nothing of it."""


def of_program(path: str, *, compiled: bool) -> Iterator[Reader]:
    name = path.rpartition("/")[2]
    commands = _COMPILED if compiled else _COMMANDS
    yield from (engine for engine, names in commands.items() if re.fullmatch(names, name))
    if compiled and _IN_FOLDERS.fullmatch(name) and _FOLDERS.search(path):
        yield "llama.cpp"
    yield from of_module(module_of(path))


def of_module(name: str) -> Iterator[Reader]:
    """By its first package."""
    if engine := _PACKAGES.get(name.partition(".")[0]):
        yield engine


def of_word(word: str) -> Iterator[Reader]:
    """Of what a launcher was told to start: a command by its name, whatever its path, or an image by any of its
    names."""
    *owners, name = (part.partition(":")[0] for part in word.split("/"))
    yield from of_program(name, compiled=True)
    if not word.startswith(("/", ".")):
        yield from chain(*map(of_module, (*owners, name)))


def module_of(path: str) -> str:
    """As whose module a script runs that is of a package; empty of others."""
    found = _INSTALLED.search(path) or _CHECKED_OUT.search(path)
    return found[1].removesuffix(".py").replace("/", ".") if found else ""
