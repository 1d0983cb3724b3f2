"""How the kernel tells time and wakes who waits for it."""

from fingerprint.explain.mechanisms.graph import Condition, Rule

IN_KERNEL = (Condition(facts="usage/main/system", sign="grew", says="the run spent more time in the kernel", least=20),)

RULES = (
    Rule(
        name="clock-source",
        sees=(
            "kernel/clocksource/current",
            "kernel/clocksource/available",
            "kernel/modules/clocksource/parameters",
            "kernel/modules/clocksource/parameters/*",
        ),
        moves=("system calls",),
        best=("tsc",),
        shows=IN_KERNEL,
        loud=True,
        usual=(1.1, 4.0),
        beside=("cpu/processor/hypervisor", "kernel/cmdline/clocksource", "kernel/cmdline/tsc"),
        why="The time-stamp counter, and a guest's kvm-clock or Hyper-V page, are read without entering the kernel. "
        "Where the kernel found the counter unstable it takes hpet or acpi_pm, each look at the clock becomes a system "
        "call of up to microseconds, and engines look for every token: 3.5x in CPU code that looked often.",
        confirm="`python3 -m timeit -s 'import time' 'time.monotonic()'`: some 50 ns, or hundreds with a system call.",
        confirmed=1,
        sources=(
            "https://github.com/madgraph5/madgraph4gpu/issues/116",
            "https://docs.kernel.org/timers/timekeeping.html",
            "https://vinted.engineering/2025/07/15/clocksource-performance",
        ),
    ),
    Rule(
        name="timer-device",
        sees=("kernel/clocksource/event_device",),
        moves=("wake latency",),
        usual=(1.0, 1.2),
        beside=("cpu/idle/driver",),
        why="Sleeps and time-outs end with this device's interrupt: one for each core wakes it at once; hpet or a "
        "broadcast device is shared, slower to program, and wakes another core first.",
        confirm="`cyclictest -m -p 80 -i 1000 -l 10000` on both hosts, or the same with `idle=poll` at boot.",
        sources=("https://docs.kernel.org/timers/highres.html",),
    ),
)
