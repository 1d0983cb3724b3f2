"""What is told about one server by itself."""

from typing import Union

from probes.kit.facts import Document, Map, Redacted, Section, Seen, config, state, telemetry

Text = Union[str, Redacted]

_ASKED = (
    "process/*/flags/*",
    "process/*/operands",
    "process/*/env/*",
    "process/*/program/*",
)
_RELEASE = (
    "libraries/*/packages/*/version",
    "mapped/*/libraries/**",
    "process/*/program/*",
    "container/*/image",
    "container/*/image_id",
)
_GIVEN = (*_ASKED, *_RELEASE, "model/*/*/**")
_MADE = (*_GIVEN, "engine/*/arguments/*")
_OWN_WORDS = "SGLang /server_info; vLLM /server_info of VLLM_SERVER_DEV_MODE"


class Speculation(Section):
    """How tokens are drafted."""

    algorithm: Seen[str] = config(
        "Which draft guesses, or none: an engine that found no draft it can use may go on without",
        f"{_OWN_WORDS}; llama.cpp /props",
        follows=_MADE,
    )
    steps: Seen[int] = config(
        "Each step is one more pass of the draft before the target verifies",
        "SGLang /server_info: speculative_num_steps",
        "steps",
        follows=_MADE,
    )
    draft_tokens: Seen[int] = config(
        "How many tokens the target verifies at once: what a verify step costs, and at most gains",
        _OWN_WORDS,
        "tokens",
        follows=_MADE,
    )


class Engine(Section):
    """What the server itself says, as it was asked when it began to serve."""

    version: Seen[str] = config(
        "The release that runs, whatever is installed beside it since it was started",
        "SGLang /server_info; vLLM, TensorRT-LLM /version; llama.cpp /props; Triton /v2",
        follows=_RELEASE,
    )
    model: Seen[Text] = config(
        "Which model it serves, as it says",
        "SGLang /server_info; vLLM, TensorRT-LLM /v1/models; llama.cpp /props",
        private=True,
        follows=_MADE,
    )
    revision: Seen[str] = config(
        "A branch of the hub moves: which state of it was loaded",
        "SGLang /server_info",
        follows=_MADE,
    )
    arguments: Seen[Map[Seen[tuple[Text, ...]]]] = config(
        "What the engine made of its flags: an argument may be capped, renamed, overridden by another or by the model",
        f"{_OWN_WORDS}, else vllm:cache_config_info of /metrics; llama.cpp /props",
        private=True,
        follows=_GIVEN,
    )
    context_length: Seen[int] = config(
        "The longest sequence that one request may have; llama.cpp divides its cache among slots by it",
        "vLLM /v1/models: max_model_len; llama.cpp /props: n_ctx of a slot",
        "tokens",
        follows=_MADE,
    )
    max_running_requests: Seen[int] = config(
        "What is asked beyond it waits: the largest batch, which decides throughput and what a step costs",
        f"{_OWN_WORDS}; llama.cpp /props: total_slots",
        "requests",
        follows=_MADE,
    )
    kv_tokens: Seen[int] = state(
        "What the memory left at the start was enough for: with less, requests are preempted and computed twice",
        "SGLang /server_info: max_total_num_tokens; vLLM vllm:cache_config_info of /metrics",
        "tokens",
        settled="always",
        follows=_MADE,
    )
    kv_blocks: Seen[int] = state(
        "The same, in the pieces in which it is given out",
        "vllm:cache_config_info of /metrics: num_gpu_blocks",
        "blocks",
        settled="always",
        follows=_MADE,
    )
    attention_backend: Seen[str] = config(
        "Chosen by GPU, model, cache and installed packages where nobody asked for one; kernels differ by tens of %",
        _OWN_WORDS,
        follows=(*_MADE, "gpu/*/name"),
    )
    graphs: Seen[tuple[int, ...]] = config(
        "Batches of these sizes are launched as one graph, others are padded or launched kernel by kernel",
        _OWN_WORDS,
        "requests",
        follows=_MADE,
    )
    speculation: Speculation = Speculation()
    told: Seen[Document] = telemetry(
        "All else of its answer, for whoever wants to look",
        "SGLang /server_info; vLLM /server_info; llama.cpp /props; Triton /v2",
        context=True,
    )
    metrics: Seen[tuple[str, ...]] = telemetry(
        "Its own counts of tokens, requests and drafts: of two moments their difference is the run's",
        "/metrics of SGLang, vLLM and llama.cpp, where they are asked to have it",
        context=True,
    )
