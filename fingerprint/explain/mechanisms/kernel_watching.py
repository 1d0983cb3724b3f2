"""What watching the kernel costs: tracers, statistics, sampling, the checks of a debug kernel."""

from fingerprint.explain.mechanisms.graph import Condition, Rule

SYSCTL = "https://docs.kernel.org/admin-guide/sysctl/kernel.html"
IN_KERNEL = (Condition(facts="usage/main/system", sign="grew", says="the run spent more time in the kernel", least=20),)

RULES = (
    Rule(
        name="function-tracing",
        sees=("kernel/tracing/current_tracer", "kernel/sysctl/kernel/stack_tracer_enabled"),
        moves=("system calls", "cpu time"),
        shows=IN_KERNEL,
        usual=(1.1, 5.0),
        why="A function tracer, or the stack tracer, does its work at the entry of every kernel function: system calls "
        "and faults take a multiple while it is on.",
        confirm="`echo nop > /sys/kernel/tracing/current_tracer; sysctl -w kernel.stack_tracer_enabled=0`.",
        sources=("https://docs.kernel.org/trace/ftrace.html",),
    ),
    Rule(
        name="trace-events",
        sees=("kernel/tracing/set_event",),
        moves=("system calls", "cpu time"),
        shows=IN_KERNEL,
        usual=(1.0, 1.3),
        why="Each enabled event writes a record where it happens: nothing for rare ones, percents of a core for "
        "switches, wake-ups and system calls.",
        confirm="`echo > /sys/kernel/tracing/set_event` and measure; `lsof /sys/kernel/tracing` tells who reads them.",
        sources=("https://docs.kernel.org/trace/events.html",),
    ),
    Rule(
        name="kernel-statistics",
        sees=(
            "kernel/sysctl/kernel/task_delayacct",
            "kernel/sysctl/kernel/sched_schedstats",
            "kernel/sysctl/kernel/bpf_stats_enabled",
            "kernel/sysctl/kernel/latencytop",
        ),
        moves=("wake latency", "system calls"),
        way="less helps",
        usual=(1.0, 1.05),
        beside=("kernel/clocksource/current",),
        why="They look at the clock at each switch, wake-up, fault or run of a BPF program, and latencytop keeps a "
        "stack at each sleep as well: tens of nanoseconds each, and microseconds where the clock source is slow.",
        confirm="Switch it off with `sysctl -w` and count `perf stat -e context-switches COMMAND`: what did they cost "
        "each?",
        sources=("https://docs.kernel.org/accounting/delay-accounting.html", SYSCTL),
    ),
    Rule(
        name="lock-checking",
        sees=("kernel/sysctl/kernel/prove_locking", "kernel/sysctl/kernel/lock_stat"),
        moves=("system calls", "cpu time", "wake latency"),
        way="less helps",
        shows=IN_KERNEL,
        usual=(1.2, 5.0),
        beside=("kernel/release",),
        why="A debug kernel checks or times each lock that is taken: system calls and faults take a multiple. That "
        "these settings exist tells that it is one.",
        confirm="`sysctl -w kernel.prove_locking=0 kernel.lock_stat=0`, better: boot the kernel that is no debug "
        "build.",
        sources=(
            "https://docs.kernel.org/locking/lockdep-design.html",
            "https://docs.kernel.org/locking/lockstat.html",
        ),
    ),
    Rule(
        name="sampling-share",
        sees=("kernel/sysctl/kernel/perf_cpu_time_max_percent",),
        moves=("cpu time",),
        way="less helps",
        binds=(
            Condition(
                facts="kernel/sysctl/kernel/perf_event_max_sample_rate",
                sign="lower",
                says="the kernel had cut the rate of samples: a profiler was at work, and heavy",
            ),
        ),
        usual=(1.0, 1.2),
        why="How much of a core a sampling profiler may take (25 % by default) before the kernel lowers its rate. "
        "Without a profiler it is of no account.",
        confirm="`dmesg | grep 'perf: interrupt took too long'`; stop the profiler and measure.",
        sources=(SYSCTL,),
    ),
)
