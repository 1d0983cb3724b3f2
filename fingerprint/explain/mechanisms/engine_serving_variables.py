"""Variables of engines that say what is admitted, kept, checked and answered around the steps."""

from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.mechanisms.variables import env

_VLLM = "https://docs.vllm.ai/en/stable/configuration/env_vars/"
_SGLANG = "https://docs.sglang.io/references/environment_variables.html"
_SGLANG_SOURCE = "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/environ.py"
_TRTLLM = "https://github.com/NVIDIA/TensorRT-LLM/blob/main/cpp/tensorrt_llm/common/envUtils.cpp"
_LLAMA_SERVER = "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md"


RULES: tuple[Rule, ...] = (
    Rule(
        name="engine-generation",
        sees=env("VLLM_USE_V1 VLLM_USE_V2_MODEL_RUNNER TLLM_USE_TRT_ENGINE OLLAMA_NEW_ENGINE"),
        moves=("code", "kernel choice", "launch latency", "cpu time"),
        breaks="seldom",
        why="Which generation of the engine's core or model runner serves: another scheduler, another sampler, "
        "other features that it has or lacks. Where the newer one does not know a feature that is asked for, it "
        "falls back or refuses.",
        confirm="The log at the start names the engine or runner; the same run with the other one",
        sources=(_VLLM, "https://github.com/ollama/ollama/blob/main/envconfig/config.go"),
    ),
    Rule(
        name="front-end-variables",
        sees=env(
            "VLLM_USE_RUST_FRONTEND VLLM_RUST_FRONTEND_PATH SGLANG_RUST_SERVER VLLM_V1_OUTPUT_PROC_CHUNK_SIZE"
            " VLLM_MSGPACK_ZERO_COPY_THRESHOLD SGLANG_USE_PICKLE_IPC SGLANG_FORCE_STREAM_INTERVAL"
            " SGLANG_GRPC_WORKER_THREADS SGLANG_DETOKENIZER_MAX_STATES VLLM_USE_FASTOKENS SGLANG_PATCH_TOKENIZER"
            " LLAMA_ARG_THREADS_HTTP SGLANG_MAX_BATCH_REQS_PER_HTTP_REQ SGLANG_ENABLE_REQUEST_DECOMPRESSION"
        ),
        moves=("cpu time", "system calls"),
        phases=("host latency", "prefill", "decode step", "any work"),
        breaks="seldom",
        why="What tokenises, streams and answers, in which pieces and over which serialisation: many small streams "
        "keep one Python process busy, and the engine waits for it. SGLang hands on the tokens of a request that is "
        "not streamed only every 50, so its first token looks late.",
        confirm="py-spy dump of the front end under load; CPU time of each process of the engine in both states",
        sources=(_VLLM, _SGLANG_SOURCE),
    ),
    Rule(
        name="scheduler-polling",
        sees=env(
            "VLLM_SLEEP_WHEN_IDLE SGLANG_SCHEDULER_RECV_SKIPPER_* SGLANG_SCHEDULER_MAX_RECV_PER_POLL"
            " SGLANG_GRAMMAR_POLL_INTERVAL SGLANG_GRAMMAR_MAX_POLL_ITERATIONS SGLANG_SCHEDULER_SKIP_ALL_GATHER"
            " SGLANG_MORI_WAIT_POLL_MS"
        ),
        moves=("wake latency", "cpu time"),
        phases=("host latency", "decode step", "verify step", "any work"),
        why="How often the scheduler looks for new requests between steps, and whether it sleeps meanwhile: looking "
        "costs each step, not looking makes a request wait, and a scheduler that slept answers the first one later.",
        confirm="First token of a lone request after a pause, and tokens a second under load, in both states",
        sources=(_VLLM, _SGLANG),
    ),
    Rule(
        name="scheduler-overlap",
        sees=env(
            "SGLANG_DISABLE_CONSECUTIVE_PREFILL_OVERLAP SGLANG_ENABLE_DELAY_SAMPLE"
            " SGLANG_ENABLE_OVERLAP_PLAN_STREAM SGLANG_ENABLE_WAR_BARRIER SGLANG_FORCE_COARSE_WAR_BARRIER"
            " SGLANG_ENABLE_PREFILL_WAR_READ_DONE SGLANG_NCCL_ALL_GATHER_IN_OVERLAP_SCHEDULER_SYNC_BATCH"
            " SGLANG_ENABLE_METADATA_GLUE_GRAPH SGLANG_PP_SKIP_PURE_CHUNKED_OUTPUT_COMM"
        ),
        moves=("launch latency", "cpu time"),
        phases=("prefill", "decode step", "verify step", "host latency", "any work"),
        read_by=("sglang",),
        why="How much of the scheduler's work for the next step is done while the GPU computes this one. Where a "
        "barrier makes it wait for the whole step, the GPU stands still between steps.",
        confirm="Gaps between steps in a trace, in both states",
        sources=(_SGLANG, _SGLANG_SOURCE),
    ),
    Rule(
        name="admission-estimates",
        sees=env(
            "SGLANG_INIT_NEW_TOKEN_RATIO SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS"
            " SGLANG_RETRACT_DECODE_STEPS SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION SGLANG_MAX_NEW_TOKENS_LIMIT"
            " SGLANG_PREFILL_DELAYER_* SGLANG_SCHEDULER_DECREASE_PREFILL_IDLE SGLANG_DYNAMIC_CHUNKING_SMOOTH_FACTOR"
            " SGLANG_PREFILL_TILE_BUDGET SGLANG_DATA_PARALLEL_BUDGET_INTERVAL"
        ),
        moves=("workload", "gpu memory"),
        phases=("prefill", "decode step", "verify step", "host latency", "any work"),
        read_by=("sglang",),
        breaks="seldom",
        why="How many tokens the scheduler expects of each request, by which it admits more of them: too few and "
        "requests are pushed out and computed twice, too many and the cache stays half empty.",
        confirm="Running, queued and retracted requests of the engine's log in both states",
        sources=(_SGLANG, _SGLANG_SOURCE),
    ),
    Rule(
        name="prefix-reuse",
        sees=env(
            "SGLANG_RADIX_FORCE_MISS VLLM_PREFIX_CACHE_RETENTION_INTERVAL SGLANG_EXPERIMENTAL_CPP_RADIX_TREE"
            " SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND SGLANG_SWA_EVICTION_INTERVAL LLAMA_ARG_CACHE_REUSE"
            " LLAMA_ARG_CACHE_RAM LLAMA_ARG_CACHE_PROMPT LLAMA_ARG_CACHE_IDLE_SLOTS LLAMA_ARG_CTX_CHECKPOINTS"
            " LLAMA_ARG_SLOT_SAVE_PATH OLLAMA_MULTIUSER_CACHE"
        ),
        moves=("workload", "gpu memory", "host memory"),
        phases=("prefill", "host latency", "decode step", "any work"),
        why="Whether, and for how long, what was computed for a prompt's beginning is kept: identical prompts of a "
        "benchmark then cost next to nothing, and forced misses cost all of it.",
        confirm="Hit rate, or tokens of the prompt that were computed, in both states",
        sources=(_SGLANG_SOURCE, _LLAMA_SERVER),
    ),
    Rule(
        name="engine-simulations",
        sees=env(
            "SGLANG_SIMULATE_* SGLANG_DEBUG_HISPARSE_SKIP_IO SGLANG_TEST_RETRACT* SGLANG_TEST_STUCK_*"
            " SGLANG_TEST_DISAGG_* SGLANG_TEST_FORCE_* SGLANG_TEST_CRASH_* TRTLLM_DISAGG_BENCHMARK_GEN_ONLY"
            " TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS TLLM_OVERRIDE_LAYER_NUM VLLM_TEST_FORCE_LOAD_FORMAT"
        ),
        moves=("accept length", "workload", "code"),
        best=("absent",),
        mostly=True,
        breaks="seldom",
        why="Made for tests and projections: how many drafted tokens count as accepted, which experts are hit, how "
        "many layers there are, what is skipped. A number that was taken with it is of no real run.",
        confirm="Unset it: the output is text again, and the accept length is the model's own",
        sources=(_SGLANG_SOURCE, _TRTLLM),
    ),
    Rule(
        name="checks-in-each-step",
        sees=env(
            "VLLM_COMPUTE_NANS_IN_LOGITS VLLM_DEBUG_WORKSPACE VLLM_XLA_CHECK_RECOMPILATION"
            " SGLANG_ENABLE_ASYNC_ASSERT SGLANG_INVARIANT_CHECK SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY"
            " SGLANG_DEBUG_MEMORY_POOL SGLANG_DEBUG_POISON_POOL SGLANG_ENABLE_TREE_CACHE_SANITY_CHECK"
            " SGLANG_CHECK_KV_PAGE_INVARIANTS SGLANG_DEBUG_SYMM_MEM SGLANG_PHASE_CHECKER_DEBUG SGLANG_KV_CANARY_*"
            " SGLANG_ENABLE_RANK_CONSENSUS_CHECKER SGLANG_DEEPGEMM_SANITY_CHECK TLLM_DEBUG_MODE GGML_SCHED_DEBUG"
            " VLLM_PATTERN_MATCH_DEBUG"
        ),
        moves=("cpu time", "launch latency", "kernel choice"),
        best=("absent", "0", "false"),
        mostly=True,
        phases=("decode step", "verify step", "prefill", "host latency", "any work"),
        breaks="seldom",
        why="Each step looks for values or bookkeeping that cannot be: kernels that read the logits once more, "
        "waits for the GPU, loops over all pages. What it finds ends the run where it is strict.",
        confirm="Unset it, then the same run",
        sources=(_VLLM, _SGLANG_SOURCE),
    ),
    Rule(
        name="engine-profiling",
        sees=env(
            "VLLM_TORCH_PROFILER_* VLLM_CUSTOM_SCOPES_FOR_PROFILING VLLM_NVTX_SCOPES_FOR_PROFILING"
            " VLLM_DEBUG_MFU_METRICS VLLM_DEBUG_DUMP_PATH SGLANG_TORCH_PROFILER_DIR SGLANG_PROFILE_*"
            " SGLANG_ENABLE_NVTX* SGLANG_OPERATIONS_ENABLE_PROFILE SGLANG_RECORD_STEP_TIME SGLANG_TRACE_*"
            " SGLANG_DETECT_SLOW_RANK SGLANG_ENABLE_METRICS_DEVICE_TIMER SGLANG_KERNEL_API_*"
            " SGLANG_EPLB_HEATMAP_COLLECTION_INTERVAL TLLM_PROFILE_* TLLM_NVTX_DEBUG TLLM_LLMAPI_ENABLE_NVTX"
            " TLLM_TORCH_PROFILE_TRACE TRTLLM_KVCACHE_TIME_OUTPUT_PATH GGML_VK_PERF_LOGGER"
        ),
        moves=("cpu time", "launch latency", "host memory"),
        best=("absent",),
        mostly=True,
        phases=("decode step", "verify step", "host latency", "any work"),
        why="Recording which kernels ran when: a folder alone does nothing until a profile is asked for, ranges "
        "cost a little at each call, a recording that is on slows each launch, and dumps of tensors write them to a "
        "disk.",
        confirm="Start without it; look for traces that grew during the run",
        sources=(_VLLM, _SGLANG),
    ),
    Rule(
        name="engine-collector",
        sees=env(
            "VLLM_GC_DEBUG TRTLLM_SERVER_DISABLE_GC TRTLLM_WORKER_DISABLE_GC SGLANG_LOG_GC SGLANG_GC_LOG"
            " VLLM_ENABLE_CUDAGRAPH_GC"
        ),
        moves=("cpu time", "host memory"),
        phases=("host latency", "decode step", "start-up", "any work"),
        why="Whether Python's collector runs in the server and its workers, or tells what it did: a full collection "
        "goes through all objects of a large heap, tens of ms in which no step is launched; while graphs are "
        "captured it is off by default.",
        confirm="gc.callbacks, or the engine's own log of it: how long each of the oldest generation took",
        sources=(_VLLM, _SGLANG_SOURCE),
    ),
    Rule(
        name="engine-media",
        sees=env(
            "VLLM_MEDIA_* VLLM_MAX_AUDIO_* VLLM_MM_HASHER_ALGORITHM VLLM_VIDEO_LOADER_BACKEND"
            " VLLM_MM_INPUT_CACHE_GIB SGLANG_MM_* SGLANG_VLM_CACHE_SIZE_MB SGLANG_ENCODER_*"
            " SGLANG_USE_CUDA_IPC_TRANSPORT SGLANG_USE_IPC_POOL_HANDLE_CACHE SGLANG_VIT_* SGLANG_IMAGE_MAX_PIXELS"
            " SGLANG_RESIZE_RESAMPLE SGLANG_EMBEDDING_POOL_SIZE_MB VLLM_IMAGE_FETCH_TIMEOUT VLLM_VIDEO_FETCH_TIMEOUT"
            " VLLM_AUDIO_FETCH_TIMEOUT LLAMA_ARG_IMAGE_* LLAMA_ARG_MMPROJ_OFFLOAD LLAMA_ARG_MTMD_* MTMD_*"
        ),
        moves=("cpu time", "workload", "gpu memory", "network"),
        phases=("prefill", "host latency", "any work"),
        breaks="seldom",
        why="Images, sound and video: how many threads fetch and decode them, how large they may be, where their "
        "embeddings are kept and how they come to the GPU. Of a model of text alone it moves nothing.",
        confirm="Time to first token with the same pictures sent twice, and without any",
        sources=(_VLLM, _SGLANG),
    ),
    Rule(
        name="grammar-caches",
        sees=env(
            "VLLM_XGRAMMAR_CACHE_MB VLLM_V0_USE_OUTLINES_CACHE VLLM_V1_USE_OUTLINES_CACHE"
            " VLLM_REGEX_COMPILATION_TIMEOUT_S SGLANG_DISABLE_OUTLINES_DISK_CACHE SGLANG_TOOL_STRICT_LEVEL"
            " VLLM_ENFORCE_STRICT_TOOL_CALLING OUTLINES_CACHE_DIR"
        ),
        moves=("cpu time", "storage"),
        phases=("host latency", "prefill", "decode step", "any work"),
        breaks="seldom",
        why="Schemas and regular expressions that answers have to follow are compiled for each new one, seconds for "
        "a large one, and masked at each token; kept, the second request has them at once.",
        confirm="The same request twice, and once without a schema",
        sources=(_VLLM, _SGLANG),
    ),
    Rule(
        name="weights-pinned",
        sees=env(
            "VLLM_WEIGHT_OFFLOADING_DISABLE_PIN_MEMORY VLLM_WEIGHT_OFFLOADING_DISABLE_UVA"
            " VLLM_WSL2_ENABLE_PIN_MEMORY GGML_CUDA_NO_PINNED GGML_CUDA_REGISTER_HOST"
            " SGLANG_MOE_COPY_WEIGHT_VIEWS_BEFORE_H2D SGLANG_HICACHE_HOST_REGISTER_CHUNK_GB"
        ),
        moves=("pcie link", "host memory"),
        phases=("prefill", "decode step", "verify step", "start-up", "transfer", "any work"),
        over_pcie="all",
        breaks="seldom",
        beside=("process/*/limits/max_locked_memory",),
        why="Whether what lies in the host's memory is locked for the GPU. It copies locked pages by itself; others "
        "the driver copies into a buffer of its own first, in one thread and while the caller waits.",
        confirm="Copy rate between host and GPU in a trace of one step; VmLck and VmPin of /proc/PID/status",
        sources=(_VLLM, "https://github.com/ggml-org/llama.cpp/blob/master/ggml/src/ggml-cuda/ggml-cuda.cu"),
    ),
    Rule(
        name="workspaces-and-reserves",
        sees=env(
            "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE"
            " SGLANG_FLASHINFER_WORKSPACE_SIZE FORCE_ALLREDUCE_KERNEL_WORKSPACE_SIZE"
            " VLLM_MAX_TOKENS_PER_EXPERT_FP4_MOE VLLM_SPARSE_INDEXER_MAX_LOGITS_MB"
            " SGLANG_AITER_HONOR_EXPLICIT_MEM_FRACTION SGLANG_ENABLE_POST_CAPTURE_KV_SIZING"
            " SGLANG_MEMORY_SAVER_CUDA_GRAPH SGLANG_EMPTY_CACHE_INTERVAL"
            " SGLANG_DEEPGEMM_MASKED_MEMORY_BUDGET_FRACTION VLLM_ROCM_SLEEP_MEM_CHUNK_SIZE SGLANG_LOGPROB_CHUNK_SIZE"
            " SGLANG_ENABLE_LOGPROB_CHUNK SGLANG_MM_BUFFER_SIZE_MB"
        ),
        moves=("gpu memory",),
        told_by=("gpu-memory-full",),
        breaks="often",
        why="What of the GPU's memory is kept for workspaces and graphs: the key-value cache gets the rest, and too "
        "small a reserve ends the first long batch.",
        confirm="Tokens of the cache as the log tells them, and free memory after the first batches, in both states",
        sources=(_VLLM, _SGLANG_SOURCE),
    ),
    Rule(
        name="cache-of-a-cpu-engine",
        sees=env("VLLM_CPU_KVCACHE_SPACE"),
        moves=("host memory", "workload"),
        phases=("prefill", "decode step", "host latency", "any work"),
        read_by=("vllm",),
        breaks="seldom",
        why="How many GiB of the host's memory hold the key-value cache of vLLM on CPUs. Nobody sizes it: the few "
        "that are the default push requests out, and more than a node has come to lie on another one.",
        confirm="Preemptions in vLLM's log; numastat -p PID",
        sources=(_VLLM,),
    ),
    Rule(
        name="cpu-engine-kernels",
        sees=env(
            "VLLM_CPU_SGL_KERNEL VLLM_CPU_INT4_W4A8 VLLM_CPU_ATTN_SPLIT_KV VLLM_CPU_MOE_PREPACK"
            " VLLM_ZENTORCH_WEIGHT_PREPACK"
        ),
        moves=("cpu time", "host memory"),
        phases=("prefill", "decode step", "start-up", "any work"),
        read_by=("vllm",),
        breaks="seldom",
        why="Which kernels vLLM computes with on a CPU and whether weights are packed for them at the start: for "
        "small batches, for AMX, for splitting one long sequence among cores.",
        confirm="The log at the start; tokens a second with 1 and with 32 requests, in both states",
        sources=(_VLLM,),
    ),
    Rule(
        name="pipeline-stages",
        sees=env("VLLM_PP_LAYER_PARTITION SGLANG_PP_LAYER_PARTITION"),
        moves=("workload", "gpu memory"),
        phases=("prefill", "decode step", "verify step", "start-up", "any work"),
        between=True,
        breaks="often",
        why="How many layers each stage of a pipeline has: the slowest stage sets the pace, and the one with least "
        "memory left the size of the cache. Numbers that do not add up to the model's layers are an error.",
        confirm="Busy share of each GPU in both states",
        sources=(_VLLM, _SGLANG),
    ),
    Rule(
        name="longer-context-allowed",
        sees=env("VLLM_ALLOW_LONG_MAX_MODEL_LEN SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"),
        moves=("workload", "gpu memory"),
        phases=("prefill", "decode step", "start-up", "any work"),
        breaks="often",
        why="Whether a context may be longer than the model's own: without it such a start is refused, with it "
        "attention and cache grow with what is asked for.",
        confirm="The log's context length in both states",
        sources=(_VLLM, _SGLANG),
    ),
    Rule(
        name="engine-plugins",
        sees=env(
            "VLLM_PLUGINS SGLANG_PLUGINS SGLANG_PLATFORM SGLANG_EXTERNAL_MODEL_PACKAGE"
            " SGLANG_EXTERNAL_MM_MODEL_ARCH SGLANG_EXTERNAL_MM_PROCESSOR_PACKAGE SGLANG_DISABLED_MODEL_ARCHS"
            " VLLM_LORA_RESOLVER_* GGML_BACKEND_PATH"
        ),
        moves=("code", "availability"),
        breaks="often",
        why="Which packages of others are loaded into the engine: another platform, another implementation of the "
        "model, another loader. Unset, vLLM loads all that are installed.",
        confirm="The log names the plugins that it loaded; VLLM_PLUGINS= loads none",
        sources=(_VLLM, _SGLANG_SOURCE),
    ),
    Rule(
        name="engine-timeouts",
        sees=env(
            "VLLM_RPC_TIMEOUT VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS VLLM_ENGINE_ITERATION_TIMEOUT_S"
            " VLLM_ENGINE_READY_TIMEOUT_S VLLM_HTTP_TIMEOUT_KEEP_ALIVE VLLM_KEEP_ALIVE_ON_ENGINE_DEATH"
            " VLLM_NIXL_ABORT_REQUEST_TIMEOUT VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT"
            " VLLM_WORKER_SHUTDOWN_TIMEOUT_SECONDS SGLANG_WARMUP_TIMEOUT SGLANG_HEALTH_CHECK_TIMEOUT"
            " SGLANG_REQ_WAITING_TIMEOUT SGLANG_REQ_RUNNING_TIMEOUT SGLANG_QUEUED_TIMEOUT_MS"
            " SGLANG_FORWARD_TIMEOUT_MS SGLANG_WAIT_WEIGHTS_READY_TIMEOUT SGLANG_DISAGGREGATION_*TIMEOUT"
            " SGLANG_DISAGGREGATION_HEARTBEAT_* SGLANG_MORI_TRANSFER_TIMEOUT_MS SGLANG_TIMEOUT_KEEP_ALIVE"
            " SGLANG_UVICORN_WORKER_HEALTHCHECK_TIMEOUT OLLAMA_LOAD_TIMEOUT LLAMA_ARG_TIMEOUT"
        ),
        moves=("availability",),
        phases=("start-up", "host latency"),
        breaks="often",
        why="After how long the engine gives a start, a step, a request or a peer up. It makes nothing faster: a "
        "first step that compiles for minutes, or a slow disk, is an error with the one value and a wait with the "
        "other.",
        confirm="Ten times the value, then the same start",
        sources=(_VLLM, _SGLANG),
    ),
    Rule(
        name="engine-addresses",
        sees=env(
            "VLLM_HOST_IP VLLM_PORT VLLM_LOOPBACK_IP VLLM_RPC_BASE_PATH VLLM_API_KEY VLLM_DP_MASTER_IP"
            " VLLM_DP_MASTER_PORT VLLM_NIXL_SIDE_CHANNEL_* VLLM_MOONCAKE_BOOTSTRAP_PORT VLLM_PROCESS_NAME_PREFIX"
            " VLLM_SERVER_DEV_MODE VLLM_ALLOW_RUNTIME_LORA_UPDATING VLLM_ALLOW_INSECURE_SERIALIZATION"
            " VLLM_SKIP_MODEL_NAME_VALIDATION VLLM_NO_DEPRECATION_WARNING VLLM_DISABLE_LOG_LOGO VLLM_TOOL_*"
            " VLLM_GPT_OSS_* VLLM_ENABLE_RESPONSES_API_STORE VLLM_CONFIG_ROOT VLLM_INSTANCE_ID SGLANG_HOST_IP"
            " SGLANG_LOCAL_IP_NIC SGLANG_PORT SGLANG_TCP_STORE_PORT SGLANG_BACKUP_PORT_BASE SGLANG_GRPC_PORT"
            " SGLANG_RUN_ID SGLANG_IS_IN_CI* SGLANG_FORWARD_UNKNOWN_TOOLS SGLANG_EXA_* SGLANG_OTLP_*"
            " SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION SGLANG_EXPOSE_OWN_ENV_VARS TRTLLM_NIXL_PORT OLLAMA_HOST"
            " OLLAMA_ORIGINS OLLAMA_NOHISTORY OLLAMA_NOPRUNE OLLAMA_DEBUG OLLAMA_NO_CLOUD LLAMA_API_KEY"
            " LLAMA_ARG_HOST LLAMA_ARG_PORT LLAMA_ARG_ALIAS LLAMA_ARG_TAGS LLAMA_ARG_ENDPOINT_* LLAMA_ARG_UI*"
            " LLAMA_ARG_CORS_* LLAMA_ARG_SSL_* LLAMA_ARG_API_* LLAMA_ARG_LOG_* LLAMA_ARG_JINJA"
        ),
        moves=("network",),
        phases=("start-up", "host latency"),
        breaks="seldom",
        unused=True,
        why="Where an engine listens and is reached, by which name and key, which doors it opens: it takes no part "
        "in a step. A port that is taken, or an address of another interface, ends the start; Kubernetes sets "
        "VLLM_PORT for a service that is called vllm.",
        confirm="Set it to the other run's value, then the same start",
        sources=(_VLLM, _SGLANG),
    ),
    Rule(
        name="engine-build",
        sees=env(
            "VLLM_TARGET_DEVICE VLLM_MAIN_CUDA_VERSION VLLM_USE_PRECOMPILED VLLM_USE_PRECOMPILED_RUST"
            " VLLM_PRECOMPILED_WHEEL_* VLLM_SKIP_PRECOMPILED_VERSION_SUFFIX VLLM_DOCKER_BUILD_CONTEXT"
            " VLLM_TEST_USE_PRECOMPILED_NIGHTLY_WHEEL VLLM_INSTALL_PUNICA_KERNELS VLLM_BUILD_* VLLM_VERSION_OVERRIDE"
            " SGLANG_RUST_BUILD_MODE SGLANG_SKIP_SGL_KERNEL_VERSION_CHECK"
        ),
        moves=("code",),
        phases=("start-up", "any work"),
        breaks="seldom",
        unused=True,
        why="Read while the engine is built, or to be told apart: what is installed stays as it is. A build for "
        "another device, or another CUDA, shows in the packages.",
        confirm="Compare versions and files of the engine's package in both environments",
        sources=(_VLLM,),
    ),
    Rule(
        name="engine-cuda-compatibility",
        sees=env("VLLM_ENABLE_CUDA_COMPATIBILITY VLLM_CUDA_COMPATIBILITY_PATH VLLM_CUDART_SO_PATH"),
        moves=("availability", "code"),
        phases=("start-up", "any work"),
        told_by=("cuda-compatibility-refused",),
        read_by=("vllm",),
        breaks="often",
        why="Whether vLLM puts CUDA's compatibility libraries before the driver's: an older driver then runs a "
        "newer CUDA, on data-centre parts only; elsewhere the start ends.",
        confirm="grep libcuda /proc/PID/maps in both states",
        sources=(_VLLM,),
    ),
)
