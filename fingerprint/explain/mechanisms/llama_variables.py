"""Variables of llama.cpp and Ollama: where weights lie, what is kept, what is computed where."""

from fingerprint.explain.mechanisms.cpu_time import CONTENDED, THROTTLED
from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.mechanisms.variables import env

_SERVER = "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md"
_BUILD = "https://github.com/ggml-org/llama.cpp/blob/master/docs/build.md"
_FAQ = "https://github.com/ollama/ollama/blob/main/docs/faq.mdx"


RULES: tuple[Rule, ...] = (
    Rule(
        name="llama-layers",
        sees=env(
            "LLAMA_ARG_N_GPU_LAYERS LLAMA_ARG_DEVICE LLAMA_ARG_N_CPU_MOE LLAMA_ARG_CPU_MOE LLAMA_ARG_N_CPU_FFN"
            " LLAMA_ARG_OVERRIDE_TENSOR LLAMA_ARG_MOE_CACHE_MIB LLAMA_ARG_FIT LLAMA_ARG_FIT_* LLAMA_ARG_KV_OFFLOAD"
            " LLAMA_ARG_NO_KV_OFFLOAD LLAMA_ARG_NO_OP_OFFLOAD GGML_OP_OFFLOAD_MIN_BATCH OLLAMA_GPU_OVERHEAD"
            " OLLAMA_MAX_VRAM"
        ),
        moves=("gpu memory", "host memory bandwidth", "cpu time", "pcie link"),
        told_by=("gpu-memory-full", "no-gpu-used"),
        read_by=("llama.cpp",),
        breaks="seldom",
        why="How much of the model lies in GPU memory. What does not is read from the host's memory and multiplied "
        "by its cores at each token, or copied over PCIe for long prompts: a tenth of the layers there can be half "
        "of the time.",
        confirm="The log's `offloaded N/M layers` and the buffer sizes of each device, in both states",
        sources=(_SERVER, "https://github.com/ggml-org/llama.cpp/pull/8035"),
    ),
    Rule(
        name="llama-division",
        sees=env("LLAMA_ARG_SPLIT_MODE LLAMA_ARG_TENSOR_SPLIT LLAMA_ARG_MAIN_GPU OLLAMA_SCHED_SPREAD"),
        moves=("pcie link", "nvlink", "gpu memory", "gpu compute"),
        between=True,
        read_by=("llama.cpp",),
        breaks="seldom",
        why="How layers or rows are spread over GPUs: by layers they work in turn, by rows together, with an "
        "exchange in each layer. The slowest card, or the narrowest slot, sets the pace; Ollama prefers one card "
        "where the model fits.",
        confirm="Buffer sizes of each device in the log, and busy share of each GPU, in both states",
        sources=(_SERVER, _FAQ),
    ),
    Rule(
        name="llama-peer-copies",
        sees=env("GGML_CUDA_P2P GGML_CUDA_NO_PEER_COPY GGML_CUDA_PEER_MAX_BATCH_SIZE"),
        moves=("pcie link", "nvlink"),
        between=True,
        over_pcie="between GPUs",
        read_by=("llama.cpp",),
        breaks="often",
        why="Whether GPUs copy straight to each other or through the host's memory. With some boards and IOMMU "
        "settings straight copies crash or garble the output; by layers so little crosses that it moved nothing "
        "once.",
        confirm="Unset it, then the same run; nvidia-smi topo -p2p r",
        sources=(_BUILD, "https://github.com/noonghunna/club-3090/pull/889"),
    ),
    Rule(
        name="llama-slots",
        sees=env(
            "LLAMA_ARG_N_PARALLEL LLAMA_ARG_CONT_BATCHING LLAMA_ARG_NO_CONT_BATCHING LLAMA_ARG_KV_UNIFIED"
            " LLAMA_ARG_KV_UNIFIED_PER_SLOT OLLAMA_NUM_PARALLEL OLLAMA_MAX_QUEUE"
        ),
        moves=("workload", "gpu memory"),
        phases=("prefill", "decode step", "host latency", "any work"),
        read_by=("llama.cpp",),
        breaks="seldom",
        why="How many requests are decoded in one step: more are more tokens a second for all and fewer for each, "
        "the rest waits. Ollama keeps the context once for each, so twice the requests are twice the cache, and "
        "layers may no longer fit.",
        confirm="Requests in flight and layers on the GPU, as the log tells them, in both states",
        sources=(_FAQ, _SERVER),
    ),
    Rule(
        name="llama-context",
        sees=env("LLAMA_ARG_CTX_SIZE OLLAMA_CONTEXT_LENGTH LLAMA_ARG_SWA_FULL LLAMA_ARG_CONTEXT_SHIFT"),
        moves=("gpu memory", "workload"),
        phases=("prefill", "decode step", "start-up", "any work"),
        read_by=("llama.cpp",),
        breaks="seldom",
        why="For how many tokens the cache is laid out at the start, whether they come or not: a long one takes the "
        "memory that layers would need, a short one cuts prompts off or refuses them.",
        confirm="The log's size of the KV buffer and its `offloaded N/M layers`, in both states",
        sources=(_FAQ, _SERVER),
    ),
    Rule(
        name="llama-batch",
        sees=env("LLAMA_ARG_BATCH LLAMA_ARG_UBATCH"),
        moves=("kernel choice", "gpu memory", "workload"),
        phases=("prefill", "any work"),
        read_by=("llama.cpp",),
        breaks="seldom",
        why="How many tokens of a prompt go through the model at once: small batches leave the matrix kernels short "
        "of work, large ones take compute buffers that layers would need. Of single tokens it moves nothing.",
        confirm="llama-bench -p 2048 -n 0 with both values",
        sources=(_SERVER,),
    ),
    Rule(
        name="llama-cache-format",
        sees=env(
            "LLAMA_ARG_CACHE_TYPE_K LLAMA_ARG_CACHE_TYPE_V LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_* OLLAMA_KV_CACHE_TYPE"
        ),
        moves=("gpu memory", "kernel choice", "gpu memory bandwidth"),
        phases=("prefill", "decode step", "verify step", "any work"),
        told_by=("without-flash-attention",),
        read_by=("llama.cpp",),
        breaks="seldom",
        why="How many bits a cached number has: 8 take half the memory of 16, 4 a quarter, and are unpacked at each "
        "step. A pair of formats for which no kernel was built falls back to another one, with a warning, or to the "
        "CPU.",
        confirm="The log's size of the KV buffer; decoding at the end of a long context in both states",
        sources=(_FAQ, _BUILD),
    ),
    Rule(
        name="llama-flash-attention",
        sees=env("LLAMA_ARG_FLASH_ATTN OLLAMA_FLASH_ATTENTION"),
        moves=("kernel choice", "gpu memory"),
        phases=("prefill", "decode step", "verify step", "any work"),
        told_by=("without-flash-attention",),
        read_by=("llama.cpp",),
        breaks="seldom",
        why="Without it attention writes its scores out in full, so that time and memory grow with the square of "
        "the context, and a quantised cache cannot be used. Where a card has no kernel of its own for it, plain "
        "attention may be faster.",
        confirm="The log's `flash_attn`; llama-bench -fa 0,1 -d 0,16384",
        sources=(_FAQ, _SERVER),
    ),
    Rule(
        name="llama-unified-memory",
        sees=env("GGML_CUDA_ENABLE_UNIFIED_MEMORY"),
        moves=("gpu memory", "pcie link", "page placement"),
        best=("absent",),
        mostly=True,
        phases=("prefill", "decode step", "verify step", "start-up", "any work"),
        over_pcie="all",
        read_by=("llama.cpp",),
        breaks="seldom",
        usual=(1.15, 1.2),
        why="Buffers that may move between GPU and host: what does not fit is swapped over PCIe instead of being "
        "refused, and what fits is slower too, 47.7 to 40.7 tok/s. It is on as soon as it is set, `0` as well. GPUs "
        "that share the host's memory gain by it.",
        confirm="env -u of it, then the same run; memory of the process as nvidia-smi tells it",
        sources=(
            _BUILD,
            "https://github.com/unslothai/llama.cpp/pull/162",
            "https://github.com/ggml-org/llama.cpp/pull/8035",
        ),
    ),
    Rule(
        name="llama-vulkan",
        sees=env("GGML_VK_*"),
        moves=("kernel choice", "gpu memory", "pcie link"),
        read_by=("llama.cpp",),
        breaks="seldom",
        usual=(1.1, 2.7),
        beside=("gpu/*/memory/bar1_total",),
        why="What the Vulkan backend may use: matrix cores, 16 bit, integer products, which memory, which device. "
        "Kept out of the small window through which the host sees GPU memory, weights made 13.9 tok/s into 36.9 "
        "where the window was not resized.",
        confirm="The log at the start lists what each device can; unset it, then the same run",
        sources=("https://github.com/ggml-org/llama.cpp/issues/27097", _BUILD),
    ),
    Rule(
        name="llama-cuda-switches",
        sees=env("GGML_CUDA_DISABLE_FUSION GGML_CUDA_GRAPH_OPT"),
        moves=("kernel choice", "launch latency"),
        phases=("prefill", "decode step", "verify step", "any work"),
        read_by=("llama.cpp",),
        breaks="seldom",
        why="Whether llama.cpp's CUDA backend fuses operations that follow each other, and whether it spreads "
        "independent ones of a graph over several streams: fewer launches, or more kernels side by side, in each "
        "token.",
        confirm="Unset it; llama-bench -n 128 in both states",
        sources=(_BUILD, "https://github.com/ggml-org/llama.cpp/blob/master/ggml/src/ggml-cuda/ggml-cuda.cu"),
    ),
    Rule(
        name="llama-threads",
        sees=env("LLAMA_ARG_THREADS LLAMA_ARG_THREADS_BATCH"),
        moves=("cpu time", "host memory bandwidth"),
        phases=("prefill", "decode step", "start-up", "host latency", "any work"),
        shows=(*THROTTLED, *CONTENDED),
        read_by=("llama.cpp",),
        beside=("process/*/cgroup/cpu_max", "process/*/cgroup/cpuset_cpus", "process/*/affinity", "cpu/smt/active"),
        why="How many cores compute what is not on the GPU: they wait for each other in each operation, so one more "
        "than there are free cores makes all of them wait. Past the point where memory is busy more do not help. "
        "With all layers on the GPU it moves little.",
        confirm="llama-bench -t with both values; threads by ps -L",
        sources=(_SERVER,),
    ),
    Rule(
        name="llama-places",
        sees=env("LLAMA_ARG_NUMA"),
        moves=("page placement", "cpu time"),
        phases=("prefill", "decode step", "start-up", "host latency", "any work"),
        shows=CONTENDED,
        read_by=("llama.cpp",),
        why="Whether threads stay on one memory node or are spread over all. Pages of a mapped model stay where the "
        "first run put them in the page cache, so the setting shows only after the cache was dropped.",
        confirm="Drop the page cache, then the same run; numastat -p PID",
        sources=(_SERVER,),
    ),
    Rule(
        name="llama-loading",
        sees=env(
            "LLAMA_ARG_MMAP LLAMA_ARG_NO_MMAP LLAMA_ARG_MLOCK LLAMA_ARG_LOAD_MODE LLAMA_ARG_DIO LLAMA_ARG_LAZY_MODE"
            " LLAMA_ARG_REPACK LLAMA_ARG_NO_REPACK LLAMA_ARG_NO_HOST"
        ),
        moves=("page cache", "storage", "host memory", "cpu time"),
        phases=("start-up", "decode step", "host latency", "any work"),
        read_by=("llama.cpp",),
        breaks="seldom",
        beside=("process/*/limits/max_locked_memory",),
        why="Whether weights are mapped from the file, read into memory or locked there. Mapped ones start at once "
        "and may be pushed out and read again in the middle of decoding; locked ones need a limit that allows it; "
        "packed anew for the CPU they decode faster and start later.",
        confirm="Major page faults of the run (ps -o maj_flt) and the time until it is ready, in both states",
        sources=(_SERVER,),
    ),
    Rule(
        name="models-unloaded",
        sees=env(
            "OLLAMA_KEEP_ALIVE OLLAMA_MAX_LOADED_MODELS LLAMA_ARG_MODELS_MAX LLAMA_ARG_SLEEP_IDLE_SECONDS"
            " LLAMA_ARG_MODELS_AUTOLOAD"
        ),
        moves=("gpu memory", "workload", "storage"),
        phases=("start-up", "host latency", "any work"),
        read_by=("llama.cpp",),
        why="After how long a pause, or for how many others, a model gives its memory up. The next request then "
        "waits until it is read again: Ollama's default is five minutes.",
        confirm="The same request twice with a second between, and with the pause of the run between; ollama ps",
        sources=(_FAQ, _SERVER),
    ),
    Rule(
        name="llama-backend",
        sees=env(
            "OLLAMA_LLM_LIBRARY OLLAMA_VULKAN OLLAMA_INTEL_GPU OLLAMA_RUNNERS_DIR OLLAMA_LIBRARY_PATH OLLAMA_TMPDIR"
        ),
        moves=("availability", "code", "kernel choice"),
        told_by=("no-gpu-used",),
        read_by=("llama.cpp",),
        breaks="often",
        why="Which backend Ollama's runner loads and where it finds it, instead of the one for the GPUs that it "
        "sees: the library for CPUs runs everywhere, and an order of magnitude slower.",
        confirm="ollama ps names the processor; the log names library and device",
        sources=("https://github.com/ollama/ollama/blob/main/envconfig/config.go",),
    ),
    Rule(
        name="llama-drafts",
        sees=env("LLAMA_ARG_SPEC_* LLAMA_ARG_DRAFT_* LLAMA_ARG_*_DRAFT"),
        moves=("accept length", "kernel choice", "gpu memory"),
        read_by=("llama.cpp",),
        breaks="seldom",
        why="Which draft guesses, how many tokens of it are verified at once and from which probability on: guesses "
        "that are thrown away cost a step each, and the draft's layers take memory.",
        confirm="Accepted and drafted tokens of the log in both states",
        sources=(_SERVER,),
    ),
    Rule(
        name="llama-model",
        sees=env(
            "LLAMA_ARG_MODEL LLAMA_ARG_MODEL_URL LLAMA_ARG_MODELS_DIR LLAMA_ARG_MODELS_PRESET LLAMA_ARG_HF_REPO"
            " LLAMA_ARG_HF_FILE LLAMA_ARG_HF_REPO_* LLAMA_ARG_DOCKER_REPO LLAMA_ARG_MMPROJ LLAMA_ARG_MMPROJ_URL"
            " LLAMA_ARG_MMPROJ_AUTO LLAMA_ARG_LORA* LLAMA_ARG_POOLING LLAMA_ARG_EMBEDDINGS LLAMA_ARG_RERANKING"
        ),
        moves=("workload", "gpu memory", "code"),
        read_by=("llama.cpp",),
        breaks="often",
        why="Another file is another model, or the same in other bits: each token reads all active weights once. A "
        "name without a quantisation takes Q4_K_M, or the first file that there is.",
        confirm="Size and sha256 of the file that the log names",
        sources=(_SERVER,),
    ),
    Rule(
        name="length-of-answers",
        sees=env(
            "LLAMA_ARG_N_PREDICT LLAMA_ARG_THINK LLAMA_ARG_THINK_* LLAMA_ARG_REASONING LLAMA_ARG_REASONING_*"
            " LLAMA_ARG_TEMPERATURE LLAMA_ARG_TOP_K LLAMA_ARG_TOP_P LLAMA_ARG_MIN_P LLAMA_ARG_CHAT_TEMPLATE*"
            " LLAMA_ARG_ROPE_* LLAMA_ARG_YARN_*"
        ),
        moves=("workload", "accept length"),
        phases=("accept length", "host latency", "prefill", "any work"),
        read_by=("llama.cpp",),
        why="What is asked of the model: how long it thinks and answers, how freely it draws tokens, how the prompt "
        "is wrapped. Tokens a second stay what they are; the time of a request, and what a draft guesses right, do "
        "not.",
        confirm="Tokens of prompt and answer in both states",
        sources=(_SERVER,),
    ),
    Rule(
        name="llama-remote-devices",
        sees=env("LLAMA_ARG_RPC GGML_RPC_*"),
        moves=("network", "availability", "gpu compute"),
        read_by=("llama.cpp",),
        breaks="often",
        why="Layers that lie on GPUs of other hosts: each token crosses the network once for each of them, and a "
        "server that does not answer ends the start.",
        confirm="Round trip (ping) to each server; the same run without it",
        sources=(_SERVER,),
    ),
)
