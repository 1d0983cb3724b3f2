"""Variables of GPU drivers and libraries: which devices, how kernels are launched, loaded, chosen and compiled."""

from fingerprint.explain.mechanisms.gpu_unit import OTHER_GPUS
from fingerprint.explain.mechanisms.graph import OPERATIONS, Phase, Rule
from fingerprint.explain.mechanisms.variables import env

_CUDA = "https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html"
_TORCH_CUDA = "https://docs.pytorch.org/docs/stable/cuda_environment_variables.html"
_GPU_PHASES: tuple[Phase, ...] = ("prefill", "decode step", "verify step", "start-up", "any work")


RULES: tuple[Rule, ...] = (
    Rule(
        name="visible-gpus",
        sees=env(
            "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER NVIDIA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES"
            " GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK ASCEND_RT_VISIBLE_DEVICES HABANA_VISIBLE_DEVICES TPU_VISIBLE_*"
        ),
        moves=("availability", "gpu compute", "pcie link", "nvlink", "page placement"),
        shows=(OTHER_GPUS,),
        breaks="often",
        usual=(1.1, 5.0),
        beside=("gpu/*/pcie/numa_node",),
        told_by=("cuda-no-device", "cuda-invalid-ordinal", "no-gpu-used"),
        why="The work runs on other GPUs, or in another order: other links between neighbours, another socket, a model "
        "that is faster or already busy. The default order is `fastest first`, and launchers rewrite the list.",
        confirm="Name the GPUs by UUID in both runs; compare the environment of parent and worker",
        confirmed=2,
        sources=(
            _CUDA,
            "https://github.com/gpustack/gpustack/issues/1633",
            "https://github.com/unslothai/unsloth/issues/11029",
        ),
    ),
    Rule(
        name="blocking-launches",
        sees=env("CUDA_LAUNCH_BLOCKING HIP_LAUNCH_BLOCKING AMD_SERIALIZE_KERNEL AMD_SERIALIZE_COPY"),
        moves=("launch latency", "kernel choice"),
        best=("absent", "0"),
        mostly=True,
        breaks="seldom",
        usual=(1.05, 2.5),
        why="Each launch waits for its kernel: host and GPU work in turn, and collectives that wait for each other can "
        "stop for good. Left over from a search for an error; now and then it hides a race, and the run comes through.",
        confirm="Unset it, then the same run; gaps between kernels in a trace of one step",
        sources=(_CUDA, _TORCH_CUDA, "https://github.com/NVIDIA/nccl/issues/750"),
    ),
    Rule(
        name="kernel-launch",
        sees=env(
            "CUDA_DEVICE_MAX_CONNECTIONS CUDA_SCALE_LAUNCH_QUEUES CUDA_DEVICE_WAITS_ON_EXCEPTION"
            " CUDA_GRAPHS_USE_NODE_PRIORITY GPU_MAX_HW_QUEUES HSA_ENABLE_INTERRUPT"
        ),
        moves=("launch latency", "kernel choice"),
        breaks="seldom",
        usual=(1.05, 2.5),
        why="How many streams have queues of their own: one queue for all orders kernels against each other, for which "
        "some training sets it and from which other training suffers.",
        confirm="Unset it, then the same run; gaps between kernels in a trace of one step",
        sources=(
            _CUDA,
            _TORCH_CUDA,
            "https://github.com/sgl-project/sglang/pull/1113",
        ),
    ),
    Rule(
        name="module-loading",
        sees=env("CUDA_MODULE_LOADING CUDA_MODULE_DATA_LOADING CUDA_BINARY_LOADER_THREAD_COUNT"),
        moves=("launch latency", "gpu memory"),
        phases=("start-up", "host latency", "decode step", "prefill", "any work"),
        breaks="seldom",
        usual=(1.05, 2.0),
        why="Loaded lazily, each kernel's first call pays for its loading, in the timed window where nothing was "
        "warmed up, and may wait for one that waits for it; loaded eagerly the start pays, and memory of the GPU holds "
        "all of them.",
        confirm="Warm up with the run's own shapes, then the same run",
        confirmed=1,
        drifted=1,
        sources=(
            _CUDA,
            "https://docs.nvidia.com/cuda/cuda-programming-guide/04-special-topics/lazy-loading.html",
            "https://github.com/pytorch/pytorch/pull/86509",
        ),
    ),
    Rule(
        name="driver-jit",
        sees=env("CUDA_FORCE_PTX_JIT CUDA_DISABLE_PTX_JIT CUDA_FORCE_JIT CUDA_DISABLE_JIT CUDA_FORCE_*_JIT"),
        moves=("kernel choice",),
        phases=_GPU_PHASES,
        breaks="seldom",
        beside=("driver/module/version",),
        why="Kernels come from the driver's own compiler instead of the library's tuned binaries, or not at all where "
        "it may not compile and there is no binary for this GPU.",
        confirm="Unset it, then the same start with the warm cache",
        sources=(_CUDA,),
    ),
    Rule(
        name="mps-client",
        sees=env("CUDA_MPS_*"),
        moves=("gpu compute", "launch latency", "gpu memory"),
        breaks="seldom",
        usual=(1.05, 3.0),
        why="A client of MPS gets its share of multiprocessors and memory, and shares queues with the others.",
        confirm="echo get_server_list | nvidia-cuda-mps-control; the same run without MPS",
        sources=("https://docs.nvidia.com/deploy/mps/index.html",),
    ),
    Rule(
        name="injected-tools",
        sees=env("CUDA_INJECTION* NVTX_INJECTION* KINETO_* CUPTI_* CUDA_ENABLE_COREDUMP* CUDA_*COREDUMP* ROCP_*"),
        moves=("launch latency", "host memory"),
        best=("absent",),
        usual=(1.02, 2.0),
        why="A profiler, tracer or debugger that is loaded into the process pays at every launch and copy.",
        confirm="Start without it",
        sources=("https://docs.nvidia.com/cupti/main/main.html",),
    ),
    Rule(
        name="gpu-arithmetic",
        operations=OPERATIONS,
        sees=env(
            "NVIDIA_TF32_OVERRIDE TORCH_ALLOW_TF32_CUBLAS_OVERRIDE CUBLAS_WORKSPACE_CONFIG CUBLASLT_WORKSPACE_SIZE"
            " CUBLAS_* CUBLASLT_* CUDNN_* CUFFT_* CUSPARSE_* CUTLASS_* CUTE_* NVTE_* TORCH_CUDNN_* ROCBLAS_*"
            " HIPBLASLT_* TENSILE_* MIOPEN_*"
        ),
        moves=("kernel choice", "gpu memory"),
        breaks="seldom",
        usual=(1.1, 2.0),
        why="Which algorithm a product, a convolution or an attention takes: TF32 or not (7.7 against 13 s), "
        "deterministic ones with a small workspace only. Imports of packages set some of these unseen.",
        confirm="Unset it; compare kernel names of one step in a trace (nsys, torch.profiler)",
        confirmed=1,
        sources=(
            "https://docs.nvidia.com/cuda/cublas/index.html",
            "https://github.com/ultralytics/ultralytics/issues/16457",
            "https://github.com/pytorch/pytorch/issues/118349",
        ),
    ),
    Rule(
        name="gpu-sharing",
        sees=env(
            "CUDA_DISABLE_CONTROL CUDA_DEVICE_MEMORY_* CUDA_DEVICE_SM_LIMIT CUDA_OVERSUBSCRIBE GPU_CORE_UTIL*"
            " LIBCUDA_LOG_LEVEL"
        ),
        moves=("launch latency", "gpu compute", "gpu memory", "availability"),
        breaks="often",
        usual=(1.05, 300.0),
        beside=("process/*/env/LD_PRELOAD",),
        why="A library in front of the driver divides the GPU among containers: it counts memory and delays launches, "
        "and calls that it does not hand on hang or fail, as NCCL's when communicators are built.",
        confirm="CUDA_DISABLE_CONTROL=true, or start without the preloaded library",
        confirmed=1,
        sources=("https://github.com/Project-HAMi/HAMi/issues/2641",),
    ),
    Rule(
        name="cuda-runtime",
        sees=env("CUDA_* NVIDIA_* NVJITLINK_*"),
        moves=("launch latency", "kernel choice", "gpu memory", "availability"),
        phases=_GPU_PHASES,
        breaks="seldom",
        beside=("process/*/env/LD_PRELOAD",),
        why="The CUDA driver, the container run time, a tool of CUDA or a library that was loaded before it reads it: "
        "a switch of one that shares GPUs decided whether NCCL came up.",
        confirm="Start without it",
        confirmed=1,
        drifted=5,
        sources=(
            _CUDA,
            "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html",
            "https://github.com/Project-HAMi/HAMi/issues/2641",
        ),
    ),
    Rule(
        name="other-gpu-runtimes",
        sees=env("HIP_* ROCM_* ROCR_* HSA_* GPU_* AMD_* AITER_* ZE_* SYCL_* TPU_* LIBTPU_* HABANA_* ASCEND_*"),
        moves=("launch latency", "kernel choice", "gpu memory", "availability", "pcie link"),
        breaks="seldom",
        why="The run time of AMD, Intel, Google, Habana or Ascend devices: copies by SDMA or by kernels, queues, "
        "kernel libraries, devices that are pretended to be others.",
        confirm="Start without it",
        sources=("https://rocm.docs.amd.com/en/latest/reference/env-variables.html",),
    ),
    Rule(
        name="torch-allocator",
        sees=env(
            "PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF PYTORCH_HIP_ALLOC_CONF PYTORCH_NO_*_MEMORY_CACHING"
            " XLA_PYTHON_CLIENT_* TF_FORCE_GPU_ALLOW_GROWTH TF_GPU_ALLOCATOR"
        ),
        moves=("gpu memory", "launch latency"),
        breaks="often",
        usual=(1.02, 1.5),
        told_by=(
            "register-gpu-memory-failed",
            "mooncake-register-failed",
            "all-reduce-memory-refused",
            "gpu-memory-full",
        ),
        why="Fragmentation decides how large a cache fits; without caching, or when it is full, each allocation calls "
        "the driver, which waits for the GPU.",
        confirm="torch.cuda.memory_stats()['num_alloc_retries'] and reserved bytes in both runs",
        confirmed=1,
        sources=(
            "https://docs.pytorch.org/docs/stable/notes/cuda.html",
            _TORCH_CUDA,
            "https://github.com/vllm-project/vllm/pull/41158",
        ),
    ),
    Rule(
        name="graph-compiler",
        sees=env(
            "TORCH_COMPILE_* TORCHDYNAMO_* TORCHINDUCTOR_* AOT_INDUCTOR_* INDUCTOR_* XLA_* JAX_* TF_XLA* TVM_*"
            " TILELANG_* PYTORCH_JIT* PYTORCH_NVFUSER*"
        ),
        moves=("kernel choice", "launch latency"),
        breaks="seldom",
        usual=(1.05, 2.0),
        why="Whether and how a model is compiled: fused or single kernels, graphs, how long tuning searches and what "
        "it finds, how often a new shape compiles again.",
        confirm="TORCH_LOGS=recompiles,graph_breaks once in each state; time per step with the cache warm",
        sources=(
            "https://docs.pytorch.org/docs/stable/torch.compiler.html",
            "https://docs.pytorch.org/docs/stable/torch_environment_variables.html",
        ),
    ),
    Rule(
        name="triton-compiler",
        sees=env("TRITON_*"),
        moves=("kernel choice", "launch latency"),
        breaks="seldom",
        usual=(1.05, 2.0),
        why="Triton's own switches: tuning, interpretation on the host, debugging, warps and pipelining of what it "
        "compiles.",
        confirm="Empty TRITON_CACHE_DIR and start without it; compare kernel times of one step",
        sources=("https://github.com/triton-lang/triton",),
    ),
    Rule(
        name="torch-runtime",
        sees=env("TORCH_* PYTORCH_* ACCELERATE_* TF_*"),
        moves=("kernel choice", "cpu time", "launch latency"),
        phases=_GPU_PHASES,
        breaks="seldom",
        why="A switch of the framework: backends, checks, logging, how libraries are found.",
        confirm="Start without it",
        drifted=1,
        sources=("https://docs.pytorch.org/docs/stable/torch_environment_variables.html",),
    ),
)
