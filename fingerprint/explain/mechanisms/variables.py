"""Environment variables that any program reads: of loader, allocator, Python, other run times and the shell."""

from fingerprint.explain.mechanisms.cpu_time import CONTENDED, THROTTLED
from fingerprint.explain.mechanisms.graph import Condition, Phase, Rule


def env(names: str) -> tuple[str, ...]:
    """Globs of variables of any process of the run, by their names, with blanks between them; NCCL's own also where
    files set them."""
    given = names.split()
    found = (f"nccl/*/variables/{name}" for name in given if name.startswith(("NCCL_", "RCCL_")))
    return (*(f"process/*/env/{name}" for name in given), *found)


_NAMES = "https://github.com/vllm-project/vllm/issues/50292"
_STEPS: tuple[Phase, ...] = ("prefill", "decode step", "verify step", "start-up", "memory use", "any work")
_LOADER = "https://man7.org/linux/man-pages/man8/ld.so.8.html"
_PYTHON = "https://docs.python.org/3/using/cmdline.html"
_IN_KERNEL = (
    Condition(facts="usage/main/system", sign="grew", says="the run spent more time in the kernel", least=20),
)
_WRITTEN = (
    Condition(
        facts="usage/main/write_bytes",
        sign="grew",
        says="the run wrote more: logs, caches, compiled kernels",
        least=1e6,
    ),
)

RULES: tuple[Rule, ...] = (
    Rule(
        name="preloaded-libraries",
        sees=env("LD_PRELOAD LD_AUDIT"),
        moves=("code", "system calls", "launch latency", "availability"),
        breaks="often",
        usual=(1.02, 2.0),
        why="A library that is loaded first stands between the program and CUDA, NCCL or libc. One that shares GPUs "
        "out intercepted cuMemCreate and made NCCL hang.",
        confirm="Start without it; /proc/PID/maps tells what is loaded",
        confirmed=1,
        sources=(
            _LOADER,
            "https://github.com/Project-HAMi/HAMi/issues/2641",
        ),
    ),
    Rule(
        name="library-path",
        sees=env("LD_LIBRARY_PATH LD_ORIGIN_PATH LD_HWCAP_MASK LD_USE_LOAD_BIAS"),
        moves=("code", "availability"),
        breaks="often",
        usual=(1.05, 5.0),
        told_by=("cuda-compatibility-refused", "library-missing", "symbol-missing", "library-too-old"),
        why="Another copy of a library is found first: pip's, conda's and the system's libnccl, libcudnn or libcuda "
        "stand side by side under one name, and without the right one some programs compute on the CPU.",
        confirm="grep '\\.so' /proc/PID/maps in both runs: path and size of libcuda, libnccl, libcudnn, libcublas",
        drifted=1,
        sources=(_LOADER, "https://github.com/ggml-org/llama.cpp/issues/26024"),
    ),
    Rule(
        name="loader-tracing",
        sees=env("LD_DEBUG LD_PROFILE LD_BIND_NOW LD_BIND_NOT"),
        moves=("cpu time", "system calls"),
        phases=("start-up", "host latency", "any work"),
        usual=(1.0, 1.5),
        why="Symbols are looked up at the start, at each first call, or at every call; tracing writes each look-up "
        "down.",
        confirm="Start without it",
        sources=(_LOADER,),
    ),
    Rule(
        name="heap-allocator",
        sees=env("MALLOC_*"),
        moves=("cpu time", "system calls", "host memory", "page size"),
        phases=("start-up", "host latency", "decode step", "any work"),
        shows=_IN_KERNEL,
        usual=(1.01, 1.4),
        why="How many arenas threads share, when memory goes back to the kernel and whether it is huge: contention and "
        "page faults on the host's path, and a resident size that grows.",
        confirm="Start without it; page faults and system time of the run (usage/main/system) in both",
        sources=("https://www.gnu.org/software/libc/manual/html_node/Memory-Allocation-Tunables.html",),
    ),
    Rule(
        name="python-search-path",
        sees=env("PYTHONPATH PYTHONHOME PYTHONUSERBASE PYTHONNOUSERSITE PYTHONSAFEPATH PYTHONSTARTUP"),
        moves=("code",),
        breaks="often",
        usual=(1.02, 5.5),
        told_by=("module-missing",),
        why="Another copy of a package is imported, under the same version perhaps: a checkout, a user's site, an "
        "overlay.",
        confirm="python -c 'import PACKAGE; print(PACKAGE.__file__)' with both values",
        sources=(_PYTHON,),
    ),
    Rule(
        name="python-debugging",
        sees=env("PYTHONDEVMODE PYTHONTRACEMALLOC PYTHONASYNCIODEBUG PYTHONPROFILEIMPORTTIME"),
        moves=("cpu time", "host memory"),
        phases=("start-up", "host latency", "prefill", "decode step", "verify step", "any work"),
        way="less helps",
        usual=(1.05, 2.0),
        why="Each makes the interpreter check or record more: every allocation, every await, every import.",
        confirm="Start without it",
        sources=(_PYTHON,),
    ),
    Rule(
        name="crash-reports",
        sees=env("RUST_BACKTRACE RUST_LIB_BACKTRACE PYTHONFAULTHANDLER"),
        moves=("cpu time",),
        phases=("any work",),
        usual=(1.0, 1.01),
        unused=True,
        why="Prints where a program was when it broke off; until then it costs nothing.",
        confirm="Start with the other run's value: no number moves",
        sources=(_PYTHON, "https://doc.rust-lang.org/std/backtrace/index.html"),
    ),
    Rule(
        name="python-bytecode",
        sees=env("PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX"),
        moves=("cpu time", "storage"),
        phases=("start-up", "any work"),
        usual=(1.05, 2.0),
        why="Without a cache of compiled modules each start compiles all that it imports.",
        confirm="Start twice and compare the second; find -newer for __pycache__",
        drifted=1,
        sources=(_PYTHON,),
    ),
    Rule(
        name="python-runtime",
        sees=env("PYTHON*"),
        moves=("cpu time", "system calls"),
        phases=("start-up", "host latency", "decode step", "verify step", "any work"),
        usual=(1.0, 1.3),
        why="The interpreter's own switches: what it optimises away, how deep it goes, what it asks and prints.",
        confirm="Start without it",
        sources=(_PYTHON,),
    ),
    Rule(
        name="garbage-collected-runtimes",
        sees=env("GOGC GOMEMLIMIT GODEBUG NODE_OPTIONS JAVA_TOOL_OPTIONS"),
        moves=("cpu time", "host memory"),
        phases=("host latency", "start-up", "any work"),
        breaks="seldom",
        usual=(1.02, 1.5),
        why="Size of the heap and pauses of a router, proxy or client that is written in Go, JavaScript or Java.",
        confirm="Start that program without it and compare time to first token",
        sources=("https://go.dev/doc/gc-guide", "https://nodejs.org/api/cli.html"),
    ),
    Rule(
        name="runtime-threads",
        sees=env("GOMAXPROCS UV_THREADPOOL_SIZE TOKIO_WORKER_THREADS RAYON_*"),
        moves=("cpu time",),
        phases=("host latency", "prefill", "start-up", "any work"),
        shows=(THROTTLED[0], *CONTENDED),
        usual=(1.05, 4.0),
        beside=("process/*/cgroup/cpu_max", "process/*/cgroup/cpuset_cpus"),
        why="Workers of tokenizers, routers and clients: too few queue up, more than the CPUs that are granted push "
        "each other off.",
        confirm="Start with as many as there are CPUs in the cpuset",
        sources=("https://pkg.go.dev/runtime", "https://docs.libuv.org/en/v1.x/threadpool.html"),
    ),
    Rule(
        name="build-jobs",
        sees=env("MAX_JOBS MAKEFLAGS NVCC_THREADS TORCHINDUCTOR_COMPILE_THREADS CMAKE_BUILD_PARALLEL_LEVEL"),
        moves=("cpu time",),
        phases=("start-up", "any work"),
        breaks="seldom",
        usual=(1.1, 4.0),
        why="How many compilers run at once where kernels are built when a server starts, and how much memory they "
        "take.",
        confirm="Start a second time, with the caches warm: then it means nothing",
        drifted=1,
        sources=("https://docs.pytorch.org/docs/stable/cpp_extension.html",),
    ),
    Rule(
        name="usage-statistics",
        sees=env(
            "DO_NOT_TRACK *_DO_NOT_TRACK *_NO_USAGE_STATS VLLM_USAGE_* *_DISABLE_TELEMETRY *_TELEMETRY_* WANDB_DISABLED"
            " SCARF_* POSTHOG_*"
        ),
        moves=("network", "cpu time"),
        phases=("start-up", "host latency"),
        usual=(1.0, 1.02),
        why="Whether a program tells its maker that it ran: a request at the start, on a thread of its own. Where the "
        "address does not answer it may wait.",
        confirm="Set the switch that forbids it, then the same start; strace -f -e connect shows the request",
        drifted=1,
        sources=("https://docs.vllm.ai/en/stable/usage/usage_stats/",),
    ),
    Rule(
        name="compilers",
        sees=env(
            "CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CPATH LIBRARY_PATH CUDAHOSTCXX NVCC_* CMAKE_BUILD_TYPE"
            " TORCH_CUDA_ARCH_LIST CUDA_HOME CUDA_PATH CUDA_ROOT CUDA_INC_DIR CUDA_LIB_DIR CUDACXX"
        ),
        moves=("code", "kernel choice"),
        breaks="seldom",
        usual=(1.05, 4.0),
        why="What is built when a server starts (extensions, JIT kernels) comes out other: optimised or not, for this "
        "GPU or for any.",
        confirm="Remove the built extensions and start with each value; compare their sizes and flags",
        drifted=2,
        sources=("https://docs.pytorch.org/docs/stable/cpp_extension.html",),
    ),
    Rule(
        name="kernel-cache-off",
        sees=env(
            "CUDA_CACHE_DISABLE TORCHINDUCTOR_FORCE_DISABLE_CACHES VLLM_DISABLE_COMPILE_CACHE TRITON_ALWAYS_COMPILE"
        ),
        moves=("kernel choice", "storage"),
        best=("absent", "0"),
        mostly=True,
        phases=("start-up", "any work"),
        usual=(1.05, 5.0),
        why="What was compiled is thrown away: each start compiles and tunes anew, and the draw of the tuning is "
        "another one each time (+-15 %). Where the cache held something wrong or lay on a slow disk, it is better off.",
        confirm="Unset it, and compare the second starts",
        drifted=1,
        sources=("https://github.com/vllm-project/vllm/pull/24605",),
    ),
    Rule(
        name="cache-folders",
        sees=env(
            "HOME TMPDIR XDG_CACHE_HOME TORCHINDUCTOR_CACHE_DIR TRITON_CACHE_DIR TRITON_HOME CUDA_CACHE_*"
            " FLASHINFER_WORKSPACE_BASE FLASHINFER_*CACHE* DG_JIT_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_*CACHE"
            " JAX_COMPILATION_CACHE_DIR NUMBA_CACHE_DIR"
        ),
        moves=("storage", "kernel choice"),
        shows=_WRITTEN,
        told_by=("no-space-left",),
        breaks="seldom",
        usual=(1.05, 5.0),
        why="With an empty cache kernels are compiled and tuned anew: 166 s of one start, JIT within the timed window "
        "(-10 %), and another draw of the tuning (+-15 % from start to start). Where the folder cannot be written, or "
        "is full, the start ends.",
        confirm="Start twice with the same folder and compare the second starts; list the folder's age and size",
        confirmed=2,
        drifted=1,
        sources=(
            "https://github.com/mitchross/talos-argocd-proxmox/pull/1848",
            "https://github.com/vllm-project/vllm/pull/24605",
        ),
    ),
    Rule(
        name="vllm-cache-folder",
        sees=env("VLLM_CACHE_ROOT VLLM_DISABLE_COMPILE_CACHE"),
        moves=("storage", "kernel choice"),
        shows=_WRITTEN,
        told_by=("no-space-left",),
        read_by=("vllm",),
        breaks="seldom",
        usual=(1.05, 5.0),
        why="Where vLLM keeps graphs and kernels that it compiled: in an empty folder, or one that does not outlast "
        "its container, each start compiles them anew.",
        confirm="Start twice with the same folder and compare the second starts",
        sources=("https://github.com/vllm-project/vllm/pull/24605",),
    ),
    Rule(
        name="sglang-cache-folder",
        sees=env("SGLANG_*CACHE_DIR"),
        moves=("storage", "kernel choice"),
        shows=_WRITTEN,
        read_by=("sglang",),
        breaks="seldom",
        usual=(1.05, 5.0),
        why="Where SGLang keeps what it compiled and tuned; kernels of DeepGEMM alone take minutes when it is empty.",
        confirm="Start twice with the same folder and compare the time until the server is ready",
        sources=("https://docs.sglang.io/references/environment_variables.html",),
    ),
    Rule(
        name="hugging-face",
        sees=env("HF_* TRANSFORMERS_*"),
        moves=("storage", "network", "code"),
        phases=("start-up", "prefill", "decode step", "verify step", "any work"),
        breaks="often",
        why="Where weights are found or fetched from, online or not (offline, what is not at hand ends the start), and "
        "which paths of transformers are taken.",
        confirm="HF_HUB_OFFLINE=1 with the weights at hand, then the same start",
        sources=("https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables",),
    ),
    Rule(
        name="locale",
        sees=env("LANG LANGUAGE LC_* TZ"),
        moves=("cpu time",),
        phases=("host latency", "any work"),
        unused=True,
        usual=(1.0, 3.0),
        why="Sorting, matching and dates follow it: text tools are several times slower outside of C and POSIX; "
        "libraries of GPUs do not look.",
        confirm="LC_ALL=C, then the same run",
        drifted=2,
        sources=("https://man7.org/linux/man-pages/man7/locale.7.html",),
    ),
    Rule(
        name="shell-variables",
        sees=env(
            "SHELL USER LOGNAME USERNAME MAIL EDITOR VISUAL PAGER LESS* PS1 PROMPT_COMMAND HIST* MANPATH INFOPATH PWD"
            " OLDPWD SHLVL HOSTNAME TERM TERM_* COLORTERM LS_COLORS COLUMNS LINES NO_COLOR FORCE_COLOR SSH_* DISPLAY"
            " XDG_SESSION_* XDG_RUNTIME_DIR DBUS_* TMUX* STY WINDOWID VSCODE_* MOTD_SHOWN SUDO_*"
        ),
        moves=("code",),
        phases=("host latency", "any work"),
        unused=True,
        why="What a shell is given for the person who types; a program that serves reads none of it.",
        confirm="env -u NAME, then the same run",
        drifted=1,
        sources=("https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap08.html",),
    ),
    Rule(
        name="variable-on-huge-pages",
        sees=env("*HUGEPAGE* *HUGE_PAGE* *_THP_*"),
        moves=("page size", "host memory"),
        breaks="seldom",
        usual=(1.02, 3.0),
        why="By its name it asks for huge pages: buffers that are pinned or registered page by page take 512 times as "
        "many steps with small ones (242 s, or 98). Whether the program has it, its documentation tells.",
        confirm="AnonHugePages of /proc/PID/smaps_rollup in both runs",
        confirmed=1,
        sources=("https://github.com/ROCm/mori/pull/679",),
    ),
    Rule(
        name="variable-on-places",
        sees=env("*NUMA* *AFFINITY* *CPUSET* *_CORES_* *_BIND_*"),
        moves=("page placement", "cpu time"),
        usual=(1.02, 2.0),
        why="By its name it says on which CPUs and memory nodes threads and buffers lie.",
        confirm="taskset -cp PID and numastat -p PID in both runs",
        sources=(_NAMES,),
    ),
    Rule(
        name="variable-on-threads",
        sees=env("*THREADS* *_WORKERS* *_NPROC*"),
        moves=("cpu time",),
        shows=(THROTTLED[0], *CONTENDED),
        usual=(1.05, 4.0),
        why="By its name it says how many threads or processes of a program share the CPUs.",
        confirm="Threads of the program in both runs (ls /proc/PID/task | wc -l)",
        sources=(_NAMES,),
    ),
    Rule(
        name="variable-on-exchange",
        sees=env("*P2P* *NVLINK* *ALLREDUCE* *ALL_REDUCE* *NVLS* *RDMA* *INFINIBAND* *_IB_* *NVSHMEM* *GDRCOPY*"),
        moves=("collective", "network", "nvlink"),
        between=True,
        breaks="seldom",
        usual=(1.05, 4.0),
        why="By its name it says by which way GPUs or nodes exchange data.",
        confirm="The program's log names the way that it took; then the same run without it",
        sources=(_NAMES,),
    ),
    Rule(
        name="variable-on-kernels",
        sees=env(
            "*ATTENTION* *_ATTN_* *FLASH_* *GEMM* *KERNEL* *CUDAGRAPH* *CUDA_GRAPH* *TENSOR_CORE* *_FP8_* *AUTOTUN*"
        ),
        moves=("kernel choice", "launch latency"),
        phases=_STEPS,
        breaks="seldom",
        usual=(1.05, 3.0),
        why="By its name it says which kernels run, how they are tuned, or whether a graph holds them.",
        confirm="A profile of one step names the kernels in both runs",
        sources=(_NAMES,),
    ),
    Rule(
        name="program-search-path",
        sees=("process/*/activation", "process/*/activation/*"),
        moves=("code",),
        phases=("start-up", "prefill", "decode step", "verify step", "transfer", "host latency", "any work"),
        breaks="seldom",
        usual=(1.02, 5.5),
        why="Which interpreter, compiler and helper is found by name, and with a Python environment every package.",
        confirm="command -v python nvcc ptxas gcc with both values",
        drifted=2,
        sources=("https://docs.python.org/3/library/venv.html",),
    ),
    Rule(
        name="any-variable",
        sees=("process/*/env", "process/*/env/*"),
        moves=("code",),
        phases=("start-up", "prefill", "decode step", "verify step", "transfer", "host latency", "any work"),
        why="A program, a launcher or a plugin may read it. A name that the installed version does not read does "
        "nothing.",
        confirm="grep -r NAME in the installed packages and the launch script; start without it",
        sources=("https://github.com/vllm-project/vllm/issues/50292",),
    ),
)
