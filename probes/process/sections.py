"""What is told about one process: its program, what it was started with, and what the kernel grants it."""

from typing import Literal, Union

from probes.kit.facts import Map, Redacted, Section, Seen, config, telemetry

Text = Union[str, Redacted]
Bound = Union[int, Literal["max"]]
Limit = Union[int, Literal["unlimited"]]

_STATUS = "/proc/PID/status"

# What a process is started with comes from the code, arguments, variables and folder of those that start it.
_STARTERS = (
    "process/**/program/*",
    "process/**/flags/*",
    "process/**/operands",
    "process/**/env/*",
    "process/**/cwd",
    "process/**/git/commit",
    "process/**/git/dirty",
)
_SEARCHED_BY = (*_STARTERS, "process/**/activation/*")


class Program(Section):
    """The file whose code was to run: the script where an interpreter runs one, else the executable."""

    path: Seen[str] = config(
        "Which file runs; another release or build mostly comes under another path",
        "/proc/PID/exe; /proc/PID/cmdline",
        follows=_SEARCHED_BY,
    )
    sha256: Seen[str] = config(
        "A file rebuilt or edited in place keeps path and arguments while its code is another",
        "/proc/PID/exe; or the script's file",
        follows=(
            "process/*/program/path",
            "process/*/git/commit",
            "process/**/git/commit",
            "process/**/git/dirty",
        ),
    )


class Interpreter(Section):
    """The executable that runs the script; all absent where the program is the executable itself."""

    environment: Seen[str] = config(
        "A Python environment fixes every library that the program imports",
        "argv[0], pyvenv.cfg",
        follows=_SEARCHED_BY,
    )
    path: Seen[str] = config(
        "Another interpreter runs the same script with other machine code, allocator and standard library",
        "/proc/PID/exe",
        follows=("process/*/interpreter/environment", *_SEARCHED_BY),
    )
    sha256: Seen[str] = config(
        "A package upgrade or rebuild replaces the interpreter in place",
        "the file that /proc/PID/exe leads to",
        follows=("process/*/interpreter/environment", "process/*/interpreter/path"),
    )
    version: Seen[str] = config(
        "Interpreter releases differ by tens of percent in the host-side part of a step",
        "pyvenv.cfg, else the file name",
        follows=(
            "process/*/interpreter/environment",
            "process/*/interpreter/path",
            "process/*/interpreter/sha256",
        ),
    )
    options: Seen[tuple[Text, ...]] = config(
        "Switches before the script change the interpreter itself, e.g. -O, -X importtime, -E",
        "/proc/PID/cmdline",
        private=True,
        follows=_STARTERS,
    )


class Git(Section):
    """The git tree that holds the program, else the working directory."""

    root: Seen[str] = config(
        "Two checkouts of one project are two states of its code",
        "the nearest .git above",
        follows=("process/*/program/path", "process/*/cwd"),
    )
    commit: Seen[str] = config(
        "The commit is what a team bisects first when a number moves",
        ".git/HEAD and the reference that it names",
        restore="git checkout {value}",
        follows=("process/*/git/root",),
    )
    branch: Seen[str] = config(
        "Says where a commit came from; the commit alone decides what runs", ".git/HEAD", context=True
    )
    dirty: Seen[str] = config(
        "Uncommitted edits of tracked files run as well and no commit id tells them",
        "git diff-index HEAD; `clean`, or a digest of mode, blob and path of what differs",
        follows=("process/*/program/sha256", "process/*/git/commit", "process/*/git/root"),
    )


class Cgroup(Section):
    """What the process's control groups allow: over its own and all ancestors that are visible."""

    path: Seen[Map[Seen[str]]] = config(
        "Names the slice, container or job that the limits belong to; numbers of sessions and ids are written N and ID",
        "/proc/PID/cgroup",
        context=True,
    )
    cpu_max: Seen[str] = config(
        "A CFS quota stalls every thread until the period ends: 12 tok/s fell to 0.3 with the GPU idle",
        "cpu.max, cpu.cfs_quota_us",
        "us per us",
        restore="echo {value} > /sys/fs/cgroup/CGROUP/cpu.max # v1: cpu/CGROUP/cpu.cfs_quota_us, cpu.cfs_period_us",
    )
    cpu_weight: Seen[tuple[int, ...]] = config(
        "Against busy neighbours a group gets CPU time by its weight; those other than the default, outermost first",
        "cpu.weight (default 100), cpu.shares (default 1024)",
        restore="echo WEIGHT > /sys/fs/cgroup/CGROUP/cpu.weight # v1: cpu/CGROUP/cpu.shares",
    )
    cpuset_cpus: Seen[str] = config(
        "A job that sees 2 of 256 CPUs runs its tokenizer and schedulers on two",
        "cpuset.cpus.effective, cpuset.effective_cpus",
        follows=("cpu/online",),
    )
    cpuset_mems: Seen[str] = config(
        "A cpuset that leaves out a node makes every allocation of that node's threads remote",
        "cpuset.mems.effective, cpuset.effective_mems",
    )
    memory_max: Seen[Bound] = config(
        "At this size the group reclaims its own page cache, then is killed",
        "memory.max, memory.limit_in_bytes",
        "B",
        restore="echo {value} > /sys/fs/cgroup/CGROUP/memory.max # v1: memory/CGROUP/memory.limit_in_bytes",
    )
    memory_high: Seen[Bound] = config(
        "Above it allocations are throttled without any failure that a log would show",
        "memory.high",
        "B",
        restore="echo {value} > /sys/fs/cgroup/CGROUP/memory.high",
    )
    memory_swap_max: Seen[Bound] = config(
        "Whether anonymous pages of the group may go to swap",
        "memory.swap.max, memory.memsw.limit_in_bytes - memory.limit_in_bytes",
        "B",
        restore="echo {value} > /sys/fs/cgroup/CGROUP/memory.swap.max # v1: memory/CGROUP/memory.memsw.limit_in_bytes",
    )
    pids_max: Seen[Bound] = config(
        "Thread pools that hit it start with fewer threads or fail to start",
        "pids.max",
        "tasks",
        restore="echo {value} > /sys/fs/cgroup/CGROUP/pids.max # v1: pids/CGROUP/pids.max",
    )


class Process(Section):
    """One process. Facts of its tree as a whole, sampled, are area `usage`."""

    program: Program = Program()
    interpreter: Interpreter = Interpreter()
    argv0: Seen[Text] = config(
        "The name that the program was called by; multi-call programs decide by it",
        "/proc/PID/cmdline",
        context=True,
        private=True,
    )
    flags: Seen[Map[Seen[tuple[Text, ...]]]] = config(
        "Flags of a server decide batching, graphs, parallelism and speculation; the values of each, none of a switch",
        "/proc/PID/cmdline; the file of settings that it names",
        private=True,
        follows=_STARTERS,
        complete_by="configured",
    )
    configured: Seen[tuple[str, ...]] = config(
        "Which of the flags no command line shows, since they stand in a file",
        "the file that --config or --extra_llm_api_options of SGLang, vLLM and TensorRT-LLM names",
        context=True,
    )
    operands: Seen[tuple[Text, ...]] = config(
        "What a program is told to work on, and belongs to no flag: a model, a file, a verb",
        "/proc/PID/cmdline",
        private=True,
        follows=_STARTERS,
    )
    cwd: Seen[str] = config(
        "Relative paths of configurations, caches and imports resolve here",
        "/proc/PID/cwd",
        follows=("process/*/program/path", *_STARTERS),
    )
    git: Git = Git()
    env: Seen[Map[Seen[Text]]] = config(
        "Variables steer libraries and engines, and what the child has is not what the shell shows",
        "/proc/PID/environ; of who wrote a title over it the memory that it moved them to",
        private=True,
        follows=_STARTERS,
        complete_by="activation",
    )
    activation: Seen[Map[Seen[Text]]] = config(
        "PATH and what activating an environment sets beside it decide which compilers and helpers are found",
        "/proc/PID/environ",
        private=True,
        follows=("process/*/interpreter/environment", "process/*/interpreter/path", "process/*/program/path"),
    )
    session: Seen[Map[Seen[Text]]] = telemetry(
        "Identifies the terminal, login or job; differs in every run and moves nothing",
        "/proc/PID/environ",
        private=True,
    )
    affinity: Seen[str] = config(
        "Threads pinned to few or remote CPUs wait for each other and for the other node's memory",
        f"{_STATUS} Cpus_allowed_list",
        follows=("process/*/cgroup/cpuset_cpus", "cpu/online", *_STARTERS),
        restore="taskset -c {value} COMMAND",
    )
    mems_allowed: Seen[str] = config(
        "Memory comes from these nodes only, whatever the policy says",
        f"{_STATUS} Mems_allowed_list",
        follows=("process/*/cgroup/cpuset_mems",),
    )
    nice: Seen[int] = config(
        "Each step of nice changes the share of a contended CPU by about a quarter",
        "/proc/PID/stat field 19",
        follows=_STARTERS,
        restore="renice -n {value} -p PID",
    )
    policy: Seen[str] = config(
        "Real-time and idle policies put a thread before or behind all normal ones",
        "/proc/PID/stat field 41",
        follows=_STARTERS,
        restore="chrt --{value} PRIORITY COMMAND",
    )
    rt_priority: Seen[int] = config(
        "Orders real-time threads among each other",
        "/proc/PID/stat field 40",
        follows=("process/*/policy",),
    )
    autogroup_nice: Seen[int] = config(
        "With autogrouping the session's nice weighs against other sessions and the process's own only inside it",
        "/proc/PID/autogroup",
        restore="echo {value} > /proc/PID/autogroup",
    )
    io_priority: Seen[str] = config(
        "An idle-class reader of weights gets the disk only when nobody else wants it",
        "ioprio_get(2)",
        follows=("process/*/nice", "process/*/policy"),
    )
    timer_slack: Seen[int] = config(
        "Sleeps and polls wake up to this much late",
        "/proc/PID/timerslack_ns",
        "ns",
        follows=("process/*/policy",),
        restore="echo {value} > /proc/PID/timerslack_ns",
    )
    oom_score_adj: Seen[int] = config(
        "Who dies first when memory runs out, not how fast anybody runs",
        "/proc/PID/oom_score_adj",
        context=True,
        restore="echo {value} > /proc/PID/oom_score_adj",
    )
    thp_enabled: Seen[bool] = config(
        "prctl(PR_SET_THP_DISABLE) is inherited over exec and overrides the host's huge page mode",
        f"{_STATUS} THP_enabled",
    )
    no_new_privs: Seen[bool] = config(
        "Sandboxed starts set it; explains capabilities that are missing", f"{_STATUS} NoNewPrivs", context=True
    )
    seccomp: Seen[str] = config(
        "A filter runs at every system call", f"{_STATUS} Seccomp, Seccomp_filters", follows=("process/*/no_new_privs",)
    )
    speculation_store_bypass: Seen[str] = config(
        "Disabled for one process by prctl or, before Linux 5.16, by any seccomp filter, it slows loads behind stores",
        f"{_STATUS} Speculation_Store_Bypass",
        follows=("process/*/seccomp", "cpu/mitigations/*"),
    )
    speculation_indirect_branch: Seen[str] = config(
        "A task that disabled it pays a barrier at each switch and loses its sibling thread's predictor",
        f"{_STATUS} SpeculationIndirectBranch",
        follows=("process/*/seccomp", "cpu/mitigations/*"),
    )
    personality: Seen[str] = config(
        "setarch -R switches off address randomisation, which moves cache and TLB conflicts from run to run",
        "/proc/PID/personality",
    )
    limits: Seen[Map[Seen[tuple[Limit, Limit]]]] = config(
        "Too few open files or too little lockable memory makes servers and RDMA fall back or fail; (soft, hard), "
        "in B, s, us or as a number (setrlimit(2))",
        "/proc/PID/limits, named as prlimit(1) does",
        follows=_STARTERS,
        restore="prlimit --{key}={value:} COMMAND",
    )
    cgroup: Cgroup = Cgroup()
    uid: Seen[int] = config("Whose limits, permissions and caches apply", f"{_STATUS} Uid", context=True)
    gid: Seen[int] = config("Which shared folders and devices open", f"{_STATUS} Gid", context=True)
    threads: Seen[int] = telemetry("Pools sized by a wrong CPU count show here", f"{_STATUS} Threads", "threads")
    started: Seen[int] = telemetry(
        "Tells one start of a server from the next", "/proc/PID/stat field 22", "1/100 s since boot"
    )
    written_since: Seen[tuple[str, ...]] = telemetry(
        "The process has what was there before: what was changed beneath it is in force once it is started again",
        "mtime of the program's file against field 22 of /proc/PID/task/TID/stat and a minute",
    )
