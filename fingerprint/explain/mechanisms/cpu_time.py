"""When a thread gets a CPU, which one, for how long, and how soon it is woken."""

from fingerprint.explain.mechanisms.graph import Condition, Rule

_CGROUP = "https://docs.kernel.org/admin-guide/cgroup-v2.html"
_IDLE = "https://docs.kernel.org/admin-guide/pm/cpuidle.html"
_PARAMETERS = "https://docs.kernel.org/admin-guide/kernel-parameters.html"
_THREADS = ("process/*/env/OMP_NUM_THREADS", "process/*/cgroup/cpu_max", "process/*/cgroup/cpuset_cpus")

THROTTLED = (
    Condition(facts="usage/main/cgroup/nr_throttled", sign="grew", says="periods ended with threads stopped"),
    Condition(facts="usage/main/cgroup/throttled_usec", sign="grew", says="the quota held CPUs back"),
)
CONTENDED = (
    Condition(
        facts="usage/main/run_delay", sign="grew", says="threads of the run were ready and had no CPU", least=1e8
    ),
    Condition(
        facts="usage/main/involuntary_switches", sign="grew", says="threads of the run were pushed off a CPU", least=100
    ),
)
_PRESSED = (
    *CONTENDED,
    Condition(facts="pressure/cpu/some/total", sign="grew", says="threads of this host waited for a CPU", least=1e5),
)
_FAR_PAGES = Condition(
    facts="numa/nodes/*/other_node", sign="grew", says="threads got memory of another node", least=1000
)
_SLEPT = (Condition(facts="cpu/idle/states/*/usage", sign="worked", says="CPUs slept in this state", least=100),)
_IN_KERNEL = (
    Condition(facts="usage/main/system", sign="grew", says="the run spent more time in the kernel", least=20),
)

RULES: tuple[Rule, ...] = (
    Rule(
        name="cfs-quota",
        sees=("process/*/cgroup/cpu_max",),
        moves=("cpu time",),
        way="more helps",
        binds=THROTTLED,
        usual=(2.0, 45.0),
        beside=("process/*/env/OMP_NUM_THREADS", "process/*/flags/--threads"),
        why="When the group has used its quota, all of its threads stop until the period ends, and threads that spin "
        "at a barrier use it up for nothing: inter-token latency went from 8 to 80 ms, 12 tok/s to 0.3, with the GPU "
        "idle.",
        confirm="cpu.stat of the cgroup before and after the run; raise cpu.max or give no more threads than CPUs",
        confirmed=2,
        sources=(
            "https://docs.kernel.org/scheduler/sched-bwc.html",
            "https://github.com/vllm-project/vllm/pull/49461",
            "https://github.com/ollama/ollama/issues/17916",
        ),
    ),
    Rule(
        name="cfs-throttling",
        sees=("usage/*/cgroup/nr_throttled", "usage/*/cgroup/throttled_usec"),
        moves=("cpu time",),
        way="less helps",
        usual=(1.1, 45.0),
        beside=(*_THREADS, "process/*/flags/--threads"),
        why="The quota stopped the run's threads more than in the other run: a smaller quota, more threads under the "
        "same one, or a neighbour in the same group.",
        confirm="Start with as many threads as the quota has CPUs; cpu.stat must stand still",
        confirmed=2,
        sources=("https://docs.kernel.org/scheduler/sched-bwc.html", "https://github.com/kserve/kserve/issues/1031"),
    ),
    Rule(
        name="cpu-set",
        sees=("process/*/affinity", "process/*/cgroup/cpuset_cpus"),
        moves=("cpu time", "page placement"),
        shows=(*CONTENDED, _FAR_PAGES),
        loud=True,
        usual=(1.1, 5.0),
        beside=("cpu/smt/active", "numa/nodes/*/cpus", "process/*/env/OMP_NUM_THREADS"),
        why="Threads wait for each other on too few CPUs, share cores where the set holds both siblings of half of "
        "them (2x), or work far from their memory and their GPU; pinning gains as often as it costs.",
        confirm="taskset -acp PID with the other run's list, or start without pinning",
        confirmed=4,
        sources=(
            "https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html",
            "https://github.com/b4rtaz/distributed-llama/issues/141",
            "https://github.com/NVIDIA/srt-slurm/issues/254",
            "https://github.com/alex-petrenko/sample-factory/issues/182",
        ),
    ),
    Rule(
        name="cgroup-cpu-weight",
        sees=("process/*/cgroup/cpu_weight",),
        moves=("cpu time",),
        way="more helps",
        binds=_PRESSED,
        usual=(1.05, 5.0),
        why="Against busy neighbours a group gets CPU time by its weight, at each level; where CPUs are free it means "
        "nothing.",
        confirm="The same run while the neighbours rest",
        sources=(_CGROUP,),
    ),
    Rule(
        name="nice",
        sees=("process/*/nice", "process/*/autogroup_nice"),
        moves=("cpu time",),
        way="less helps",
        binds=_PRESSED,
        usual=(1.05, 5.0),
        why="Each step changes the share of a contended CPU by about a quarter; where CPUs are free it means nothing.",
        confirm="renice to the other run's value, then the same run beside the same neighbours",
        drifted=1,
        sources=("https://docs.kernel.org/scheduler/sched-nice-design.html",),
    ),
    Rule(
        name="scheduling-policy",
        sees=("process/*/policy", "process/*/rt_priority"),
        moves=("cpu time", "wake latency"),
        shows=CONTENDED,
        loud=True,
        usual=(1.02, 2.0),
        why="A real-time thread runs before all normal ones and is woken at once; an idle or batch one waits. Spinning "
        "real-time threads starve the driver's own.",
        confirm="chrt --other 0 for the start, then the same run",
        drifted=1,
        sources=("https://man7.org/linux/man-pages/man7/sched.7.html",),
    ),
    Rule(
        name="timer-slack",
        sees=("process/*/timer_slack",),
        moves=("wake latency",),
        way="less helps",
        usual=(1.0, 1.05),
        why="A thread that sleeps or polls with a time-out is woken up to this much late, so that wake-ups fall "
        "together.",
        confirm="echo 50000 > /proc/PID/timerslack_ns, then the same run",
        sources=("https://man7.org/linux/man-pages/man2/PR_SET_TIMERSLACK.2const.html",),
    ),
    Rule(
        name="tasks-limit",
        sees=("process/*/cgroup/pids_max", "process/*/limits/nproc"),
        moves=("availability", "cpu time"),
        way="more helps",
        binds=(Condition(facts="usage/main/threads", sign="reached", says="the run has as many threads as it may"),),
        breaks="often",
        told_by=("threads-refused",),
        why="A pool that may start no more threads works with fewer, or the process ends.",
        confirm="pids.events of the cgroup: `max` counts the starts that were refused; `ps -L -u USER | wc -l` against "
        "the limit of the user",
        sources=(_CGROUP, "https://man7.org/linux/man-pages/man2/getrlimit.2.html"),
    ),
    Rule(
        name="smt",
        sees=("cpu/smt/control", "cpu/smt/active"),
        moves=("cpu time",),
        shows=CONTENDED,
        usual=(1.05, 3.6),
        beside=("process/*/affinity", "process/*/env/OMP_NUM_THREADS"),
        why="With it there are twice as many CPUs and each has half a core while its sibling works. Both signs are on "
        "record, 2 to 3.6x: pools sized by the number of CPUs put two workers on each core.",
        confirm="Threads = cores, one per core (OMP_PLACES=cores), with SMT on: if that is as fast, it was the "
        "siblings",
        confirmed=1,
        sources=(
            "https://github.com/ggml-org/llama.cpp/pull/20020",
            "https://github.com/b4rtaz/distributed-llama/issues/141",
        ),
    ),
    Rule(
        name="cpus-at-work",
        sees=("cpu/online", "cpu/present", "cpu/cores", "cpu/packages"),
        moves=("cpu time",),
        shows=CONTENDED,
        usual=(1.05, 4.0),
        beside=("process/*/env/OMP_NUM_THREADS",),
        why="Thread pools size themselves by the number of CPUs, and work bound by the host scales with the cores "
        "there are.",
        confirm="chcpu -e as in the other run, or taskset to as many CPUs as the other run had",
        sources=("https://docs.kernel.org/core-api/cpu_hotplug.html",),
    ),
    Rule(
        name="packages-topology",
        sees=("cpu/packages/*/cpus",),
        moves=("cpu time", "page placement"),
        usual=(1.02, 1.5),
        beside=("process/*/affinity",),
        why="Threads of one process that come to lie on two packages pay the link between them at each shared line.",
        confirm="numactl --cpunodebind to one package, then the same run",
        sources=("https://docs.kernel.org/admin-guide/cputopology.html",),
    ),
    Rule(
        name="core-types",
        sees=("cpu/types/*/cpus",),
        moves=("cpu clock", "cpu time"),
        usual=(1.2, 2.5),
        beside=("process/*/affinity",),
        why="A thread on an efficiency core takes about twice as long, and every barrier waits for the slowest.",
        confirm="taskset to the performance cores, then the same run",
        sources=("https://docs.kernel.org/scheduler/sched-capacity.html",),
    ),
    Rule(
        name="isolated-cpus",
        sees=("cpu/isolated",),
        moves=("cpu time",),
        shows=CONTENDED,
        usual=(1.1, 10.0),
        beside=("process/*/affinity",),
        why="The scheduler balances nothing onto or off these CPUs: threads that are not pinned never use them, and "
        "threads pinned to several of them stay together on the first.",
        confirm="taskset the process to CPUs that are not isolated, then the same run",
        sources=(_PARAMETERS,),
    ),
    Rule(
        name="tick-free-cpus",
        sees=("cpu/nohz_full",),
        moves=("cpu time", "system calls"),
        usual=(1.0, 1.1),
        beside=("process/*/affinity",),
        why="One busy thread on such a CPU is not interrupted by the tick, but each of its system calls costs more.",
        confirm="taskset the process to other CPUs, then the same run",
        sources=("https://docs.kernel.org/timers/no_hz.html",),
    ),
    Rule(
        name="idle-state-latency",
        sees=("cpu/idle/states/*/latency", "cpu/idle/states/*/residency"),
        moves=("wake latency",),
        binds=(Condition(facts="cpu/idle/states/*/usage", sign="grew", says="CPUs slept in this state", least=100),),
        usual=(1.05, 8.0),
        beside=("cpu/idle/states/*/disabled_on", "cpu/idle/resume_latency_limits", "cpu/idle/resume_latency_limits/*"),
        why="Each wait ends with a CPU that has to come out of sleep: 150 to 230 us from C6 made the start of a server "
        "4 to 8 times slower, and no profiler of the CPU shows it.",
        confirm="cpupower idle-set -D 10 (or hold /dev/cpu_dma_latency at 0), then the same run",
        confirmed=1,
        sources=(_IDLE, "https://github.com/google/gvisor/pull/14526"),
    ),
    Rule(
        name="idle-states-off",
        sees=("cpu/idle/states/*/disabled_on", "cpu/idle/resume_latency_limits", "cpu/idle/resume_latency_limits/*"),
        moves=("wake latency", "cpu clock"),
        shows=_SLEPT,
        usual=(1.05, 8.0),
        why="Without deep states CPUs wake in a microsecond; the power that they no longer save is taken from the "
        "turbo of those at work.",
        confirm="cpupower idle-set -E, or -D with the other run's latency, then the same run",
        confirmed=1,
        sources=(_IDLE, "https://github.com/google/gvisor/pull/14526"),
    ),
    Rule(
        name="idle-driver",
        sees=("cpu/idle/driver", "cpu/idle/governor", "cpu/idle/states"),
        moves=("wake latency",),
        usual=(1.02, 4.0),
        beside=("cpu/idle/states/*/latency",),
        why="intel_idle and acpi_idle offer other states of the same part, and governors guess differently how long a "
        "wait will last; haltpoll spins before it halts in a guest.",
        confirm="Write the other governor to cpuidle/current_governor, then the same run",
        sources=(_IDLE,),
    ),
    Rule(
        name="cpu-mitigations",
        sees=("cpu/mitigations", "cpu/mitigations/*"),
        moves=("system calls", "wake latency"),
        usual=(1.0, 1.3),
        beside=("process/*/seccomp",),
        why="Each is paid at entries into the kernel, context switches or indirect branches of the host; a careful "
        "test of training on GPUs found 0 %.",
        confirm="perf bench syscall basic in both states; boot once with mitigations=off",
        drifted=7,
        sources=(
            "https://docs.kernel.org/admin-guide/hw-vuln/index.html",
            "https://www.pugetsystems.com/labs/hpc/intel-cpu-flaw-kernel-patch-effects-gpu-compute-tensorflow-caffe-and-lmdb-database-creation-1093/",
            "https://www.phoronix.com/review/3-years-specmelt/9",
        ),
    ),
    Rule(
        name="task-mitigations",
        sees=("process/*/speculation_store_bypass", "process/*/speculation_indirect_branch"),
        moves=("cpu time", "system calls"),
        usual=(1.05, 2.0),
        beside=("process/*/seccomp", "cpu/mitigations/*"),
        why="A task for which speculation is disabled runs loads behind stores, or branches beside its sibling, more "
        "slowly; before Linux 5.16 any seccomp filter did that.",
        confirm="Start without the filter, or with spec_store_bypass_disable=prctl",
        sources=("https://docs.kernel.org/userspace-api/spec_ctrl.html",),
    ),
    Rule(
        name="seccomp-filter",
        sees=("process/*/seccomp",),
        moves=("system calls",),
        best=("off",),
        shows=_IN_KERNEL,
        breaks="seldom",
        usual=(1.05, 2.0),
        beside=("cpu/mitigations/*", "kernel/release"),
        told_by=(
            "nccl-without-host-allocations",
            "memory-policy-denied",
        ),
        why="A filter runs at every system call and may switch mitigations on for the task: interpreted code in a "
        "container took 2x under the default profile of 2021. A profile older than the container's libc refuses calls "
        "that this one makes (clone3, from glibc 2.34 on): no thread can be started.",
        confirm="docker run --security-opt seccomp=unconfined, then the same run",
        confirmed=1,
        sources=(
            "https://docs.kernel.org/userspace-api/seccomp_filter.html",
            "https://github.com/davepl/Primes/pull/3",
            "https://github.com/moby/moby/issues/42680",
        ),
    ),
)
