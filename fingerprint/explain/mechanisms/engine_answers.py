"""What a server says it serves with: arguments in force, cache, batch, attention, graphs, speculation."""

from fingerprint.explain.mechanisms.graph import Phase, Rule

_SGLANG = "https://docs.sglang.io/advanced_features/server_arguments.html"
_TUNING = "https://docs.sglang.io/advanced_features/hyperparameter_tuning.html"
_VLLM = "https://docs.vllm.ai/en/stable/configuration/optimization.html"
_LLAMA = "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md"
_STEPS: tuple[Phase, ...] = ("prefill", "decode step", "verify step", "any work")

RULES: tuple[Rule, ...] = (
    Rule(
        name="release-that-serves",
        sees=("engine/*/version",),
        moves=("code", "kernel choice"),
        phases=(*_STEPS, "start-up", "accept length"),
        breaks="often",
        beside=("libraries/*/packages/*/version",),
        why="A package that was upgraded beneath a server is the one that its next start loads; until then the older "
        "release answers, whatever pip says.",
        confirm="Start the server again, and ask it: /version, /server_info or /props",
        sources=(_SGLANG, _LLAMA),
    ),
    Rule(
        name="model-that-serves",
        sees=("engine/*/model", "engine/*/revision"),
        moves=("workload", "gpu memory", "accept length"),
        phases=(*_STEPS, "start-up", "accept length"),
        breaks="often",
        why="What answers on the port is what is measured: another server may have taken it, or another revision.",
        confirm="Ask /v1/models in both runs",
        sources=(_VLLM,),
    ),
    Rule(
        name="argument-in-force",
        sees=("engine/*/arguments", "engine/*/arguments/*"),
        moves=("workload", "kernel choice", "gpu memory", "launch latency"),
        phases=(*_STEPS, "start-up", "accept length"),
        breaks="seldom",
        beside=("process/*/flags/*",),
        why="Engines cap, derive and override what they were given, by the model, the GPU and the memory that is left: "
        "the same command on another day serves with another batch, page size or backend.",
        confirm="Ask for the other run's value by its flag; the engine's log at the start says what it overrides",
        sources=(_SGLANG, _VLLM),
    ),
    Rule(
        name="kv-cache-size",
        sees=("engine/*/kv_tokens", "engine/*/kv_blocks", "engine/*/context_length"),
        moves=("gpu memory",),
        way="more helps",
        phases=_STEPS,
        breaks="often",
        beside=("gpu/*/memory/used", "engine/*/arguments/--mem-fraction-static"),
        told_by=("requests-preempted",),
        why="The cache is what the memory left at the start is enough for: a neighbour that held some of it then makes "
        "it smaller for as long as the server lives. Below what the load needs, requests are preempted and computed "
        "again.",
        confirm="Count preemptions and retractions in the engine's metrics or log; start alone on the GPU",
        sources=(_TUNING, _VLLM),
    ),
    Rule(
        name="requests-at-once",
        sees=("engine/*/max_running_requests",),
        moves=("workload", "gpu memory"),
        phases=_STEPS,
        beside=("engine/*/kv_tokens",),
        why="More at once is a larger batch, with more throughput and longer steps; what is beyond the limit waits. "
        "SGLang's schedulers lower it to what their cache can hold.",
        confirm="The other run's value by --max-running-requests, --max-num-seqs or --parallel",
        sources=(_TUNING, _LLAMA),
    ),
    Rule(
        name="attention-backend-chosen",
        sees=("engine/*/attention_backend",),
        moves=("kernel choice",),
        phases=_STEPS,
        breaks="often",
        usual=(1.05, 2.0),
        beside=("gpu/*/name", "libraries/*/packages/*/version"),
        why="Chosen by GPU, head size, cache format and what is installed: a package that is missing, or a format that "
        "the first choice lacks, leaves a slower one.",
        confirm="Ask for the other one: --attention-backend, or VLLM_ATTENTION_BACKEND",
        sources=(_SGLANG, "https://docs.vllm.ai/en/stable/design/attention_backends/"),
    ),
    Rule(
        name="graphs-captured",
        sees=("engine/*/graphs",),
        moves=("launch latency", "gpu memory"),
        phases=("decode step", "verify step", "any work"),
        usual=(1.1, 3.0),
        beside=("engine/*/arguments/--disable-cuda-graph",),
        told_by=("without-graphs",),
        why="A batch beyond the largest size is launched kernel by kernel, one between two is padded to the next. "
        "Without graphs hundreds of launches a step are the host's work.",
        confirm="The engine's log says `cuda graph: False` of steps without; ask for the other run's sizes",
        sources=(_SGLANG, "https://docs.vllm.ai/en/stable/design/cuda_graphs/"),
    ),
    Rule(
        name="speculation-in-force",
        sees=(
            "engine/*/speculation/algorithm",
            "engine/*/speculation/steps",
            "engine/*/speculation/draft_tokens",
        ),
        moves=("accept length", "workload", "kernel choice", "gpu memory"),
        phases=("decode step", "verify step", "accept length", "memory use", "any work"),
        usual=(1.1, 3.0),
        beside=("model/*/draft/name",),
        why="How many tokens are drafted and verified at once decides what a cycle costs and how many are accepted at "
        "most; without it each step gives one token.",
        confirm="Ask for the other run's --speculative-* arguments; compare accept length and cycle",
        sources=("https://docs.sglang.io/advanced_features/speculative_decoding.html",),
    ),
)
