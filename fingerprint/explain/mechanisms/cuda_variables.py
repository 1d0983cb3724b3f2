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
            "CUDA_DEVICE_MAX_CONNECTIONS CUDA_DEVICE_MAX_COPY_CONNECTIONS CUDA_SCALE_LAUNCH_QUEUES"
            " CUDA_GRAPHS_USE_NODE_PRIORITY CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM"
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
        name="performance-boost",
        sees=env("CUDA_DISABLE_PERF_BOOST CUDA_AUTO_BOOST"),
        moves=("sm clock", "memory clock"),
        why="Whether the driver raises the GPU to its state for computing as soon as a context of CUDA exists: with "
        "the boost disabled the clocks follow the load, and kernels after a pause run slow until they rise.",
        confirm="nvidia-smi -q -d PERFORMANCE,CLOCK during the run in both states",
        sources=(_CUDA, "https://gist.github.com/Ristovski/c81502f850ba095320353ec2094b14cf"),
    ),
    Rule(
        name="managed-memory-place",
        sees=env("CUDA_MANAGED_FORCE_DEVICE_ALLOC CUDA_UVM_* GGML_CUDA_ENABLE_UNIFIED_MEMORY"),
        moves=("gpu memory", "page placement", "pcie link"),
        breaks="seldom",
        why="Where managed memory lies: with GPUs that do not reach each other it falls into the host's, and each "
        "access crosses PCIe. Unified memory lets a model that does not fit start, and run at the link's rate.",
        confirm="nsys --cuda-um-gpu-page-faults=true over one step in both states",
        sources=(_CUDA, "https://github.com/ggml-org/llama.cpp/blob/master/docs/build.md"),
    ),
    Rule(
        name="injected-tools",
        sees=env("CUDA_INJECTION* NVTX_INJECTION* KINETO_* CUPTI_* ROCP_* ROCPROFILER_* HSA_TOOLS_LIB ROCP_TOOL_*"),
        moves=("launch latency", "host memory"),
        best=("absent",),
        breaks="seldom",
        usual=(1.02, 2.0),
        why="A profiler, tracer or debugger that is loaded into the process pays at every launch and copy.",
        confirm="Start without it",
        sources=("https://docs.nvidia.com/cupti/main/main.html",),
    ),
    Rule(
        name="gpu-debugging",
        sees=env("CUDA_ENABLE_*COREDUMP* CUDA_COREDUMP_* CUDA_DEVICE_WAITS_ON_EXCEPTION CUDA_DEBUGGER_* CUDBG_*"),
        moves=("launch latency", "availability"),
        breaks="seldom",
        why="What happens where a kernel faults: a dump of the GPU's memory is written, for minutes, or the process "
        "waits for a debugger for ever. Until a fault it costs little.",
        confirm="Unset it, then the same run; a core file beside the program",
        sources=(_CUDA, "https://docs.nvidia.com/cuda/cuda-gdb/index.html"),
    ),
    Rule(
        name="gpu-arithmetic",
        operations=OPERATIONS,
        sees=env(
            "CUBLAS_* CUBLASLT_* CUDNN_* CUFFT_* CUSPARSE_* CUSOLVER_* CUTENSOR_* CUTLASS_* CUTE_* NVTE_*"
            " TORCH_CUDNN_* TORCH_BLAS_*"
        ),
        moves=("kernel choice", "gpu memory"),
        breaks="seldom",
        usual=(1.1, 2.0),
        why="Which algorithm a product, a convolution or an attention takes, and which plans a library keeps. Imports "
        "of packages set some of these unseen.",
        confirm="Unset it; compare kernel names of one step in a trace (nsys, torch.profiler)",
        sources=("https://docs.nvidia.com/cuda/cublas/index.html", _TORCH_CUDA),
    ),
    Rule(
        name="tf32-by-variable",
        operations=OPERATIONS,
        sees=env("NVIDIA_TF32_OVERRIDE TORCH_ALLOW_TF32_CUBLAS_OVERRIDE HIPBLASLT_ALLOW_TF32 CUBLAS_FORCE_TF32"),
        moves=("kernel choice",),
        usual=(1.1, 2.0),
        beside=("gpu/*/compute_cap",),
        why="Whether products and convolutions of 32 bits take tensor cores at 10 bits of mantissa: 7.7 against 13 s, "
        "8.0 against 10.3 ms. NVIDIA_TF32_OVERRIDE=0 forbids it to all libraries, whatever the program says. Half "
        "precision is not touched, nor are GPUs before Ampere.",
        confirm="Unset it; names of the kernels of one step tell tf32 or sgemm",
        sources=(
            "https://docs.nvidia.com/cuda/cublas/index.html",
            "https://github.com/pytorch/pytorch/issues/118349",
            "https://github.com/ultralytics/inference/pull/104",
        ),
    ),
    Rule(
        name="matrix-workspace",
        operations=OPERATIONS,
        sees=env(
            "CUBLAS_WORKSPACE_CONFIG CUBLASLT_WORKSPACE_SIZE HIPBLAS_WORKSPACE_CONFIG HIPBLASLT_WORKSPACE_SIZE"
            " ROCBLAS_DEVICE_MEMORY_SIZE TORCH_CUBLASLT_UNIFIED_WORKSPACE"
        ),
        moves=("kernel choice", "gpu memory"),
        usual=(1.02, 2.0),
        why="How much memory a product may use beside its result: with little, as reproducible results ask for, "
        "algorithms that split the sum are out (Hopper wants 32 MiB). Training frameworks set it at import, also for "
        "inference that did not ask. Each stream takes its own.",
        confirm="Unset it before the first import; kernel names of one step and used memory in both states",
        confirmed=1,
        sources=(
            "https://docs.nvidia.com/cuda/cublas/index.html",
            "https://github.com/ultralytics/ultralytics/issues/16457",
            "https://github.com/ultralytics/ultralytics/issues/19127",
            "https://github.com/pytorch/pytorch/pull/101145",
        ),
    ),
    Rule(
        name="emulated-precision",
        operations=OPERATIONS,
        sees=env("CUBLAS_EMULATE_* CUBLAS_EMULATION_* CUBLAS_FIXEDPOINT_*"),
        moves=("kernel choice", "gpu memory"),
        why="Whether products of 32 or 64 bits are put together from several of 16 or 8 on tensor cores: quicker where "
        "these are plenty, slower for small ones with the strategy `eager`. Other types are not touched.",
        confirm="Unset it; names of the kernels of one step in both states",
        sources=("https://docs.nvidia.com/cuda/cublas/index.html",),
    ),
    Rule(
        name="other-gpu-runtimes",
        sees=env("HIP_* ROCM_* ROCR_* ROC_* HSA_* GPU_* AMD_* AITER_* ZE_* SYCL_* TPU_* LIBTPU_* HABANA_* ASCEND_*"),
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
        sources=("https://docs.pytorch.org/docs/stable/torch_environment_variables.html",),
    ),
)
