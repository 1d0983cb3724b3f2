"""Variables of AMD's run time and libraries: which GPU it takes it for, queues, copies, kernels that are looked for."""

from fingerprint.explain.mechanisms.graph import OPERATIONS, Rule
from fingerprint.explain.mechanisms.variables import env

_HIP = "https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html"
_ROCR = "https://rocm.docs.amd.com/projects/ROCR-Runtime/en/latest/api-reference/environment_variables.html"
_MIOPEN = "https://rocm.docs.amd.com/projects/MIOpen/en/latest/reference/env_variables.html"
_ROCM = "https://rocm.docs.amd.com/en/latest/reference/env-variables.html"
_VLLM = "https://rocm.docs.amd.com/projects/ai-ecosystem/en/latest/optimization/vllm-v1-optimization.html"


RULES: tuple[Rule, ...] = (
    Rule(
        name="amd-pretended-gpu",
        sees=env("HSA_OVERRIDE_GFX_VERSION HSA_OVERRIDE_GFX_VERSION_* HCC_AMDGPU_TARGET"),
        moves=("kernel choice", "availability"),
        breaks="often",
        beside=("gpu/*/name",),
        why="The run time takes the GPU for another model: kernels of that one are loaded, which are slower, wrong or "
        "end in a fault and a reset where its instructions differ. Needed only where no kernels are built for the "
        "real one. Late releases refuse it on models that they know.",
        confirm="Unset it, then the same start; rocminfo | grep gfx",
        sources=(
            _ROCM,
            "https://github.com/ROCm/rocm-systems/pull/3461",
            "https://github.com/ROCm/rocm-systems/issues/3531",
        ),
    ),
    Rule(
        name="amd-copies",
        sees=env(
            "HSA_ENABLE_SDMA HSA_ENABLE_PEER_SDMA HSA_ENABLE_SDMA_* GPU_FORCE_BLIT_COPY_SIZE GPU_BLIT_ENGINE_TYPE"
            " GPU_PINNED_* GPU_STAGING_BUFFER_SIZE GPU_CP_DMA_COPY_SIZE DEBUG_CLR_LIMIT_BLIT_WG ROC_P2P_SDMA_SIZE"
        ),
        moves=("pcie link", "nvlink", "gpu compute"),
        breaks="seldom",
        usual=(1.02, 1.2),
        why="Whether engines of their own copy, or kernels that take compute units from the others: 48 or 56 GB/s to "
        "the host by the choice of the engine alone. Some integrated GPUs hang in the engines, for which advice to "
        "switch them off goes round.",
        confirm="rocm_bandwidth_test with 0 and 1; the same run with 1",
        sources=(
            _ROCR,
            "https://github.com/ROCm/rocm-systems/pull/4035",
            "https://github.com/ROCm/legacy-rocm-build/issues/2781",
        ),
    ),
    Rule(
        name="amd-queues",
        sees=env(
            "GPU_MAX_HW_QUEUES GPU_NUM_COMPUTE_RINGS GPU_MAX_COMMAND_BUFFERS ROC_AQL_QUEUE_SIZE ROC_SIGNAL_POOL_SIZE"
            " GPU_STREAMOPS_CP_WAIT GPU_FLUSH_ON_EXECUTION HIP_FORCE_QUEUE_PROFILING GPU_FORCE_QUEUE_PROFILING"
        ),
        moves=("launch latency", "kernel choice"),
        breaks="seldom",
        why="On how many hardware queues (4 by default) the streams are dealt out: too few order kernels and copies of "
        "different streams against each other, many are switched by the firmware. Forced profiling makes each kernel "
        "report its times.",
        confirm="Unset it, then the same run; overlap of streams in a trace of one step",
        sources=(_HIP, _ROCM),
    ),
    Rule(
        name="amd-waiting",
        sees=env("HSA_ENABLE_INTERRUPT ROC_ACTIVE_WAIT_TIMEOUT HIP_WAIT_MODE AMD_DIRECT_DISPATCH AMD_CPU_AFFINITY"),
        moves=("wake latency", "launch latency", "cpu time"),
        phases=("host latency", "decode step", "verify step", "any work"),
        breaks="seldom",
        why="Whether the host learns of the end of a kernel by an interrupt or by asking all the time, and whether the "
        "caller's own thread hands work to the GPU or another one: microseconds of each wait, for a whole CPU.",
        confirm="Both values; usage/main/voluntary_switches and the gaps behind synchronisations in both",
        sources=(_ROCM, _ROCR),
    ),
    Rule(
        name="amd-kernel-arguments",
        sees=env("HIP_FORCE_DEV_KERNARG DEBUG_CLR_KERNARG_*"),
        moves=("launch latency",),
        why="Whether arguments of kernels lie in the GPU's memory or in the host's, from which each launch fetches "
        "them over PCIe. Images of engines set it, a bare host does not. Where a graph holds the step it matters "
        "less.",
        confirm="Both values without graphs; time from launch to start of short kernels in a trace",
        sources=(_VLLM, _HIP),
    ),
    Rule(
        name="amd-compute-mask",
        sees=env("HSA_CU_MASK ROC_GLOBAL_CU_MASK HSA_CU_MASK_SKIP_INIT GPU_WAVES_PER_SIMD GPU_ENABLE_WGP_MODE"),
        moves=("gpu compute",),
        best=("absent",),
        mostly=True,
        why="A mask leaves the process a part of the compute units: what is bound by arithmetic slows down as the part "
        "does.",
        confirm="Unset it, then the same run",
        sources=(_HIP,),
    ),
    Rule(
        name="amd-peer-memory",
        sees=env("HSA_FORCE_FINE_GRAIN_PCIE GPU_ENABLE_HW_P2P HSA_ENABLE_IPC_MODE_LEGACY"),
        moves=("collective", "pcie link", "availability"),
        between=True,
        over_pcie="between GPUs",
        breaks="seldom",
        beside=("gpu/*/peers/*/topology",),
        why="Whether GPUs on PCIe share memory that each sees as the other writes it: without it RCCL goes through the "
        "host's. It needs a large BAR. The way in which handles are passed decides whether containers reach each "
        "other's.",
        confirm="NCCL_DEBUG=INFO: `via P2P` or `via SHM` in both states; rocm_bandwidth_test -t",
        sources=("https://rocm.docs.amd.com/projects/rccl/en/docs-7.14.0/how-to/rccl-usage-tips.html", _ROCR),
    ),
    Rule(
        name="amd-scratch",
        sees=env("HSA_NO_SCRATCH_RECLAIM HSA_SCRATCH_* HSA_ENABLE_SCRATCH_*"),
        moves=("launch latency", "gpu memory"),
        breaks="seldom",
        why="Whether a queue keeps the memory for kernels that spill registers: given back, each such launch waits "
        "until it has it again. Kept, each queue of each process holds its own, until there are none left.",
        confirm="Both values; memory in use after the warm-up, and gaps before the kernels that spill",
        sources=(_ROCR, "https://github.com/AMD-AGI/Primus/pull/32"),
    ),
    Rule(
        name="amd-unified-memory",
        sees=env("HSA_XNACK HIP_HOST_COHERENT HSA_USE_SVM HSA_DISABLE_CACHE HSA_DISABLE_FRAGMENT_ALLOCATOR"),
        moves=("page placement", "gpu memory bandwidth", "pcie link"),
        breaks="seldom",
        why="Whether a page that is not there is fetched when a kernel touches it, and whether the host's memory is "
        "cached by the GPU: migration instead of an error, at the price of other code in each kernel.",
        confirm="Unset it, then the same run; rocminfo tells xnack+ or xnack-",
        sources=("https://rocm.docs.amd.com/en/docs-6.0.0/conceptual/gpu-memory.html", _HIP),
    ),
    Rule(
        name="amd-heap",
        sees=env(
            "GPU_MAX_HEAP_SIZE GPU_MAX_ALLOC_PERCENT GPU_SINGLE_ALLOC_PERCENT GPU_MAX_SUBALLOC_SIZE HIP_HIDDEN_FREE_MEM"
            " HIP_INITIAL_DM_SIZE HIP_MEM_POOL_* GPU_RESOURCE_CACHE_SIZE GPU_MAX_REMOTE_MEM_SIZE"
        ),
        moves=("gpu memory",),
        breaks="often",
        told_by=("gpu-memory-full",),
        why="How much of the GPU's memory the run time shows and gives, in all or at once: an engine sizes its cache "
        "by what it is told is free.",
        confirm="Unset it; torch.cuda.mem_get_info() in both states",
        sources=(_HIP, _ROCM),
    ),
    Rule(
        name="miopen-search",
        operations=OPERATIONS,
        sees=env(
            "MIOPEN_FIND_MODE MIOPEN_FIND_ENFORCE MIOPEN_DEBUG_* MIOPEN_COMPILE_PARALLEL_LEVEL"
            " MIOPEN_CONVOLUTION_* MIOPEN_*"
        ),
        moves=("kernel choice", "gpu memory"),
        breaks="seldom",
        usual=(1.1, 12.0),
        why="How long MIOpen looks for a convolution's kernel when it meets a new shape, and which it may take: FAST "
        "made a decoder's first call 7 s instead of 84 and the next ones 0.75 instead of 9.2, elsewhere a search finds "
        "better ones. Language models have hardly any convolution.",
        confirm="MIOPEN_FIND_MODE=FAST and NORMAL, each run twice with the same shapes",
        sources=(
            _MIOPEN,
            "https://github.com/multimodal-art-projection/YuE/pull/169",
            "https://github.com/Comfy-Org/ComfyUI/issues/5759",
        ),
    ),
    Rule(
        name="miopen-cache",
        operations=OPERATIONS,
        sees=env("MIOPEN_USER_DB_PATH MIOPEN_SYSTEM_DB_PATH MIOPEN_CUSTOM_CACHE_DIR MIOPEN_*CACHE*"),
        moves=("kernel choice", "storage"),
        phases=("start-up", "any work"),
        breaks="seldom",
        why="Where MIOpen keeps kernels that it compiled and what it found to be quickest: in an empty folder, or one "
        "that does not outlast its container, each start compiles and searches anew.",
        confirm="Run twice with the same folder, and compare the second runs; list its age and size",
        sources=(_MIOPEN,),
    ),
    Rule(
        name="rocm-install",
        sees=env("ROCM_PATH ROCM_HOME HIP_PATH HIP_PLATFORM HIP_CLANG_PATH HIP_DEVICE_LIB_PATH HIPCC_*"),
        moves=("code", "kernel choice"),
        phases=("start-up", "any work"),
        breaks="seldom",
        why="Which ROCm builds what is compiled at the start, and with which flags: another compiler, or none. What "
        "was compiled before stays as it is.",
        confirm="Empty the caches and start with each value; hipcc --version",
        sources=(_ROCM,),
    ),
    Rule(
        name="amd-matrix-library",
        operations=OPERATIONS,
        sees=env(
            "ROCBLAS_* HIPBLASLT_* TENSILE_* TORCH_BLAS_PREFER_HIPBLASLT USE_HIPBLASLT DISABLE_HIPBLASLT HIPBLAS_*"
        ),
        moves=("kernel choice", "gpu memory"),
        breaks="often",
        why="Which of AMD's libraries a product takes, rocBLAS or hipBLASLt, and from where its kernels and tuning "
        "come: a folder that has none for this GPU is an error at the first product.",
        confirm="Unset it; kernel names of one step (Cijk_) in a trace of both states",
        sources=(
            "https://rocm.docs.amd.com/projects/rocBLAS/en/docs-7.0.1/conceptual/rocblas-design-notes.html",
            _VLLM,
        ),
    ),
)
