"""What each engine is asked, and where in its answers what is told.

SGLang 0.4.6 to 0.5.x   /server_info, before it /get_server_info: its ServerArgs, what its scheduler made of them, and
                        for each scheduler its state; /metrics with --enable-metrics
vLLM 0.8 to 0.33        /version, /v1/models, /metrics; all of its configuration with VLLM_SERVER_DEV_MODE=1
llama.cpp               /props; /metrics with --metrics. Not /slots, which may show prompts
TensorRT-LLM            /version, /v1/models. Not /metrics: whoever reads it takes it from others
Triton                  /v2: its models are known by name only, and stand in files (model)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from probes.engine.asking import NOT_TOLD, UNSET, Asking, Words, arguments, at, number, sizes, text, words
from probes.engine.sections import Engine as Section
from probes.engine.sections import Speculation
from probes.kit.engines import Engine
from probes.kit.facts import Document, Gap, Map, Seen, seen_or, then
from probes.kit.lazy import lazy_regex

Facts = Mapping[str, Any]
Told = Mapping[str, Any]

_OF_EACH_START = lazy_regex(r"(?:.*_)?(?:ports?|seed|addr|host|ip)$")
_NO_ARGUMENTS = frozenset({"version", "internal_states", "status", "max_total_num_tokens", "max_req_input_len"})
_LABEL = lazy_regex(r'(\w+)="((?:[^"\\]|\\.)*)"')
_CACHE = "vllm:cache_config_info{"
_UNTOLD = frozenset({"chat_template", "media_marker", "vllm_env", "system_env"})
_VLLM_ARGUMENTS: Mapping[str, Sequence[str]] = {
    "scheduler_config": ("max_num_seqs", "max_num_batched_tokens", "enable_chunked_prefill", "async_scheduling"),
    "model_config": ("max_model_len", "quantization", "enforce_eager"),
    "cache_config": ("block_size", "cache_dtype", "gpu_memory_utilization", "enable_prefix_caching"),
    "parallel_config": (
        *("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "enable_expert_parallel"),
        "disable_custom_all_reduce",
    ),
}
_VLLM_NAMES = {"cache_dtype": "kv_cache_dtype"}
DOCUMENT_BYTES = 64 << 10


def without(why: Gap) -> dict[str, Any]:
    """Each fact with the same gap."""
    return {
        **dict.fromkeys(Section.__facts__, why),
        "speculation": _drafting(dict.fromkeys(Speculation.__facts__, why)),
    }


def _drafting(told: Facts) -> Speculation:
    return Speculation(**{**dict.fromkeys(Speculation.__facts__, NOT_TOLD), **told})


def _told(answer: Seen[Told], read: Callable[[Told], Facts]) -> dict[str, Any]:
    """Each fact: what is read of an answer, and of the rest that this engine tells none of it."""
    if isinstance(answer, Gap):
        return without(answer)
    rest = {name: value for name, value in answer.items() if name not in _UNTOLD}
    return {**without(NOT_TOLD), "told": _document(rest), **read(answer)}


def _document(rest: Told) -> Seen[Document]:
    size = len(msgspec.json.encode(rest))
    return Document(rest) if size <= DOCUMENT_BYTES else Gap("failed", f"larger than {DOCUMENT_BYTES >> 10} KiB")


def of_sglang(ask: Asking) -> Facts:
    info = ask.object("/server_info", "/get_server_info")
    return {**_told(info, _sglang), "metrics": ask.metrics()}


def _sglang(it: Told) -> Facts:
    asked = {
        name: value for name, value in it.items() if name not in _NO_ARGUMENTS and not _OF_EACH_START.fullmatch(name)
    }
    states = [one for one in _list(it.get("internal_states")) if isinstance(one, dict)]
    running = [number(one.get("effective_max_running_requests_per_dp")) for one in states]
    own = [{name: value for name, value in one.items() if name not in it} for one in states]
    others = {name: it[name] for name in sorted(_NO_ARGUMENTS & it.keys())}
    drafts = it.get("speculative_algorithm", "")
    return {
        "told": _document({**others, "internal_states": own}),
        "version": text(it.get("version")),
        "model": text(it.get("model_path")),
        "revision": text(it.get("revision"), UNSET),
        "arguments": Map(arguments(asked)),
        "context_length": number(it.get("context_length"), Gap("absent", "the model's own")),
        "max_running_requests": _sum(running),
        "kv_tokens": number(it.get("max_total_num_tokens")),
        "attention_backend": text(it.get("attention_backend")),
        "graphs": () if it.get("disable_cuda_graph") is True else sizes(it.get("cuda_graph_bs")),
        "speculation": _drafting(
            {
                "algorithm": "none" if drafts is None else text(drafts),
                "steps": number(it.get("speculative_num_steps"), UNSET),
                "draft_tokens": number(it.get("speculative_num_draft_tokens"), UNSET),
            }
        ),
    }


def _sum(numbers: Sequence[Seen[int]]) -> Seen[int]:
    known = [one for one in numbers if not isinstance(one, Gap)]
    return sum(known) if known and len(known) == len(numbers) else NOT_TOLD


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def of_vllm(ask: Asking) -> Facts:
    version, models, lines = ask.object("/version"), ask.json("/v1/models"), ask.metrics()
    info = then(ask.object("/server_info?config_format=json"), lambda it: _object(it.get("vllm_config")))
    told, cache = _told(info, _vllm), then(lines, _cache_config)
    nothing: Map[Seen[Words]] = Map({})
    length = then(models, lambda it: number(_first(it, "max_model_len")))
    settings = {
        **seen_or(then(cache, _cache_arguments), {}),
        **arguments({"max_model_len": seen_or(length, None)}),
        **seen_or(told["arguments"], nothing).items,
    }
    return {
        **told,
        "version": then(version, lambda it: text(it.get("version"))),
        "model": then(models, lambda it: text(_first(it, "root") or _first(it, "id"))),
        "arguments": Map(settings) if settings else told["arguments"],
        "context_length": length,
        "kv_blocks": then(cache, lambda it: _digits(it.get("num_gpu_blocks"))),
        "kv_tokens": then(cache, _cache_tokens),
        "metrics": lines,
    }


def _vllm(it: Told) -> Facts:
    asked = {
        _VLLM_NAMES.get(name, name): at(it, part, name) for part, names in _VLLM_ARGUMENTS.items() for name in names
    }
    drafting = it.get("speculative_config")
    return {
        "revision": text(at(it, "model_config", "revision"), UNSET),
        "arguments": Map(arguments(asked)),
        "max_running_requests": number(at(it, "scheduler_config", "max_num_seqs")),
        "attention_backend": text(at(it, "attention_config", "backend")),
        "graphs": () if at(it, "model_config", "enforce_eager") is True else _vllm_graphs(it),
        "speculation": _drafting(
            {
                "algorithm": text(at(it, "speculative_config", "method")) if drafting else "none",
                "draft_tokens": number(at(it, "speculative_config", "num_speculative_tokens"), UNSET),
            }
        ),
    }


def _object(value: Any) -> Seen[Told]:
    return value if isinstance(value, dict) else NOT_TOLD


def _vllm_graphs(it: Told) -> Seen[tuple[int, ...]]:
    return sizes(at(it, "compilation_config", "cudagraph_capture_sizes"))


def _cache_config(lines: Sequence[str]) -> Seen[Mapping[str, str]]:
    """Of the first engine; those of a server are alike."""
    line = next((line for line in lines if line.startswith(_CACHE)), None)
    return Gap("unsupported", "this release does not tell it") if line is None else dict(_LABEL.findall(line))


def _cache_arguments(cache: Mapping[str, str]) -> dict[str, Seen[Words]]:
    spoken = {"True": True, "False": False, "None": None}
    names = _VLLM_ARGUMENTS["cache_config"]
    return arguments(
        {_VLLM_NAMES.get(name, name): spoken.get(cache[name], cache[name]) for name in names if name in cache}
    )


def _digits(value: str | None) -> Seen[int]:
    return int(value) if value and value.isdecimal() else NOT_TOLD


def _cache_tokens(cache: Mapping[str, str]) -> Seen[int]:
    blocks, size = _digits(cache.get("num_gpu_blocks")), _digits(cache.get("block_size"))
    return then(blocks, lambda many: then(size, lambda each: many * each))


def of_llama_cpp(ask: Asking) -> Facts:
    return {**_told(ask.object("/props"), _llama_cpp), "metrics": ask.metrics()}


def _llama_cpp(it: Told) -> Facts:
    slots, defaults = it.get("total_slots"), _object(at(it, "default_generation_settings", "params"))
    drafting = seen_or(defaults, {})
    return {
        "version": text(it.get("build_info")),
        "model": text(it.get("model_path")),
        "arguments": Map({"--parallel": told} if (told := words(slots)) else {}),
        "context_length": number(at(it, "default_generation_settings", "n_ctx")),
        "max_running_requests": number(slots),
        "speculation": _drafting(
            {
                "algorithm": text(drafting.get("speculative.types")),
                "draft_tokens": number(drafting.get("speculative.n_max"), UNSET),
            }
        ),
    }


def of_tensorrt_llm(ask: Asking) -> Facts:
    version, models = ask.object("/version"), ask.json("/v1/models")
    return {
        **without(NOT_TOLD),
        "version": then(version, lambda it: text(it.get("version"))),
        "model": then(models, lambda it: text(_first(it, "id"))),
    }


def _first(models: Any, name: str) -> Any:
    """Of the first model of a list in the form of OpenAI."""
    listed = _list(at(models, "data")) if isinstance(models, dict) else []
    return listed[0].get(name) if listed and isinstance(listed[0], dict) else None


def of_triton(ask: Asking) -> Facts:
    return _told(ask.object("/v2"), lambda it: {"version": text(it.get("version"))})


ASKED: Mapping[Engine, Callable[[Asking], Facts]] = {
    "sglang": of_sglang,
    "vllm": of_vllm,
    "llama.cpp": of_llama_cpp,
    "tensorrt-llm": of_tensorrt_llm,
    "triton": of_triton,
}
