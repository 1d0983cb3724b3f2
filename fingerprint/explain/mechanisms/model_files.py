"""The model's files: which ones a name came to, and what they say."""

from fingerprint.explain.mechanisms.graph import Phase, Rule

_HUB = "https://huggingface.co/docs/huggingface_hub/guides/manage-cache"
_SAFETENSORS = "https://huggingface.co/docs/safetensors/index"
_GGUF = "https://github.com/ggml-org/ggml/blob/master/docs/gguf.md"
_GENERATION = "https://huggingface.co/docs/transformers/main_classes/text_generation"
_STEPS: tuple[Phase, ...] = ("prefill", "decode step", "verify step", "start-up", "any work")
_MODEL = "model/*/*"

RULES: tuple[Rule, ...] = (
    Rule(
        name="model-found",
        sees=("model/*", f"{_MODEL}/name", f"{_MODEL}/path", f"{_MODEL}/revision"),
        moves=("workload", "code", "gpu memory", "storage"),
        phases=(*_STEPS, "accept length"),
        breaks="often",
        why="A name of the hub is what its branch was at when this host's cache was filled: two hosts, or two weeks, "
        "serve two models by one command. A draft of another revision is accepted less often.",
        confirm="Start with the other run's commit as --revision, or its folder as the path",
        sources=(_HUB,),
    ),
    Rule(
        name="model-configuration",
        sees=(f"{_MODEL}/configuration",),
        moves=("workload", "code", "kernel choice", "gpu memory"),
        phases=(*_STEPS, "accept length"),
        breaks="often",
        why="Engines choose their model's code by `architectures`, size the cache by layers and heads, and switch "
        "attention by window, scaling and head size that stand here.",
        confirm="Put the other run's config.json back; the engine's log at the start names class and backend",
        sources=("https://huggingface.co/docs/transformers/main_classes/configuration",),
    ),
    Rule(
        name="generation-defaults",
        sees=(f"{_MODEL}/generation_config",),
        moves=("workload", "accept length"),
        why="vLLM and SGLang take temperature, top-p and stop tokens from here where a request has none: answers of "
        "another length are another workload, and a higher temperature rejects more drafts.",
        confirm="Send temperature and stop tokens with each request; or vLLM's --generation-config vllm",
        sources=(_GENERATION, "https://docs.vllm.ai/en/stable/configuration/engine_args/"),
    ),
    Rule(
        name="weight-formats",
        sees=(f"{_MODEL}/quantization", f"{_MODEL}/weights/tensors/*", f"{_MODEL}/weights/metadata/*"),
        moves=("gpu memory bandwidth", "gpu compute", "kernel choice", "gpu memory", "accept length"),
        phases=(*_STEPS, "accept length"),
        breaks="often",
        usual=(1.1, 4.0),
        why="A decode step reads all active weights once: its time follows their bytes. Formats have kernels of their "
        "own on each generation of GPUs, and where there is none a slow one stands in.",
        confirm="The same model in the other format on the same build; the engine's log names the kernel",
        sources=(_SAFETENSORS, _GGUF),
    ),
    Rule(
        name="tokenizer-files",
        sees=(f"{_MODEL}/files", f"{_MODEL}/files/*"),
        moves=("workload", "code", "accept length", "cpu time"),
        phases=("prefill", "decode step", "verify step", "accept length", "host latency", "any work"),
        breaks="often",
        why="Another tokenizer or chat template makes other prompts of the same text, and misses the prefix cache; a "
        "slow tokenizer in the place of a fast one takes tens of ms a request; *.py here is code that the engine runs.",
        confirm="Count the prompt's tokens in both runs; put the other run's file back",
        sources=("https://huggingface.co/docs/transformers/chat_templating",),
    ),
    Rule(
        name="weight-files",
        sees=(
            f"{_MODEL}/weights/headers",
            f"{_MODEL}/weights/format",
            f"{_MODEL}/weights/count",
            f"{_MODEL}/weights/bytes",
            f"{_MODEL}/weights/parameters",
        ),
        moves=("workload", "gpu memory", "gpu memory bandwidth", "storage", "host memory"),
        phases=(*_STEPS, "accept length"),
        breaks="often",
        why="Weights that were swapped under one name, a shard that is missing or left over, or files that must be "
        "unpickled in the place of being mapped.",
        confirm="sha256sum of the files in both runs; load them with the other run's engine",
        sources=(_SAFETENSORS, _GGUF),
    ),
)
