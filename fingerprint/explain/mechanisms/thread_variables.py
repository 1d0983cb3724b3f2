"""Variables that say how many threads a library starts, where they stand, how they wait and how they compute."""

from fingerprint.explain.mechanisms.cpu_time import CONTENDED, THROTTLED
from fingerprint.explain.mechanisms.graph import Condition, Rule
from fingerprint.explain.mechanisms.variables import env

_GOMP = "https://gcc.gnu.org/onlinedocs/libgomp/Environment-Variables.html"
_OPENMP = "https://www.openmp.org/spec-html/5.2/openmpch21.html"
_TORCH = "https://docs.pytorch.org/docs/stable/threading_environment_variables.html"
_GRANTED = ("process/*/cgroup/cpu_max", "process/*/cgroup/cpuset_cpus", "process/*/affinity", "cpu/smt/active")

_SLEPT = Condition(
    facts="usage/main/voluntary_switches", sign="grew", says="threads slept and had to be woken", least=100
)
_MISPLACED = (
    *CONTENDED,
    Condition(facts="numa/nodes/*/other_node", sign="grew", says="threads got memory of another node", least=1000),
)

RULES: tuple[Rule, ...] = (
    Rule(
        name="omp-threads",
        sees=env(
            "OMP_NUM_THREADS OMP_THREAD_LIMIT OMP_DYNAMIC OMP_MAX_ACTIVE_LEVELS OMP_NESTED MKL_NUM_THREADS"
            " MKL_DOMAIN_NUM_THREADS MKL_DYNAMIC OPENBLAS_NUM_THREADS GOTO_NUM_THREADS BLIS_NUM_THREADS BLIS_*_NT"
            " NUMEXPR_*THREADS VECLIB_MAXIMUM_THREADS NUMBA_NUM_THREADS TORCH_NUM_THREADS"
        ),
        moves=("cpu time",),
        shows=(*THROTTLED, *CONTENDED),
        usual=(1.05, 10.0),
        beside=_GRANTED,
        told_by=("one-thread-each", "threads-reduced"),
        why="Unset, a pool is as large as the node's CPUs, whatever the group is granted: threads that wait for each "
        "other at each step then wait for a CPU as well. One leaves the rest idle. 1.1 to 10x on record.",
        confirm="Set it to the CPUs that the process is granted, divided by the ranks; count threads by ps -L",
        confirmed=4,
        sources=(
            _GOMP,
            _TORCH,
            "https://github.com/vllm-project/vllm/issues/9113",
            "https://github.com/kserve/kserve/issues/1031",
        ),
    ),
    Rule(
        name="omp-waiting",
        sees=env("OMP_WAIT_POLICY GOMP_SPINCOUNT KMP_BLOCKTIME KMP_LIBRARY OPENBLAS_THREAD_TIMEOUT"),
        moves=("wake latency", "cpu time"),
        shows=(*THROTTLED, _SLEPT),
        usual=(1.05, 10.0),
        beside=_GRANTED,
        why="Threads that spin at a barrier go on at once and take CPUs from others, and a quota from themselves; "
        "threads that sleep have to be woken.",
        confirm="OMP_WAIT_POLICY=passive, then the same run; usage/main/voluntary_switches in both",
        sources=(_GOMP, "https://github.com/ollama/ollama/issues/17916"),
    ),
    Rule(
        name="omp-places",
        sees=env(
            "OMP_PROC_BIND OMP_PLACES GOMP_CPU_AFFINITY KMP_AFFINITY KMP_HW_SUBSET KMP_TOPOLOGY_METHOD HWLOC_*"
            " OPENBLAS_MAIN_FREE SLURM_CPU_BIND SLURM_MEM_BIND SLURM_CPUS_PER_TASK"
        ),
        moves=("cpu time", "page placement"),
        shows=_MISPLACED,
        usual=(1.02, 2.0),
        beside=_GRANTED,
        why="Where threads and the pages that they touch first come to lie: two on one core, all on one CPU, or half "
        "of the memory on the other socket.",
        confirm="taskset -acp PID and numastat -p PID in both runs; start without it",
        confirmed=1,
        sources=(
            _OPENMP,
            "https://nvidia.github.io/TensorRT-LLM/deployment-guide/configuring-cpu-affinity.html",
            "https://github.com/NVIDIA/TensorRT-LLM/pull/18117",
        ),
    ),
    Rule(
        name="vllm-places",
        sees=env("VLLM_CPU_OMP_THREADS_BIND VLLM_CPU_NUM_OF_RESERVED_CPU VLLM_*NUMA*"),
        moves=("cpu time", "page placement"),
        shows=_MISPLACED,
        read_by=("vllm",),
        usual=(1.02, 2.0),
        beside=_GRANTED,
        why="Which CPUs and nodes vLLM's workers are bound to; all cores given to OpenMP leave none to the scheduler, "
        "and ranks on two nodes wait for each other.",
        confirm="Start without it; the log of each worker names the CPUs that it took",
        sources=("https://github.com/vllm-project/vllm/issues/25818",),
    ),
    Rule(
        name="sglang-places",
        sees=env("SGLANG_*NUMA* SGLANG_SET_CPU_AFFINITY"),
        moves=("cpu time", "page placement"),
        shows=_MISPLACED,
        read_by=("sglang",),
        usual=(1.02, 2.0),
        beside=_GRANTED,
        why="Whether SGLang binds its schedulers to the CPUs and the memory beside their GPUs: 1.5x on record in vLLM "
        "where weights are offloaded, little where all lies in GPU memory.",
        confirm="Start without it; taskset -acp PID and numastat -p PID of each scheduler",
        sources=("https://github.com/sgl-project/sglang/pull/14156", "https://github.com/vllm-project/vllm/pull/30492"),
    ),
    Rule(
        name="tensorrt-llm-places",
        sees=env("TLLM_NUMA_*"),
        moves=("page placement", "cpu time"),
        shows=_MISPLACED,
        read_by=("tensorrt-llm",),
        usual=(1.02, 2.0),
        beside=_GRANTED,
        why="Whether TensorRT-LLM's workers bind themselves beside their GPU. It happens after their start: threads "
        "and pages that were there before stay where they are, 22 % of the pages once.",
        confirm="numastat -p PID of each worker with it and under numactl --cpunodebind --membind",
        confirmed=1,
        sources=(
            "https://nvidia.github.io/TensorRT-LLM/deployment-guide/configuring-cpu-affinity.html",
            "https://github.com/NVIDIA/TensorRT-LLM/pull/18117",
        ),
    ),
    Rule(
        name="cpu-math-kernels",
        sees=env(
            "MKL_ENABLE_INSTRUCTIONS MKL_DEBUG_CPU_TYPE MKL_CBWR OPENBLAS_CORETYPE BLIS_ARCH_TYPE ONEDNN_* DNNL_*"
            " ARMPL_* ATEN_CPU_CAPABILITY"
        ),
        moves=("cpu time",),
        breaks="seldom",
        usual=(1.05, 4.0),
        why="Which instructions a library of the host uses; reproducible modes and wrong guesses of the part take AVX2 "
        "or SSE where AVX-512 or AMX would do. Verbose modes print each call.",
        confirm="ONEDNN_VERBOSE=1 or MKL_VERBOSE=1 once in each state: the instruction set of the same call",
        drifted=1,
        sources=("https://uxlfoundation.github.io/oneDNN/dev_guide_cpu_dispatcher_control.html",),
    ),
    Rule(
        name="tokenizers-parallelism",
        sees=env("TOKENIZERS_PARALLELISM"),
        moves=("cpu time",),
        phases=("host latency", "prefill", "start-up", "any work"),
        breaks="seldom",
        beside=("process/*/cgroup/cpu_max", "process/*/cgroup/cpuset_cpus"),
        why="Whether the tokenizers library splits a batch of texts among cores. A process that was forked after it "
        "had done so turns it off by itself, with a warning; one text at a time gains nothing.",
        confirm="Time to tokenise a batch of the run's prompts with true and false",
        sources=("https://github.com/huggingface/tokenizers/blob/main/tokenizers/src/utils/parallelism.rs",),
    ),
    Rule(
        name="thread-stacks",
        sees=env("OMP_STACKSIZE GOMP_STACKSIZE KMP_STACKSIZE KMP_MONITOR_STACKSIZE"),
        moves=("host memory",),
        phases=("start-up", "any work"),
        breaks="often",
        why="How much stack each thread of a pool gets: too small, and a loop with large arrays of its own ends the "
        "program; too large, and hundreds of threads cannot be started.",
        confirm="Unset it, then the same run; ulimit -s",
        sources=(_GOMP, _OPENMP),
    ),
    Rule(
        name="two-thread-runtimes",
        sees=env(
            "KMP_DUPLICATE_LIB_OK MKL_THREADING_LAYER MKL_INTERFACE_LAYER MKL_SERVICE_FORCE_INTEL"
            " NUMBA_THREADING_LAYER NUMBA_THREADING_LAYER_PRIORITY"
        ),
        moves=("cpu time",),
        phases=("host latency", "decode step", "start-up", "any work"),
        shows=CONTENDED,
        breaks="often",
        why="Packages bring OpenMP runtimes of their own, GNU's, Intel's and LLVM's, and the second one to start "
        "ends the process unless it is told that this is well. Two that stay have a pool each, for the same cores; "
        "a layer that is sequential has none.",
        confirm="grep -E 'libgomp|libiomp5|libomp' /proc/PID/maps; threads by ps -L",
        sources=(
            "https://github.com/apache/incubator-mxnet/issues/17641",
            "https://www.intel.com/content/www/us/en/docs/onemkl/developer-guide-linux/2026-2/avoiding-conflicts-in-the-execution-environment.html",
        ),
    ),
    Rule(
        name="thread-schedules",
        sees=env(
            "OMP_SCHEDULE OMP_CANCELLATION OMP_TEAMS_THREAD_LIMIT OMP_NUM_TEAMS KMP_FORKJOIN_BARRIER_PATTERN"
            " KMP_*_BARRIER KMP_HOT_TEAMS_* KMP_TASKING KMP_DYNAMIC_MODE OMP_MAX_TASK_PRIORITY"
        ),
        moves=("cpu time", "wake latency"),
        phases=("host latency", "decode step", "any work"),
        why="How a loop's rounds are dealt out to threads, and by which pattern they meet at its end: dealt out one "
        "by one they balance unlike cores, at the cost of a lock each.",
        confirm="Unset it, then the same run",
        sources=(_OPENMP,),
    ),
    Rule(
        name="openmp-messages",
        sees=env(
            "OMP_DISPLAY_ENV OMP_DISPLAY_AFFINITY OMP_AFFINITY_FORMAT OMP_TOOL OMP_TOOL_LIBRARIES OMP_DEBUG"
            " KMP_SETTINGS KMP_VERSION KMP_WARNINGS KMP_INIT_AT_FORK MKL_VERBOSE_OUTPUT_FILE"
        ),
        moves=("cpu time",),
        phases=("start-up", "host latency"),
        unused=True,
        why="What a threading runtime prints when it starts, and which tool it lets in: it takes no part in a step.",
        confirm="Start without it",
        sources=(_OPENMP,),
    ),
    Rule(
        name="thread-runtime",
        sees=env("OMP_* GOMP_* KMP_* MKL_* OPENBLAS_* GOTO_* BLIS_* NVPL_* VECLIB_* NUMEXPR_* TBB_* NUMBA_*"),
        moves=("cpu time", "wake latency"),
        breaks="seldom",
        usual=(1.0, 1.5),
        why="How a threading or mathematics library of the host shares its work out.",
        confirm="Start without it",
        sources=(_GOMP, _OPENMP),
    ),
    Rule(
        name="ranks",
        sees=env(
            "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK ROLE_RANK NODE_RANK NNODES NPROC_PER_NODE PMI_RANK"
            " PMI_SIZE OMPI_COMM_WORLD_* SLURM_PROCID SLURM_LOCALID SLURM_NODEID SLURM_NTASKS SLURM_NNODES"
            " VLLM_DP_RANK VLLM_DP_RANK_LOCAL VLLM_DP_SIZE VLLM_RAY_DP_PACK_STRATEGY SGLANG_DP_RANK"
        ),
        moves=("workload", "collective"),
        phases=("prefill", "decode step", "verify step", "start-up", "transfer", "any work"),
        breaks="often",
        usual=(1.1, 8.0),
        told_by=("all-reduce-ranks",),
        why="How many ranks share the work and which part is this one's: more of them do less each and exchange more.",
        confirm="The same number of ranks, on the same GPUs and nodes",
        sources=("https://docs.pytorch.org/docs/stable/elastic/run.html",),
    ),
)
