"""What befell the kernel: faults and lock-ups during the run, and what is left of earlier ones."""

from fingerprint.explain.mechanisms.graph import Rule

TAINT = "https://docs.kernel.org/admin-guide/tainted-kernels.html"

RULES = (
    Rule(
        name="kernel-faults",
        sees=("kernel/troubles/oops_count", "kernel/troubles/warn_count"),
        moves=("availability", "cpu time"),
        way="less helps",
        breaks="often",
        why="An oops ends the thread that met it and leaves its locks held: whoever needs them hangs. A warning tells "
        "that a driver met what it holds impossible and went on in a state that nobody tested.",
        confirm="`dmesg -T | grep -A 20 -E 'Oops|WARNING'`: which module, and did the run use it? Reboot and repeat.",
        sources=("https://docs.kernel.org/admin-guide/bug-hunting.html",),
    ),
    Rule(
        name="lock-ups",
        sees=(
            "kernel/troubles/softlockup_count",
            "kernel/troubles/hardlockup_count",
            "kernel/troubles/rcu_stall_count",
        ),
        moves=("cpu time", "wake latency"),
        way="less helps",
        breaks="seldom",
        usual=(1.05, 5.0),
        beside=("cpu/processor/hypervisor", "kernel/sysctl/kernel/watchdog_thresh"),
        why="A core was kept in the kernel, or got no time from the hypervisor, for 10 to 20 s and more: its threads "
        "stood still meanwhile, and with them every rank that waits for one of them.",
        confirm="`dmesg -T | grep -E 'lockup|rcu.*stall'` names the core and the function; look at steal time in a "
        "guest.",
        sources=(
            "https://docs.kernel.org/admin-guide/lockup-watchdogs.html",
            "https://docs.kernel.org/RCU/stallwarn.html",
        ),
    ),
    Rule(
        name="hung-tasks",
        sees=("kernel/troubles/hung_task_detect_count",),
        moves=("storage", "availability"),
        way="less helps",
        breaks="often",
        usual=(1.05, 5.0),
        why="A thread was in state D for minutes: storage, a network file system or a driver did not answer, and "
        "whoever asks the same one waits as well.",
        confirm="`dmesg -T | grep -A 20 'blocked for more than'` shows what it waited for.",
        sources=("https://docs.kernel.org/admin-guide/sysctl/kernel.html",),
    ),
    Rule(
        name="kernel-taint",
        sees=("kernel/tainted",),
        moves=("availability", "cpu time", "system calls"),
        breaks="seldom",
        why="A letter stays until the next boot: a machine check, an oops or a lock-up that left something in a bad "
        "state, or other code than the distribution's, as foreign modules and live patches.",
        confirm="`dmesg -T | grep -i -E 'taint|mce|Oops'`, then reboot and repeat.",
        sources=(TAINT,),
    ),
    Rule(
        name="suspend",
        sees=("kernel/suspends",),
        moves=("availability", "sm clock", "memory clock", "pcie link", "cpu clock"),
        breaks="seldom",
        usual=(1.2, 20.0),
        told_by=("cuda-unknown-error",),
        why="Devices that came back from sleep may be in another power state, on a slower link, or without what they "
        "held: CUDA that cannot be initialised until nvidia_uvm is loaded again is on record, as are engines that fell "
        "back to the CPU.",
        confirm="`rmmod nvidia_uvm && modprobe nvidia_uvm` with no user left, or reboot, and repeat.",
        beside=("driver/module/parameters/PreserveVideoMemoryAllocations",),
        confirmed=1,
        sources=(
            "https://github.com/NixOS/nixpkgs/issues/319303",
            "https://github.com/ollama/ollama/issues/5464",
            "https://docs.kernel.org/admin-guide/pm/suspend-flows.html",
        ),
    ),
)
