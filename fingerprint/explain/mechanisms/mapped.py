"""The libraries that a process really mapped, where its pages are, the devices it opened."""

from fingerprint.explain.mechanisms.graph import OPERATIONS, Rule

_LD_SO = "https://man7.org/linux/man-pages/man8/ld.so.8.html"
_MAPS = "https://man7.org/linux/man-pages/man5/proc_pid_maps.5.html"
_TELLING = ("path", "version", "build_id", "sha256", "size")


def files(names: str) -> tuple[str, ...]:
    """Globs of what tells one build from another, of libraries by these names."""
    return tuple(f"mapped/*/libraries/{name}/{fact}" for name in names.split() for fact in _TELLING)


RULES: tuple[Rule, ...] = (
    Rule(
        name="mapped-collectives",
        sees=files("libnccl libnccl#* librccl librccl#*"),
        moves=("collective", "gpu memory", "availability"),
        between=True,
        breaks="often",
        usual=(1.05, 10.0),
        beside=("process/*/env/NCCL_*", "process/*/env/LD_LIBRARY_PATH"),
        why="Each release chooses algorithms, protocols and channels anew, changes defaults (CUMEM in 2.19) and knows "
        "other variables; one release was bimodal, 4.12 or 2.58 by chance. What is mapped may be none of pip's.",
        confirm="NCCL_DEBUG=VERSION in both; then swap the one wheel and nothing else",
        confirmed=3,
        sources=(
            "https://github.com/NVIDIA/nccl/releases",
            "https://github.com/NVIDIA/nccl/issues/209",
            "https://github.com/NVIDIA/nccl/issues/770",
            "https://github.com/NVIDIA/TensorRT-LLM/pull/17160",
        ),
    ),
    Rule(
        name="mapped-collective-plugins",
        sees=files("libnccl-* librccl-*"),
        moves=("collective", "network", "availability"),
        between=True,
        breaks="seldom",
        why="A net plugin replaces NCCL's own transports, a tuner plugin its choice of algorithm; it is found by name "
        "along the loader's path, and without it NCCL falls back to sockets and says so in its log only.",
        confirm="NCCL_DEBUG=INFO: the lines on plugins; NCCL_NET_PLUGIN=none and NCCL_TUNER_PLUGIN=none",
        sources=("https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",),
    ),
    Rule(
        name="mapped-fabric",
        sees=files(
            "libibverbs* libmlx4* libmlx5* librdmacm* libefa* libfabric* libuc* libnvshmem* libgdrapi* libnixl* "
            "libmooncake* libtransfer_engine*"
        ),
        moves=("network", "collective", "availability"),
        between=True,
        breaks="seldom",
        why="User-space drivers of RDMA devices must suit the kernel's, and a container brings its own: of another "
        "age, they leave out relaxed ordering or the device itself, and traffic goes through sockets.",
        confirm="ibv_devinfo inside and outside of the container; NCCL_DEBUG=INFO: NET/IB or NET/Socket",
        sources=("https://github.com/linux-rdma/rdma-core/blob/master/Documentation/versioning.md",),
    ),
    Rule(
        name="mapped-cuda-driver",
        sees=files("libcuda libcuda#* libnvidia-* libamdhip64* libhsa-runtime64*"),
        moves=("launch latency", "kernel choice", "gpu initialisation", "code", "availability"),
        breaks="often",
        beside=("driver/module/version",),
        told_by=("cuda-driver-combination", "cuda-compatibility-refused"),
        why="The driver's half in user space launches every kernel and compiles PTX. A compatibility package in an "
        "image (cuda-compat) or a stale mount puts another one before that of the host.",
        confirm="Start with LD_LIBRARY_PATH without .../compat; compare with the version of /proc/driver/nvidia",
        sources=("https://docs.nvidia.com/deploy/cuda-compatibility/",),
    ),
    Rule(
        name="mapped-cuda-runtime",
        sees=files("libcudart* libnvrtc* libnvJitLink* libcupti* libcufile*"),
        moves=("launch latency", "kernel choice", "gpu initialisation", "code", "availability"),
        breaks="often",
        told_by=("cuda-driver-too-old",),
        why="Two CUDA releases differ in launch paths, lazy loading and in the code that the run-time compiler makes; "
        "a program that finds none of its own release ran on the CPU and looked like one with low clocks.",
        confirm="CUDA_MODULE_LOADING alike in both; then swap the nvidia-cuda-* wheels alone",
        sources=("https://docs.nvidia.com/cuda/cuda-c-programming-guide/#lazy-loading",),
    ),
    Rule(
        name="mapped-gpu-arithmetic",
        breaks="often",
        operations=OPERATIONS,
        sees=files(
            "libcublas* libcudnn* libcusparse* libcusolver* libcufft* libcurand* libcutensor* libnvinfer* libhipblas* "
            "librocblas* libMIOpen*"
        ),
        moves=("kernel choice", "gpu memory"),
        why="Matrix products and convolutions choose their kernel by tables and heuristics of the release.",
        confirm="nsys profile: names of the longest kernels in both; then swap the one wheel",
        sources=("https://docs.nvidia.com/cuda/cublas/index.html",),
    ),
    Rule(
        name="mapped-framework",
        sees=files("libtorch* libc10* libtriton* libtensorrt_llm* libnvfuser* libonnxruntime* triton.*"),
        moves=("code", "kernel choice", "launch latency", "cpu time"),
        breaks="often",
        beside=("process/*/interpreter/environment",),
        why="Allocator, dispatch, compiler and graph capture are the framework's, and it fixes which CUDA, NCCL and "
        "Triton come along: what moved the number is often one of these. A Triton patch lost half with one driver.",
        confirm="Install the other release with everything that it brought pinned as it was",
        confirmed=4,
        sources=(
            "https://github.com/pytorch/pytorch/releases",
            "https://github.com/vllm-project/vllm/issues/43153",
        ),
    ),
    Rule(
        name="mapped-llama",
        sees=files("libggml* libllama* libmtmd* llama_cpp.*"),
        moves=("code", "kernel choice", "cpu time"),
        breaks="seldom",
        why="llama.cpp loads one backend a device and one a kind of CPU, and which it finds decides: without the CUDA "
        "one it runs on the CPU, without the one for this CPU with the plainest instructions.",
        confirm="Its first lines of log name the backends that it loaded; run the other build beside it",
        sources=("https://github.com/ggml-org/llama.cpp/blob/master/docs/build.md",),
    ),
    Rule(
        name="mapped-thread-pools",
        sees=files("libgomp* libomp* libiomp5* libtbb*"),
        moves=("cpu time", "wake latency"),
        beside=("process/*/env/OMP_NUM_THREADS", "process/*/env/LD_PRELOAD", "process/*/affinity"),
        why="Run-time systems for threads differ in how long they spin, where they pin and how they nest; two in one "
        "process each start as many threads as there are CPUs.",
        confirm="OMP_DISPLAY_ENV=VERBOSE (KMP_VERSION=1) in both; LD_PRELOAD of the one for both",
        sources=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
    ),
    Rule(
        name="mapped-cpu-arithmetic",
        sees=files("libopenblas* libscipy_openblas* libmkl_* libblis* libdnnl* libnuma*"),
        moves=("cpu time", "code"),
        why="They choose kernels by the CPU that they recognise, and threads by their own rules.",
        confirm="OPENBLAS_VERBOSE=2 or MKL_VERBOSE=1: the kernel chosen; then swap the one wheel",
        sources=("https://github.com/OpenMathLib/OpenBLAS/blob/develop/USAGE.md",),
    ),
    Rule(
        name="mapped-allocator",
        sees=files("libjemalloc* libtcmalloc* libmimalloc*"),
        moves=("cpu time", "host memory", "page size"),
        beside=("process/*/env/LD_PRELOAD", "process/*/env/MALLOC_CONF"),
        why="Another malloc has other locks, caches and rules for giving memory back, and asks for huge pages or not.",
        confirm="LD_PRELOAD of the other one, and of none",
        sources=("https://jemalloc.net/jemalloc.3.html",),
    ),
    Rule(
        name="mapped-gpu-sharing",
        sees=files("libvgpu*"),
        moves=("launch latency", "gpu memory", "gpu compute", "availability"),
        breaks="often",
        why="A library between program and driver counts memory and holds back launches for the sake of others on the "
        "same GPU; it may refuse memory that is free.",
        confirm="Start without it (LD_PRELOAD, /etc/ld.so.preload)",
        confirmed=1,
        sources=("https://github.com/Project-HAMi/HAMi-core",),
    ),
    Rule(
        name="mapped-kernels",
        sees=files("*.*"),
        moves=("code", "kernel choice", "launch latency"),
        breaks="seldom",
        why="Extension modules of engines and kernel packages (attention, quantisation, sampling, expert dispatch) are "
        "the code of the step; compiled on this machine or from a wheel, for this GPU's architecture or from PTX.",
        confirm="Install the other run's build of this one file's package; nsys profile: names of kernels in both",
        confirmed=2,
        sources=("https://github.com/vllm-project/vllm/issues/44808", _MAPS),
    ),
    Rule(
        name="mapped-library",
        sees=files("*"),
        moves=("code",),
        why="Another file of machine code, or another build of it, is in the process.",
        confirm="Put the other run's file in its place, or first in LD_LIBRARY_PATH, with everything else as it is",
        confirmed=1,
        sources=(
            _LD_SO,
            _MAPS,
            "https://github.com/NVIDIA/caffe/issues/283",
        ),
    ),
    Rule(
        name="mapped-at-all",
        sees=("mapped/*/libraries", "mapped/*/libraries/*"),
        moves=("code", "kernel choice"),
        breaks="seldom",
        beside=("process/*/env/LD_LIBRARY_PATH",),
        told_by=("library-missing",),
        why="A library that one process has and the other lacks: a backend was not found, a plugin was, or something "
        "else was imported.",
        confirm="LD_DEBUG=files for the start, or `python -v`: who asked for it",
        sources=(_LD_SO,),
    ),
    Rule(
        name="mapped-twice",
        sees=(
            "mapped/*/libraries/*/copies",
            "mapped/*/libraries/*/others",
            "mapped/*/libraries/*/others/*",
            *(f"mapped/*/libraries/*/others/*/{fact}" for fact in (*_TELLING, "deleted")),
        ),
        moves=("code", "availability", "cpu time"),
        way="less helps",
        breaks="often",
        beside=("mapped/*/libraries/*/path", "process/*/env/LD_LIBRARY_PATH", "process/*/env/LD_PRELOAD"),
        why="Two files of one library in one process: half of the callers get the one, half the other, by the order in "
        "which they were loaded. Two NCCLs or two OpenMPs each hold threads and memory of their own.",
        confirm="LD_DEBUG=bindings for the start; take the second one out of the loader's path",
        sources=(_LD_SO,),
    ),
    Rule(
        name="mapped-and-deleted",
        sees=("mapped/*/libraries/*/deleted",),
        moves=("code", "availability"),
        breaks="often",
        why="The package was upgraded beneath a process that runs: it goes on with the old file, what it loads from "
        "now on is of the new one, and the next start is another experiment.",
        confirm="Restart it and measure again",
        sources=(_MAPS,),
    ),
    Rule(
        name="preloaded-objects",
        sees=("mapped/*/preloaded",),
        moves=("code", "cpu time", "launch latency", "availability"),
        breaks="often",
        why="What is preloaded comes before all others: it replaces malloc or the CUDA driver's calls, and it may "
        "trace each of them.",
        confirm="Start without it",
        confirmed=1,
        sources=(_LD_SO, "https://github.com/Project-HAMi/HAMi/issues/2641"),
    ),
    Rule(
        name="memory-policy",
        sees=("mapped/*/memory/policies",),
        moves=("page placement", "host memory bandwidth"),
        usual=(1.05, 5.0),
        beside=("process/*/affinity", "numa/online", "process/*/mems_allowed"),
        why="Bind, prefer and interleave decide on which node memory is touched first: near the threads, near the GPU, "
        "or over all nodes, where bandwidth adds up.",
        confirm="numactl --membind or --interleave for the start; /proc/PID/numa_maps",
        sources=("https://docs.kernel.org/admin-guide/mm/numa_memory_policy.html",),
    ),
    Rule(
        name="page-node",
        sees=("mapped/*/memory/node",),
        moves=("page placement",),
        beside=("process/*/affinity", "gpu/*/pcie/numa_node", "kernel/sysctl/kernel/numa_balancing"),
        usual=(1.02, 1.8),
        why="Pages on another node than the threads or the GPU cost each access and each copy the way across. A "
        "binding after the start leaves where it is what was touched before: 22 % remote.",
        confirm="migratepages PID FROM TO, or start it under numactl, and measure again",
        confirmed=2,
        sources=(
            "https://man7.org/linux/man-pages/man5/proc_pid_numa_maps.5.html",
            "https://github.com/NVIDIA/TensorRT-LLM/pull/18117",
        ),
    ),
    Rule(
        name="opened-devices",
        sees=("mapped/*/devices",),
        moves=("gpu compute", "collective", "network", "availability"),
        breaks="often",
        beside=("process/*/env/CUDA_VISIBLE_DEVICES", "process/*/env/NVIDIA_VISIBLE_DEVICES"),
        why="Which GPUs and RDMA devices a process holds open is what it can use: another set is other GPUs, one it "
        "lost after a daemon-reload, or no RDMA at all.",
        confirm="nvidia-smi -L and ibv_devices inside of the container; start it anew",
        sources=("https://github.com/NVIDIA/nvidia-container-toolkit/issues/48",),
    ),
)
