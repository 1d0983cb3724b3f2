"""Variables that say how many threads a library starts, where they stand, how they wait and how they compute."""

from fingerprint.explain.mechanisms.graph import Condition, Rule
from fingerprint.explain.mechanisms.variables import env

_GOMP = "https://gcc.gnu.org/onlinedocs/libgomp/Environment-Variables.html"
_OPENMP = "https://www.openmp.org/spec-html/5.2/openmpch21.html"
_TORCH = "https://docs.pytorch.org/docs/stable/threading_environment_variables.html"
_GRANTED = ("process/*/cgroup/cpu_max", "process/*/cgroup/cpuset_cpus", "process/*/affinity", "cpu/smt/active")

_THROTTLED = (
    Condition(facts="usage/main/cgroup/nr_throttled", sign="grew", says="periods ended with threads stopped"),
    Condition(facts="usage/main/cgroup/throttled_usec", sign="grew", says="the quota held CPUs back"),
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
        shows=_THROTTLED,
        beside=_GRANTED,
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
        shows=_THROTTLED,
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
            " OPENBLAS_MAIN_FREE VLLM_CPU_OMP_THREADS_BIND SLURM_CPU_BIND SLURM_MEM_BIND SLURM_CPUS_PER_TASK"
            " SGLANG_*NUMA* SGLANG_SET_CPU_AFFINITY VLLM_*NUMA* TLLM_NUMA_*"
        ),
        moves=("cpu time", "page placement"),
        beside=_GRANTED,
        why="Where threads and the pages that they touch first come to lie: two on one core, all on one CPU, or half "
        "of the memory on the other socket. Binding after the start left 22 % of the pages remote.",
        confirm="taskset -acp PID and numastat -p PID in both runs; start without it",
        confirmed=2,
        sources=(
            _OPENMP,
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
        why="Which instructions a library of the host uses; reproducible modes and wrong guesses of the part take AVX2 "
        "or SSE where AVX-512 or AMX would do. Verbose modes print each call.",
        confirm="ONEDNN_VERBOSE=1 or MKL_VERBOSE=1 once in each state: the instruction set of the same call",
        sources=("https://uxlfoundation.github.io/oneDNN/dev_guide_cpu_dispatcher_control.html",),
    ),
    Rule(
        name="thread-runtime",
        sees=env("OMP_* GOMP_* KMP_* MKL_* OPENBLAS_* GOTO_* BLIS_* NVPL_* VECLIB_* NUMEXPR_* TBB_* NUMBA_*"),
        moves=("cpu time", "wake latency"),
        why="How a threading or mathematics library of the host shares its work out: schedule, stack size, teams.",
        confirm="Start without it",
        sources=(_GOMP, _OPENMP),
    ),
    Rule(
        name="ranks",
        sees=env(
            "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK ROLE_RANK NODE_RANK NNODES NPROC_PER_NODE PMI_RANK"
            " PMI_SIZE OMPI_COMM_WORLD_* SLURM_PROCID SLURM_LOCALID SLURM_NODEID SLURM_NTASKS SLURM_NNODES"
        ),
        moves=("workload", "collective"),
        phases=("prefill", "decode step", "verify step", "start-up", "transfer", "any work"),
        why="How many ranks share the work and which part is this one's: more of them do less each and exchange more.",
        confirm="The same number of ranks, on the same GPUs and nodes",
        sources=("https://docs.pytorch.org/docs/stable/elastic/run.html",),
    ),
)
