"""Who runs when, and on which core: the scheduler's own settings."""

from fingerprint.explain.mechanisms.graph import Condition, Rule

SYSCTL = "https://docs.kernel.org/admin-guide/sysctl/kernel.html"
EEVDF = "https://docs.kernel.org/scheduler/sched-eevdf.html"
CFS = "https://docs.kernel.org/scheduler/sched-design-CFS.html"

CONTENDED = (
    Condition(facts="pressure/cpu/some/total", sign="grew", says="threads were ready and had no core", least=1e5),
    Condition(facts="usage/*/run_delay", sign="grew", says="the run's threads were ready and had no core", least=1e8),
    Condition(
        facts="usage/*/involuntary_switches",
        sign="grew",
        says="the run's threads were pushed off their core",
        least=100,
    ),
)

RULES = (
    Rule(
        name="kernel-preemption",
        sees=("kernel/preemption", "kernel/sched/preempt"),
        moves=("wake latency", "cpu time"),
        shows=CONTENDED[2:],
        usual=(1.0, 1.2),
        why="A kernel that may be preempted lets a woken thread run before the system call of another has ended; one "
        "that may not wastes fewer switches, and long calls hold up whoever waits for that core.",
        confirm="On a kernel with PREEMPT_DYNAMIC: `echo none > /sys/kernel/debug/sched/preempt`, measure, then "
        "`full`.",
        sources=("https://docs.kernel.org/admin-guide/kernel-parameters.html",),
    ),
    Rule(
        name="scheduler-slices",
        sees=(
            "kernel/sched/base_slice_ns",
            "kernel/sched/latency_ns",
            "kernel/sched/min_granularity_ns",
            "kernel/sched/wakeup_granularity_ns",
        ),
        moves=("cpu time", "wake latency"),
        binds=CONTENDED,
        usual=(1.0, 1.2),
        why="Short turns let a woken thread on sooner and cost more switches and cold caches; long ones do the "
        "opposite. It is of no account where every thread has a core to itself.",
        confirm="Write the other value to the file in /sys/kernel/debug/sched and compare run_delay and the metric.",
        sources=(EEVDF, CFS),
    ),
    Rule(
        name="thread-migration",
        sees=("kernel/sched/migration_cost_ns", "kernel/sched/nr_migrate"),
        moves=("cpu time", "wake latency"),
        binds=CONTENDED,
        usual=(1.0, 1.2),
        why="How readily waiting threads are moved to other cores: moved early they run sooner on cold caches, and "
        "large moves hold interrupts off meanwhile.",
        confirm="`perf stat -e migrations -p PID -- sleep 10` with either value; pinning the threads rules it out.",
        sources=("https://docs.kernel.org/scheduler/sched-domains.html", CFS),
    ),
    Rule(
        name="scheduler-features",
        sees=("kernel/sched/features",),
        moves=("cpu time", "wake latency"),
        shows=CONTENDED[1:],
        usual=(1.0, 1.3),
        why="Switches for whom a wake-up displaces, whether it stays near its caches, and how the load is balanced; "
        "they are meant for kernel developers, so that somebody or a tuning profile set what differs.",
        confirm="Write the other spelling, with or without NO_, to /sys/kernel/debug/sched/features and measure.",
        sources=("https://github.com/torvalds/linux/blob/master/kernel/sched/features.h",),
    ),
    Rule(
        name="session-groups",
        sees=("kernel/sysctl/kernel/sched_autogroup_enabled",),
        moves=("cpu time",),
        binds=CONTENDED,
        usual=(1.05, 4.0),
        beside=("process/*/nice", "process/*/autogroup_nice"),
        why="With groups a contended CPU is divided between sessions, and nice counts only inside one: a server of 100 "
        "threads gets no more than one busy shell.",
        confirm="`sysctl -w kernel.sched_autogroup_enabled=0` (or 1) while the neighbour is at work.",
        sources=("https://man7.org/linux/man-pages/man7/sched.7.html",),
    ),
    Rule(
        name="quota-slice",
        sees=("kernel/sysctl/kernel/sched_cfs_bandwidth_slice_us",),
        moves=("cpu time", "wake latency"),
        binds=(
            Condition(facts="usage/*/cgroup/nr_throttled", sign="grew", says="a quota ran out"),
            Condition(facts="usage/*/cgroup/throttled_usec", sign="grew", says="a quota held threads back"),
        ),
        usual=(1.05, 3.0),
        beside=("process/*/cgroup/cpu_max",),
        why="A quota is handed to each CPU in slices: large ones lie unused on CPUs that went idle, and a group of "
        "many threads is throttled before it has used what it was given; small ones are fetched more often.",
        confirm="`sysctl -w kernel.sched_cfs_bandwidth_slice_us=1000`, or lift the quota for one run.",
        sources=("https://docs.kernel.org/scheduler/sched-bwc.html",),
    ),
    Rule(
        name="real-time-share",
        sees=(
            "kernel/sysctl/kernel/sched_rt_runtime_us",
            "kernel/sysctl/kernel/sched_rt_period_us",
            "kernel/sysctl/kernel/sched_rr_timeslice_ms",
        ),
        moves=("cpu time", "wake latency"),
        binds=CONTENDED,
        usual=(1.0, 2.0),
        beside=("process/*/policy", "process/*/rt_priority"),
        why="Real-time threads run before all normal ones for so much of each period (950 of 1000 ms by default) and "
        "are then stopped: good for the one that is real-time, up to a second's stall for the others.",
        confirm="`ps -eLo cls,rtprio,pcpu,comm | grep -E 'FF|RR'`: without a busy real-time thread it is of no "
        "account.",
        sources=("https://docs.kernel.org/scheduler/sched-rt-group.html", SYSCTL),
    ),
    Rule(
        name="preferred-cores",
        sees=("kernel/sysctl/kernel/sched_energy_aware", "kernel/sysctl/kernel/sched_itmt_enabled"),
        moves=("cpu clock", "cpu time"),
        usual=(1.05, 2.0),
        beside=("cpu/types", "cpu/types/*/cpus", "cpu/amd_pstate/prefcore"),
        why="Where cores differ, these decide on which kind a thread lands: the frugal ones, or those that clock "
        "highest. Of no account where all cores are alike.",
        confirm="Pin the process to the fast cores with `taskset -c` and compare.",
        sources=(
            "https://docs.kernel.org/scheduler/sched-energy.html",
            "https://github.com/torvalds/linux/blob/master/arch/x86/kernel/itmt.c",
        ),
    ),
    Rule(
        name="utilisation-clamps",
        sees=("kernel/sysctl/kernel/sched_util_clamp_min", "kernel/sysctl/kernel/sched_util_clamp_max"),
        moves=("cpu clock",),
        way="more helps",
        binds=(
            Condition(facts="cpu/frequency/median", sign="lower", says="CPUs ran at a lower clock"),
            Condition(facts="cpu/frequency/highest", sign="lower", says="even the fastest CPU ran at a lower clock"),
        ),
        usual=(1.02, 2.0),
        beside=("cpu/policies/*/scaling_governor", "cpu/scaling_driver"),
        why="They cap what utilisation a thread may ask for, and the schedutil governor derives the clock from that; "
        "other governors take no notice.",
        confirm="`sysctl -w kernel.sched_util_clamp_max=1024 kernel.sched_util_clamp_min=1024`, watch the CPU clock.",
        sources=("https://docs.kernel.org/scheduler/sched-util-clamp.html",),
    ),
    Rule(
        name="fork-order",
        sees=("kernel/sysctl/kernel/sched_child_runs_first",),
        moves=("cpu time",),
        phases=("start-up", "any work"),
        usual=(1.0, 1.05),
        why="Whether the child or the parent runs first after fork decides which of them copies the pages that it "
        "writes: it matters to what forks workers all the time, and hardly to anything else.",
        confirm="`perf stat -e page-faults,context-switches COMMAND` with either value.",
        sources=(CFS,),
    ),
)
