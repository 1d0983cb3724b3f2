"""Variables of PyTorch, Triton, JAX and TensorFlow: what is compiled, tuned, checked and kept."""

from fingerprint.explain.mechanisms.graph import OPERATIONS, Rule
from fingerprint.explain.mechanisms.variables import env

_VLLM = "https://docs.vllm.ai/en/stable/configuration/env_vars/"
_INDUCTOR = "https://github.com/pytorch/pytorch/blob/main/torch/_inductor/config.py"
_TRITON = "https://github.com/triton-lang/triton"
_JAX_FLAGS = "https://github.com/jax-ml/jax/blob/main/docs/debugging/flags.md"


RULES: tuple[Rule, ...] = (
    Rule(
        name="inductor-tuning",
        sees=env(
            "TORCHINDUCTOR_MAX_AUTOTUNE TORCHINDUCTOR_MAX_AUTOTUNE_* TORCHINDUCTOR_COORDINATE_DESCENT_*"
            " TORCHINDUCTOR_AUTOTUNE_* TORCHINDUCTOR_SEARCH_AUTOTUNE_CACHE TORCHINDUCTOR_BENCHMARK_FUSION"
            " VLLM_ENABLE_INDUCTOR_MAX_AUTOTUNE VLLM_ENABLE_INDUCTOR_COORDINATE_DESCENT_TUNING"
        ),
        moves=("kernel choice", "cpu time"),
        phases=("prefill", "decode step", "verify step", "start-up", "any work"),
        breaks="seldom",
        why="Whether Inductor times several kernels for each product and each fused loop and takes the fastest: "
        "starts take minutes more, steps are a little shorter, and what won depends on what else the GPU did at "
        "that moment.",
        confirm="TORCH_LOGS=output_code or the log of tuning in both states; time per step with the cache warm",
        sources=(_INDUCTOR, _VLLM),
    ),
    Rule(
        name="inductor-code",
        sees=env(
            "TORCHINDUCTOR_FREEZING TORCHINDUCTOR_CPP_WRAPPER TORCHINDUCTOR_SIZE_ASSERTS TORCHINDUCTOR_NAN_ASSERTS"
            " TORCHINDUCTOR_SCALAR_ASSERTS TORCHINDUCTOR_LAYOUT_OPTIMIZATION TORCHINDUCTOR_SHAPE_PADDING"
            " TORCHINDUCTOR_PERMUTE_FUSION TORCHINDUCTOR_PERSISTENT_REDUCTIONS TORCHINDUCTOR_EMULATE_PRECISION_CASTS"
            " TORCHINDUCTOR_USE_FAST_MATH TORCHINDUCTOR_COMBO_KERNELS VLLM_ENABLE_PREGRAD_PASSES"
        ),
        moves=("kernel choice", "launch latency", "gpu memory"),
        phases=("prefill", "decode step", "verify step", "host latency", "start-up", "any work"),
        breaks="seldom",
        why="What Inductor makes of a graph: constants folded in, padded shapes, another order of dimensions, "
        "launches from C++ instead of Python, checks before each call.",
        confirm="Compare the generated code of one graph (TORCH_LOGS=output_code) and its kernel times",
        sources=(_INDUCTOR,),
    ),
    Rule(
        name="compile-cache-switches",
        sees=env(
            "TORCHINDUCTOR_FX_GRAPH_CACHE TORCHINDUCTOR_AUTOGRAD_CACHE TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE"
            " TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE TORCHINDUCTOR_BUNDLE_TRITON_INTO_FX_GRAPH_CACHE"
            " TORCH_CACHING_PRECOMPILE JAX_ENABLE_COMPILATION_CACHE JAX_PERSISTENT_CACHE_* TRITON_STORE_BINARY_ONLY"
            " VLLM_FORCE_AOT_LOAD VLLM_USE_MEGA_AOT_ARTIFACT VLLM_COMPILE_CACHE_SAVE_FORMAT"
        ),
        moves=("storage", "kernel choice", "cpu time"),
        phases=("start-up", "any work"),
        breaks="seldom",
        why="Whether a compiled graph is kept for the next process, and taken from where: without that each start "
        "traces, compiles and tunes anew. One that is shared brings what another machine found fastest.",
        confirm="Start twice with the same folder and compare the second starts",
        sources=("https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_configuration_tutorial.html",),
    ),
    Rule(
        name="compiling-off",
        sees=env("TORCHDYNAMO_DISABLE TORCH_COMPILE_DISABLE JAX_DISABLE_JIT"),
        moves=("launch latency", "kernel choice", "gpu memory"),
        best=("absent", "0", "false", "False"),
        mostly=True,
        phases=("prefill", "decode step", "verify step", "start-up", "any work"),
        why="All that would be compiled runs operation by operation: a kernel and a launch for each, intermediate "
        "results written out in between. The start is shorter by the compiling.",
        confirm="Unset it; number of kernels of one step in a trace of both states",
        sources=("https://docs.pytorch.org/docs/stable/torch.compiler.html", _JAX_FLAGS),
    ),
    Rule(
        name="compiler-dumps",
        sees=env(
            "TORCH_COMPILE_DEBUG TORCH_TRACE INDUCTOR_PROVENANCE TORCHINDUCTOR_PROFILE TORCHINDUCTOR_PROFILE_*"
            " TORCHDYNAMO_REPRO_* TORCHDYNAMO_VERBOSE TORCHINDUCTOR_DUMP_* MLIR_ENABLE_DUMP LLVM_IR_ENABLE_DUMP"
            " NVPTX_ENABLE_DUMP TRITON_KERNEL_DUMP TRITON_KERNEL_OVERRIDE TRITON_DEBUG TRITON_ENABLE_LLVM_DEBUG"
            " TRITON_REPRODUCER_PATH TRITON_DUMP_PTXAS_LOG TRITON_PRINT_AUTOTUNING XLA_HLO_DEBUG JAX_DUMP_*"
            " JAX_LOG_COMPILES JAX_EXPLAIN_CACHE_MISSES"
        ),
        moves=("cpu time", "storage"),
        best=("absent",),
        mostly=True,
        phases=("start-up", "host latency", "any work"),
        why="What compilers make is written down at each stage: many files at the start, few later. The ones that "
        "check each access or time each graph run in every step.",
        confirm="Start without it; files that were written meanwhile",
        sources=(_TRITON, _INDUCTOR),
    ),
    Rule(
        name="triton-on-the-host",
        sees=env("TRITON_INTERPRET NUMBA_ENABLE_CUDASIM NUMBA_DISABLE_JIT"),
        moves=("kernel choice", "cpu time", "gpu compute"),
        best=("absent", "0"),
        breaks="seldom",
        why="Kernels are interpreted in Python on the host, element by element, for a search of errors: thousands "
        "of times slower, and no kernel of theirs appears on the GPU.",
        confirm="Unset it, then the same run",
        sources=(_TRITON, "https://github.com/numba/numba/blob/main/docs/source/reference/envvars.rst"),
    ),
    Rule(
        name="triton-assembler",
        sees=env(
            "TRITON_PTXAS_PATH TRITON_PTXAS_BLACKWELL_PATH TRITON_CUOBJDUMP_PATH TRITON_NVDISASM_PATH"
            " TRITON_LIBCUDA_PATH TRITON_LIBDEVICE_PATH TRITON_CUDACRT_PATH TRITON_CUDART_PATH TRITON_LIBHIP_PATH"
        ),
        moves=("kernel choice", "availability"),
        phases=("prefill", "decode step", "verify step", "start-up", "any work"),
        breaks="often",
        why="Which assembler and libraries of CUDA Triton compiles with: an older ptxas does not know a new GPU and "
        "ends the start, a newer one gives other registers and other speed.",
        confirm="`ptxas --version` of both paths; empty the Triton cache and start with each",
        sources=(_TRITON,),
    ),
    Rule(
        name="triton-code",
        sees=env(
            "DISABLE_LLVM_OPT DISABLE_PTXAS_OPT TRITON_DISABLE_LINE_INFO TRITON_DEFAULT_FP_FUSION"
            " TRITON_F32_DEFAULT TRITON_ENABLE_* TRITON_CACHE_AUTOTUNING TRITON_HIP_* AMDGCN_USE_BUFFER_OPS"
            " TRITON_DISABLE_PTXAS_OPT"
        ),
        moves=("kernel choice",),
        phases=("prefill", "decode step", "verify step", "start-up", "any work"),
        breaks="seldom",
        why="How Triton turns a kernel into machine code: optimised or not, TF32 or 32 bit in products, fused "
        "multiply-add or not, pipelined or not. It is read when a kernel is compiled, so a warm cache may hide it.",
        confirm="Empty the Triton cache and start with each value; kernel times of one step",
        sources=(_TRITON,),
    ),
    Rule(
        name="xla-flags",
        sees=env("XLA_FLAGS TF_XLA_FLAGS XLA_IR_DEBUG XLA_USE_BF16 XLA_USE_SPMD"),
        moves=("kernel choice", "code", "collective", "launch latency", "gpu memory"),
        phases=("prefill", "decode step", "verify step", "start-up", "transfer", "any work"),
        breaks="often",
        why="XLA's own flags: fusion and Triton kernels, how far products are tuned, graphs, collectives that run "
        "under the computation or before it, how much memory its scheduler counts on. Names come and go, and one "
        "that it does not know ends the start.",
        confirm="Compare the two values flag by flag; one step with the first half of those that differ",
        sources=(
            "https://docs.jax.dev/en/latest/xla_flags.html",
            "https://docs.nvidia.com/jax-toolbox/performance-profiling/gpu-performance",
        ),
    ),
    Rule(
        name="xla-memory",
        sees=env(
            "XLA_PYTHON_CLIENT_PREALLOCATE XLA_PYTHON_CLIENT_MEM_FRACTION XLA_CLIENT_MEM_FRACTION"
            " XLA_PYTHON_CLIENT_ALLOCATOR TF_CUDA_HOST_MEM_LIMIT_IN_MB"
        ),
        moves=("gpu memory", "launch latency"),
        told_by=("gpu-memory-full",),
        breaks="often",
        why="How much of the GPU JAX takes at its first operation, 75 % unless told, and from what: without that it "
        "grows and may fragment, and with `platform` each buffer is asked of the driver and given back, which is "
        "very slow.",
        confirm="Used memory after the first step, and its time, in both states",
        sources=("https://docs.jax.dev/en/latest/gpu_memory_allocation.html",),
    ),
    Rule(
        name="jax-devices",
        sees=env("JAX_PLATFORMS JAX_PLATFORM_NAME JAX_CUDA_VISIBLE_DEVICES JAX_ROCM_VISIBLE_DEVICES PJRT_DEVICE"),
        moves=("availability", "code"),
        told_by=("no-gpu-used",),
        breaks="often",
        why="On which kind of device JAX or torch_xla computes: `cpu` leaves the GPUs idle without a word, and one "
        "that is not there ends the start.",
        confirm="python -c 'import jax; print(jax.devices())' with both values",
        sources=(_JAX_FLAGS,),
    ),
    Rule(
        name="jax-numbers",
        sees=env(
            "JAX_DEFAULT_MATMUL_PRECISION JAX_ENABLE_X64 JAX_DEFAULT_DTYPE_BITS JAX_NUMPY_DTYPE_PROMOTION"
            " JAX_DEFAULT_PRNG_IMPL JAX_THREEFRY_PARTITIONABLE"
        ),
        moves=("gpu compute", "kernel choice", "gpu memory"),
        phases=("prefill", "decode step", "any work"),
        scripts=True,
        why="In how many bits JAX computes: 64 are a 64th of the rate on consumer cards, and products in full 32 "
        "bit leave TF32 unused. Another generator of random numbers is other kernels.",
        confirm="dtype of the largest arrays, and kernel names of one step, in both states",
        sources=("https://docs.jax.dev/en/latest/gpu_performance_tips.html",),
    ),
    Rule(
        name="jax-checks",
        sees=env("JAX_DEBUG_NANS JAX_DEBUG_INFS JAX_CHECK_TRACER_LEAKS JAX_ENABLE_CHECKS JAX_DEBUG_KEY_REUSE"),
        moves=("launch latency", "cpu time"),
        best=("absent", "0", "false", "False"),
        mostly=True,
        phases=("decode step", "prefill", "host latency", "any work"),
        breaks="seldom",
        scripts=True,
        why="The result of each compiled function is fetched and looked through before the next one starts, so host "
        "and GPU work in turn, and where something is found it is computed again, operation by operation, and ends.",
        confirm="Unset it, then the same run",
        sources=(_JAX_FLAGS,),
    ),
    Rule(
        name="tensorflow-threads",
        sees=env("TF_NUM_INTRAOP_THREADS TF_NUM_INTEROP_THREADS TF_GPU_THREAD_MODE TF_GPU_THREAD_COUNT"),
        moves=("cpu time", "launch latency"),
        phases=("prefill", "decode step", "host latency", "any work"),
        scripts=True,
        beside=("process/*/cgroup/cpu_max", "process/*/affinity"),
        why="How many threads TensorFlow's operations share on the host, and whether the GPU has threads of its own "
        "that launch, or waits behind the input pipeline's.",
        confirm="Start without it; gaps between kernels in a trace of one step",
        sources=(
            "https://www.intel.com/content/www/us/en/developer/articles/guide/guide-to-tensorflow-runtime-optimizations-for-cpu.html",
        ),
    ),
    Rule(
        name="tensorflow-kernels",
        sees=env(
            "TF_ENABLE_ONEDNN_OPTS TF_DISABLE_MKL TF_CUDNN_USE_AUTOTUNE TF_CUDNN_* TF_DETERMINISTIC_OPS"
            " TF_USE_CUDNN_BATCHNORM_* TF_ENABLE_AUTO_MIXED_PRECISION TF_ENABLE_WINOGRAD_NONFUSED"
            " TF_AUTOTUNE_THRESHOLD TF_CUBLAS_WORKSPACE_IN_MB TF_ENABLE_CUBLAS_TENSOR_OP_MATH_FP32"
            " TF_ENABLE_CUDNN_TENSOR_OP_MATH_FP32"
        ),
        moves=("kernel choice", "cpu time"),
        phases=("prefill", "decode step", "start-up", "any work"),
        scripts=True,
        operations=OPERATIONS,
        why="Which kernels TensorFlow takes: tuned by trial or not, in 16 bit or 32, repeatable or fast, oneDNN's "
        "or its own on the host.",
        confirm="Unset it; kernel names of one step in both states",
        sources=(
            "https://www.intel.com/content/www/us/en/developer/articles/guide/guide-to-tensorflow-runtime-optimizations-for-cpu.html",
        ),
    ),
    Rule(
        name="allocator-caching-off",
        sees=env("PYTORCH_NO_CUDA_MEMORY_CACHING PYTORCH_NO_HIP_MEMORY_CACHING"),
        moves=("launch latency", "gpu memory"),
        best=("absent", "0"),
        mostly=True,
        phases=("prefill", "decode step", "verify step", "any work"),
        breaks="seldom",
        why="Each tensor is asked of the driver and given back to it, and giving back waits for the GPU: left over "
        "from a search for an error in memory. Graphs cannot be captured without the cache.",
        confirm="Unset it; calls of cudaMalloc in a trace of one step",
        sources=("https://docs.pytorch.org/docs/stable/cuda_environment_variables.html",),
    ),
    Rule(
        name="tunable-operations",
        sees=env("PYTORCH_TUNABLEOP_*"),
        moves=("kernel choice", "storage"),
        phases=("prefill", "decode step", "start-up", "any work"),
        usual=(1.03, 2.1),
        why="Whether torch times all kernels of its BLAS libraries for each shape of a product that it meets and "
        "keeps the fastest in a file. Tuning makes the first steps long; with the file an RX 9070 went from 1.5 to "
        "3.1 steps a second.",
        confirm="Whether the file of results is there and read; time per step of the second run",
        sources=(
            "https://docs.pytorch.org/docs/stable/cuda.tunable.html",
            "https://github.com/vladmandic/sdnext/discussions/4056",
        ),
    ),
    Rule(
        name="torch-product-library",
        sees=env(
            "TORCH_BLAS_PREFER_CUBLASLT DISABLE_ADDMM_CUDA_LT DISABLE_ADDMM_HIP_LT"
            " TORCH_LINALG_PREFER_* TORCH_CUBLAS_WORKSPACE_CACHE"
        ),
        moves=("kernel choice", "gpu memory"),
        phases=("prefill", "decode step", "verify step", "any work"),
        operations=OPERATIONS,
        why="Which BLAS torch multiplies with where it has two: other kernels for the same shape, and a bias that "
        "is added in the product or after it.",
        confirm="Kernel names of one step in both states",
        sources=(
            "https://docs.pytorch.org/docs/stable/cuda_environment_variables.html",
            "https://rocm.docs.amd.com/projects/ai-ecosystem/en/latest/optimization/vllm-v1-optimization.html",
        ),
    ),
    Rule(
        name="accelerate-training",
        sees=env(
            "ACCELERATE_MIXED_PRECISION ACCELERATE_USE_FSDP ACCELERATE_USE_DEEPSPEED ACCELERATE_USE_MEGATRON_LM"
            " ACCELERATE_DYNAMO_* ACCELERATE_GRADIENT_ACCUMULATION_STEPS ACCELERATE_DEEPSPEED_* ACCELERATE_FP8_*"
            " FSDP_* PARALLELISM_CONFIG_* ACCELERATE_USE_CPU ACCELERATE_CPU_AFFINITY"
        ),
        moves=("workload", "gpu memory", "collective", "gpu compute"),
        phases=("prefill", "decode step", "start-up", "any work"),
        breaks="seldom",
        scripts=True,
        why="What Accelerate's launcher tells its workers: how many bits, what is sharded or kept on the host, how "
        "many steps are summed before the weights move, whether it compiles.",
        confirm="accelerate env, and memory and time of one step, in both states",
        sources=("https://github.com/huggingface/accelerate/blob/main/src/accelerate/utils/launch.py",),
    ),
    Rule(
        name="checkpoints-read-safely",
        sees=env("TORCH_FORCE_WEIGHTS_ONLY_LOAD TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD TORCH_DEVICE_BACKEND_AUTOLOAD"),
        moves=("availability", "code"),
        phases=("start-up", "any work"),
        breaks="often",
        why="What torch does before it computes: which objects a file of weights may hold, how it looks for GPUs "
        "without touching them, which other backends it imports. It ends a start, or lets it through.",
        confirm="Set it to the other run's value, then the same start",
        drifted=1,
        sources=(
            "https://docs.pytorch.org/docs/stable/cuda_environment_variables.html",
            "https://docs.pytorch.org/docs/stable/miscellaneous_environment_variables.html",
        ),
    ),
)
