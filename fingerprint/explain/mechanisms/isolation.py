"""What breaks into the cores that serve: watchdogs, timers, grace periods, interrupts, deferred work, the console."""

from fingerprint.explain.mechanisms.graph import Condition, Rule

KTHREADS = "https://docs.kernel.org/admin-guide/kernel-per-CPU-kthreads.html"
SYSCTL = "https://docs.kernel.org/admin-guide/sysctl/kernel.html"

INTERRUPTED = (
    Condition(
        facts="pressure/irq/full/total", sign="grew", says="interrupts took time from running threads", least=1e4
    ),
    Condition(facts="pressure/cpu_time/irq", sign="grew", says="CPUs were in interrupt handlers", least=2),
    Condition(facts="pressure/cpu_time/softirq", sign="grew", says="CPUs were in deferred interrupt work", least=2),
)
WAITED = (
    Condition(facts="usage/*/run_delay", sign="grew", says="the run's threads were ready and had no core", least=1e8),
)

RULES = (
    Rule(
        name="watchdogs",
        sees=(
            "kernel/sysctl/kernel/watchdog",
            "kernel/sysctl/kernel/nmi_watchdog",
            "kernel/sysctl/kernel/soft_watchdog",
            "kernel/sysctl/kernel/watchdog_thresh",
            "kernel/sysctl/kernel/watchdog_cpumask",
        ),
        moves=("cpu time", "wake latency"),
        phases=("host latency", "decode step", "any work"),
        usual=(1.0, 1.02),
        beside=("cpu/isolated", "cpu/nohz_full"),
        why="Every two fifths of the threshold (4 s of 10) a timer and a thread of highest priority wake on each "
        "watched core: microseconds, of account for latency on isolated cores. Its NMI half takes a hardware counter, "
        "too.",
        confirm="`sysctl -w kernel.watchdog=0`; a gain that is more than microseconds per second has another cause.",
        sources=("https://docs.kernel.org/admin-guide/lockup-watchdogs.html", KTHREADS),
    ),
    Rule(
        name="timer-migration",
        sees=("kernel/sysctl/kernel/timer_migration",),
        moves=("cpu time", "wake latency"),
        usual=(1.0, 1.05),
        beside=("cpu/isolated", "cpu/nohz_full"),
        why="Timers of idle CPUs are moved to a busy one so that the idle sleep on: their interrupts then break into "
        "the cores that serve. Kept where they are, they wake idle CPUs instead.",
        confirm="`sysctl -w kernel.timer_migration=0` and compare LOC in /proc/interrupts on the serving cores.",
        sources=("https://docs.kernel.org/timers/no_hz.html", SYSCTL),
    ),
    Rule(
        name="grace-periods",
        sees=(
            "kernel/rcu_expedited",
            "kernel/rcu_normal",
            "kernel/modules/rcutree/parameters",
            "kernel/modules/rcutree/parameters/*",
        ),
        moves=("wake latency", "cpu time", "system calls"),
        usual=(1.0, 1.2),
        why="Hurried grace periods interrupt every core, isolated ones too, so that whoever waits for one goes on; "
        "unhurried ones leave cores quiet, and mounts, cgroup changes and module loads take tens of ms longer.",
        confirm="`echo 1 > /sys/kernel/rcu_normal` (or rcu_expedited) and measure start-up and latency apart.",
        sources=(KTHREADS, "https://docs.kernel.org/admin-guide/kernel-parameters.html"),
    ),
    Rule(
        name="interrupt-placement",
        sees=("kernel/default_smp_affinity",),
        moves=("cpu time", "wake latency"),
        binds=INTERRUPTED,
        usual=(1.02, 1.5),
        beside=("process/*/affinity", "cpu/isolated"),
        why="Interrupts of drivers that are loaded later land on these cores: on the ones that serve they push threads "
        "aside, on those of the far node data cross the sockets' link.",
        confirm="Compare /proc/interrupts of both runs on the serving cores; `echo LIST > "
        "/proc/irq/N/smp_affinity_list`.",
        sources=("https://docs.kernel.org/core-api/irq/irq-affinity.html",),
    ),
    Rule(
        name="deferred-work",
        sees=(
            "kernel/workqueue_cpumask",
            "kernel/modules/workqueue/parameters",
            "kernel/modules/workqueue/parameters/*",
        ),
        moves=("cpu time", "wake latency"),
        shows=WAITED,
        usual=(1.0, 1.2),
        beside=("process/*/affinity", "cpu/isolated"),
        why="Writing back, cleaning up and driver work run as kworkers: the mask and the parameters say on which "
        "cores, and when a long piece is moved aside. On a serving core they compete with its thread.",
        confirm="Write the mask of the housekeeping cores to /sys/devices/virtual/workqueue/cpumask and compare "
        "run_delay.",
        sources=("https://docs.kernel.org/core-api/workqueue.html", KTHREADS),
    ),
    Rule(
        name="console-printing",
        sees=("kernel/sysctl/kernel/printk",),
        moves=("cpu time", "wake latency"),
        way="less helps",
        usual=(1.0, 1.2),
        beside=("kernel/cmdline/console", "kernel/cmdline/quiet", "kernel/cmdline/loglevel"),
        why="A message that passes the console level is written out by the core that logged it: over a serial line of "
        "115200 baud 80 characters take 7 ms, with interrupts off on older kernels.",
        confirm="`dmesg -n 1`; `dmesg -w` during the run tells whether anything is logged at all.",
        sources=("https://docs.kernel.org/core-api/printk-basics.html", SYSCTL),
    ),
)
