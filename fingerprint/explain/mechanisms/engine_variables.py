"""Variables of inference engines and their kernel libraries."""

from fingerprint.explain.mechanisms.graph import Phase, Rule
from fingerprint.explain.mechanisms.variables import env

_VLLM = "https://docs.vllm.ai/en/stable/configuration/env_vars/"
_SGLANG = "https://docs.sglang.io/references/environment_variables.html"
_STEPS: tuple[Phase, ...] = ("prefill", "decode step", "verify step", "start-up", "any work")


RULES: tuple[Rule, ...] = (
    Rule(
        name="engine-graphs",
        sees=env(
            "VLLM_*CUDAGRAPH* VLLM_*CUDA_GRAPH* SGLANG_*CUDA_GRAPH* SGLANG_*CUDAGRAPH* SGL_*CUDA_GRAPH* TRTLLM_*GRAPH*"
            " VLLM_DISABLE_COMPILE* VLLM_TORCH_COMPILE* VLLM_USE_AOT_COMPILE VLLM_COMPILE_* VLLM_USE_BYTECODE_HOOK"
            " VLLM_USE_STANDALONE_COMPILE GGML_CUDA_*GRAPHS*"
        ),
        moves=("launch latency", "kernel choice", "gpu memory"),
        breaks="seldom",
        usual=(1.2, 6.0),
        told_by=("without-graphs",),
        why="A step that is one graph costs one launch, one without hundreds, and each graph holds memory. Both signs "
        "are on record for one variable: 1.6x faster on one machine, a first token several times later on another.",
        confirm="The engine's log tells which graphs were captured; unset it; trace one decode and one verify step",
        confirmed=2,
        sources=(
            "https://github.com/vllm-project/vllm/issues/49370",
            "https://github.com/vllm-project/vllm/issues/54677",
            "https://github.com/tonyd2wild/GLM-5.3-Flash-NVFP4-1M-KV-4x-DGX-Spark/pull/2",
        ),
    ),
    Rule(
        name="engine-attention",
        sees=env(
            "VLLM_ATTENTION_BACKEND VLLM_*FLASHINFER* VLLM_FLASH_ATTN* VLLM_*ATTN* VLLM_*ATTENTION* VLLM_*MLA*"
            " SGLANG_*ATTN* SGLANG_*ATTENTION* SGLANG_*MLA* TRTLLM_*ATTENTION* TRTLLM_*XQA* TRTLLM_*MMHA* FLASHINFER_*"
            " FLASH_ATTENTION_* XFORMERS_* FLA_* GGML_CUDA_*FA* VLLM_USE_CUDNN_PREFILL SGLANG_*FLASHINFER* SGLANG_*FA3*"
            " SGLANG_*FA4* SGLANG_NSA_* SGLANG_DSA_* SGLANG_ENABLE_DSA_* SGLANG_SKIP_SOFTMAX_* SGLANG_TRITON_DECODE_*"
            " SGLANG_CHUNKED_PREFIX_CACHE_THRESHOLD SGLANG_DISABLE_MSA TRTLLM_GEN_*"
        ),
        moves=("kernel choice",),
        breaks="seldom",
        usual=(1.1, 5.0),
        told_by=("without-flash-attention",),
        why="Another kernel for attention, and with FlashInfer for experts too; where the installed "
        "version no longer reads the name, the default.",
        confirm="The engine's log names the backend that was taken; grep the name in the installed package",
        confirmed=2,
        sources=(
            "https://github.com/vllm-project/vllm/issues/50292",
            "https://github.com/AMD-AGI/Hyperloom/issues/462",
            "https://github.com/vllm-project/vllm/issues/39965",
        ),
    ),
    Rule(
        name="engine-matrix-kernels",
        sees=env(
            "VLLM_*MOE* VLLM_*GEMM* VLLM_*FP8* VLLM_*FP4* VLLM_*MARLIN* VLLM_*CUTLASS* VLLM_TUNED_CONFIG_FOLDER"
            " VLLM_ROCM_* SGLANG_*MOE* SGLANG_*GEMM* SGLANG_*FP8* SGLANG_*FP4* SGL_*GEMM* TRTLLM_*MOE*"
            " TRTLLM_*GEMM* DG_* DEEP_GEMM_* GGML_CUDA_*MMQ* GGML_CUDA_*CUBLAS*"
        ),
        moves=("kernel choice",),
        phases=_STEPS,
        breaks="seldom",
        usual=(1.03, 1.7),
        why="Which kernels multiply experts and quantised weights, and which file of tuned shapes they take: files are "
        "kept by device and Triton version, and a missing one costs 3 % to 1.7x without an error.",
        confirm="The log's `Using default MoE config` or like line; unset it, then the same run",
        confirmed=2,
        sources=(
            "https://github.com/sgl-project/sglang/pull/7687",
            "https://github.com/sgl-project/sglang/pull/24562",
            "https://github.com/sgl-project/sglang/pull/24281",
        ),
    ),
    Rule(
        name="engine-speculation",
        sees=env(
            "VLLM_*SPEC* VLLM_*DRAFT* VLLM_*EAGLE* SGLANG_*SPEC* SGLANG_*DRAFT* SGLANG_*EAGLE* SGLANG_DSPARK_*"
            " SGLANG_DFLASH_* SGLANG_NGRAM_* SGLANG_RAGGED_VERIFY_MODE SGLANG_ENABLE_MTP_* TRTLLM_*SPEC* TLLM_*SPEC*"
        ),
        moves=("accept length", "kernel choice", "launch latency"),
        usual=(1.1, 3.0),
        why="How tokens are drafted and accepted, and whether the draft and verify steps run as graphs.",
        confirm="Accept length and acceptance rate of the engine's metrics in both states",
        sources=("https://github.com/vllm-project/vllm/pull/37667",),
    ),
    Rule(
        name="engine-processes",
        sees=env(
            "VLLM_WORKER_MULTIPROC_METHOD VLLM_ENABLE_V1_MULTIPROCESSING VLLM_*QUEUE* VLLM_RINGBUFFER_* VLLM_*SHM*"
            " VLLM_*RAY* VLLM_*ASYNC* VLLM_*SLEEP* VLLM_MQ_MAX_CHUNK_BYTES_MB SGLANG_*QUEUE* SGLANG_*SCHEDULER* RAY_*"
            " SGLANG_USE_MESSAGE_QUEUE_BROADCASTER TLLM_WORKER_USE_SINGLE_PROCESS TLLM_DISABLE_MPI"
        ),
        moves=("cpu time", "wake latency", "system calls"),
        phases=("host latency", "decode step", "verify step", "start-up", "any work"),
        breaks="seldom",
        usual=(1.02, 1.5),
        beside=("process/*/cgroup/cpu_max", "process/*/affinity"),
        why="How scheduler, workers and the front end are split into processes and wait for each other between steps; "
        "workers that are forked once CUDA was started do not come up.",
        confirm="py-spy dump of the engine's processes during the run, in both states",
        sources=(_VLLM, "https://github.com/vllm-project/vllm/issues/15681"),
    ),
    Rule(
        name="cache-offload",
        sees=env("LMCACHE_* DYN_* VLLM_KV_* VLLM_*KV_CACHE* SGLANG_*HICACHE* SGLANG_*KV_CACHE* TRTLLM_*KV*"),
        moves=("gpu memory", "host memory bandwidth", "pcie link", "network", "workload"),
        phases=("prefill", "decode step", "verify step", "host latency", "any work"),
        breaks="seldom",
        usual=(1.1, 7.0),
        why="How large the key-value cache is, where it spills to and who shares it: prompts that are found there cost "
        "nothing, those that were pushed out are computed again.",
        confirm="Hit rate, preemptions and cache use of the engine's metrics in both states",
        confirmed=1,
        sources=(_VLLM, "https://github.com/tonyd2wild/GLM-5.3-Flash-NVFP4-DFlash2-2x-DGX-Spark/issues/14"),
    ),
    Rule(
        name="vllm-switches",
        sees=env("VLLM_* Q_SCALE_CONSTANT K_SCALE_CONSTANT V_SCALE_CONSTANT"),
        moves=("kernel choice", "launch latency", "cpu time", "gpu memory"),
        read_by=("vllm",),
        breaks="seldom",
        usual=(1.05, 2.4),
        why="A switch of vLLM. Names come and go with releases, and one that is no longer read does nothing.",
        confirm="grep the name in vllm/envs.py of the installed version; unset it, then the same run",
        confirmed=2,
        sources=(_VLLM, "https://github.com/vllm-project/vllm/issues/50292"),
    ),
    Rule(
        name="sglang-switches",
        sees=env("SGLANG_* SGL_* IS_H200"),
        moves=("kernel choice", "launch latency", "cpu time", "gpu memory"),
        read_by=("sglang",),
        breaks="seldom",
        usual=(1.05, 2.4),
        why="A switch of SGLang. Names come and go with releases, and one that is no longer read does nothing.",
        confirm="grep the name in the installed package; unset it, then the same run",
        sources=(_SGLANG,),
    ),
    Rule(
        name="tensorrt-llm-switches",
        sees=env("TRTLLM_* TLLM_*"),
        moves=("kernel choice", "launch latency", "cpu time", "gpu memory"),
        read_by=("tensorrt-llm",),
        breaks="seldom",
        usual=(1.05, 2.4),
        why="A switch of TensorRT-LLM: kernels, overlap of collectives, how its processes are placed: bound at birth "
        "they have no page on another socket, bound later 22 % of them.",
        confirm="grep the name in the installed package; unset it, then the same run",
        confirmed=1,
        sources=("https://github.com/NVIDIA/TensorRT-LLM/pull/18117", "https://github.com/NVIDIA/TensorRT-LLM"),
    ),
    Rule(
        name="llama-switches",
        sees=env("GGML_* LLAMA_* OLLAMA_*"),
        moves=("kernel choice", "cpu time", "gpu memory", "pcie link", "workload"),
        read_by=("llama.cpp",),
        breaks="seldom",
        usual=(1.1, 3.0),
        beside=("process/*/cgroup/cpu_max",),
        why="A switch of llama.cpp or Ollama that is none of the well-known ones: of a backend, a buffer, a server.",
        confirm="The log at the start names devices, buffers and layers; unset it, then the same run",
        sources=("https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",),
    ),
)
