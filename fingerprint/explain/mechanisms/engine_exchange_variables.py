"""Variables of engines that say how ranks and servers exchange sums, tokens and caches."""

from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.mechanisms.variables import env

_VLLM = "https://docs.vllm.ai/en/stable/configuration/env_vars/"
_SGLANG = "https://docs.sglang.io/references/environment_variables.html"
_TRTLLM = "https://github.com/NVIDIA/TensorRT-LLM/blob/main/cpp/tensorrt_llm/common/envUtils.cpp"


RULES: tuple[Rule, ...] = (
    Rule(
        name="engine-peer-check",
        sees=env("VLLM_SKIP_P2P_CHECK SGLANG_SKIP_P2P_CHECK"),
        moves=("collective", "availability"),
        phases=("start-up", "prefill", "decode step", "verify step", "any work"),
        between=True,
        breaks="often",
        beside=("kernel/cmdline/*iommu", "gpu/*/peers/*/topology"),
        why="Whether the engine tries by itself if GPUs reach each other's memory, or trusts what the driver says. "
        "Where an IOMMU or the board blocks what the driver promises, trust ends in a hang or in garbage; the try "
        "costs seconds of a start.",
        confirm="nvidia-smi topo -p2p r, and the engine's own test with 0",
        sources=(_VLLM, _SGLANG),
    ),
    Rule(
        name="engine-reduction-memory",
        sees=env(
            "VLLM_ALLREDUCE_USE_SYMM_MEM VLLM_USE_NCCL_SYMM_MEM VLLM_ALLREDUCE_USE_FLASHINFER"
            " VLLM_FLASHINFER_ALLREDUCE_BACKEND SGLANG_SYMM_MEM_PREALLOC_GB_SIZE SGLANG_CUSTOM_ALLREDUCE_ALGO"
            " SGLANG_OPT_USE_CUSTOM_ALL_REDUCE_V2 SGLANG_USE_JIT_ALL_REDUCE SGLANG_CUSTOM_ALL_REDUCE_V2_*"
            " SGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_* SGLANG_FLASHINFER_MNNVL_CUTEDSL_AR_FUSION"
            " SGLANG_M3_ALLOW_CUSTOM_AR"
        ),
        moves=("collective", "kernel choice", "gpu memory"),
        told_by=("all-reduce-memory-refused",),
        between=True,
        breaks="seldom",
        why="By which kernel an engine sums small tensors of all ranks: through memory that all GPUs have mapped, "
        "by the switch's multicast, in one round or in two, up to which size. Two all-reduces a layer wait for it. "
        "Where multicast is not to be had it goes back to NCCL, or the start fails.",
        confirm="The log at the start names the backend; name of the all-reduce kernel in a trace of one decode step",
        sources=(_VLLM, _SGLANG),
    ),
    Rule(
        name="coarser-reduction",
        sees=env(
            "VLLM_ROCM_QUICK_REDUCE_* ROCM_QUICK_REDUCE_* SGLANG_ENABLE_DP_GATHER_FP8 SGLANG_MORI_FP8_COMB"
            " SGLANG_MORI_DISPATCH_DTYPE"
        ),
        moves=("collective",),
        phases=("prefill", "decode step", "verify step", "transfer", "any work"),
        between=True,
        why="Sums and gathers between GPUs are sent in fewer bits: half or a quarter of the bytes on the links, and "
        "a little less exact. Below a size it costs more than it saves.",
        confirm="Time of the all-reduce in a trace of one prefill, in both states",
        sources=(
            _VLLM,
            "https://rocm.docs.amd.com/projects/ai-ecosystem/en/latest/optimization/vllm-v1-optimization.html",
        ),
    ),
    Rule(
        name="engine-nccl-library",
        sees=env("VLLM_NCCL_SO_PATH VLLM_DISABLE_PYNCCL VLLM_NCCL_INCLUDE_PATH VLLM_DISTRIBUTED_USE_SPLIT_GROUP"),
        moves=("collective", "code"),
        between=True,
        read_by=("vllm",),
        breaks="seldom",
        why="Which copy of NCCL vLLM loads for its own calls, beside the one that torch brought, or that it goes "
        "through torch instead, where a graph cannot hold each call.",
        confirm="grep libnccl /proc/PID/maps; the version that NCCL_DEBUG=VERSION prints",
        sources=(_VLLM,),
    ),
    Rule(
        name="engine-expert-exchange",
        sees=env(
            "VLLM_ALL2ALL_BACKEND VLLM_DEEPEP_* VLLM_DEEPEPLL_NVFP4_DISPATCH VLLM_DBO_COMM_SMS"
            " VLLM_MOE_DP_CHUNK_SIZE VLLM_ENABLE_MOE_DP_CHUNK VLLM_NIXL_EP_MAX_NUM_RANKS SGLANG_DEEPEP_*"
            " SGLANG_MORI_* SGLANG_NIXL_EP_* SGLANG_PPLX_* SGLANG_FLASHINFER_NUM_MAX_DISPATCH_TOKENS_PER_RANK"
            " SGLANG_MOE_NVFP4_DISPATCH SGLANG_CUTEDSL_MOE_NVFP4_DISPATCH SGLANG_DP_USE_REDUCE_SCATTER"
            " SGLANG_EPLB_P2P_BATCH_CHUNK_SIZE TLLM_MOE_A2A_* TRTLLM_EPLB_FORCE_GDRCOPY"
            " SGLANG_DISABLE_STATIC_WATERFILL TRTLLM_FORCE_ALLTOALL_METHOD TRTLLM_FORCE_COMM_METHOD"
        ),
        moves=("collective", "gpu compute", "gpu memory", "network"),
        between=True,
        breaks="often",
        why="How tokens go to their experts on other GPUs and back: by which library, in how many bits, by how many "
        "of the multiprocessors, in buffers for how many tokens of a rank. Buffers that are too small end the run, "
        "large ones take from the cache, and low latency and high throughput want unlike modes.",
        confirm="The log names the backend; dispatch and combine in a trace of one step",
        sources=(_VLLM, _SGLANG, _TRTLLM),
    ),
    Rule(
        name="cache-transfer",
        sees=env(
            "TRTLLM_USE_*_KVCACHE TRTLLM_USE_*_KV_CACHE TRTLLM_NIXL_KVCACHE_BACKEND TRTLLM_NIXL_ENABLE_COALESCE"
            " TRTLLM_KVCACHE_TRANSFER_* TRTLLM_DISABLE_KV_CACHE_TRANSFER_OVERLAP TRTLLM_REQUEST_KV_CACHE_CONCURRENT"
            " TRTLLM_ENABLE_KVCACHE_RECEIVE_PARALLEL TRTLLM_PARALLEL_CACHE_SEND"
            " TRTLLM_TRY_ZCOPY_FOR_KVCACHE_TRANSFER TRTLLM_KVCACHE_SEND_MAX_CONCURRENCY_NUM"
            " TRTLLM_KVCACHE_RECV_BUFFER_COUNT TRTLLM_KVCACHE_POOL_USE_FABRIC_MEMORY TRTLLM_DISAGG_LAYERWISE"
            " TRTLLM_UCX_INTERFACE TRTLLM_NIXL_INTERFACE TRTLLM_MOONCAKE_INTERFACE SGLANG_DISAGG_*"
            " SGLANG_DISAGGREGATION_* SGLANG_STAGING_USE_TORCH SGLANG_MOONCAKE_* SGLANG_MORI_QP_PER_TRANSFER"
            " SGLANG_MORI_POST_BATCH_SIZE SGLANG_MORI_NUM_WORKERS SGLANG_MORI_TRANSFER_SHARDS VLLM_MOONCAKE_*"
            " VLLM_NIC_SELECTION_VARS VLLM_GPU_NIC_PCIE_MAPPING"
        ),
        moves=("network", "collective", "gpu memory"),
        phases=("prefill", "host latency", "transfer", "start-up", "any work"),
        told_by=("register-gpu-memory-failed", "mooncake-register-failed"),
        breaks="often",
        why="Where one server computes prompts and another decodes, the cache goes from one to the other before the "
        "second token: over which library and interface, one request after the other or side by side, under the "
        "next step or in its way, in how large a buffer.",
        confirm="Time to the second token less that of a server that does both; bytes on each adapter meanwhile",
        sources=("https://nvidia.github.io/TensorRT-LLM/advanced/disaggregated-service.html", _TRTLLM, _SGLANG),
    ),
)
