"""Parameters of the boot line: they hold until the next boot, and nothing but the line tells of most of them.

Those of devices and of memory have themes of their own.
"""

from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.mechanisms.kernel_code import IN_KERNEL, PARAMETERS, PUGET


def booted(names: str) -> tuple[str, ...]:
    """Globs of parameters by their names, with blanks between them, written with `_` for `-`."""
    return tuple(f"kernel/cmdline/{name}" for name in names.split())


RULES: tuple[Rule, ...] = (
    Rule(
        name="boot-mitigations",
        sees=booted(
            "mitigations nospectre* spectre* spec_* l1tf mds tsx_async_abort mmio_stale_data retbleed srbds"
            " gather_data_sampling reg_file_data_sampling indirect_target_selection tsa vmscape bhi ssbd its"
        ),
        moves=("system calls", "cpu time"),
        best=("off",),
        shows=IN_KERNEL,
        usual=(1.0, 1.3),
        beside=("cpu/mitigations/*", "cpu/processor/model_name"),
        why="Each costs a part of every system call or switch of context, most on old CPUs. Training on a GPU did not "
        "notice when they came.",
        confirm="perf bench syscall basic in both boots; usage/main/system of both runs",
        sources=(PARAMETERS, PUGET),
    ),
    Rule(
        name="boot-page-table-isolation",
        sees=booted("nopti pti kpti"),
        moves=("system calls", "cpu time"),
        best=("off", "0"),
        shows=IN_KERNEL,
        beside=("cpu/mitigations/meltdown", "cpu/processor/model_name"),
        why="Each system call and interrupt changes page tables on processors that Meltdown is about: hundreds of "
        "cycles, and more without PCID. Later ones do without, and nopti then means nothing; pti=on pays for it there, "
        "too.",
        confirm="perf bench syscall basic in both boots",
        sources=("https://docs.kernel.org/arch/x86/pti.html", PARAMETERS),
    ),
    Rule(
        name="boot-split-locks",
        sees=booted("split_lock_detect"),
        moves=("cpu time", "availability"),
        best=("off",),
        phases=("host latency", "start-up", "decode step", "any work"),
        breaks="seldom",
        beside=("kernel/sysctl/kernel/split_lock_mitigate",),
        why="warn makes a program wait that locks the bus with an atomic operation across two cache lines, ratelimit "
        "as well, and fatal ends it (SIGBUS). With off, it slows down all others instead. Few programs do so at all.",
        confirm="dmesg | grep -i split_lock names the offender; without such a line it is not the cause",
        sources=("https://docs.kernel.org/arch/x86/buslock.html", PARAMETERS),
    ),
    Rule(
        name="boot-isolation",
        sees=booted("isolcpus kthread_cpus housekeeping"),
        moves=("cpu time", "wake latency"),
        beside=("process/*/affinity", "cpu/isolated", "cpu/nohz_full"),
        why="Which cores the scheduler keeps away from. A thread that is pinned there has its core alone; a pool that "
        "is started there without pinning stays on one core, all of it, and one that is started elsewhere has so many "
        "cores less.",
        confirm="taskset -acp PID and the column PSR of ps -L in both runs; the process's affinity against the list",
        sources=(PARAMETERS, "https://docs.kernel.org/timers/no_hz.html"),
    ),
    Rule(
        name="boot-tickless",
        sees=booted("nohz* rcu_nocbs rcu_nocb_poll skew_tick"),
        moves=("wake latency", "cpu time"),
        beside=("cpu/nohz_full", "process/*/affinity"),
        why="Cores of nohz_full take no tick while one thread runs alone: microseconds less of noise, and each system "
        "call and interrupt longer for the accounting. Who shares such a core gains nothing; nohz=off wakes idle ones "
        "all the time.",
        confirm="LOC in /proc/interrupts of the serving cores in both boots",
        sources=("https://docs.kernel.org/timers/no_hz.html", PARAMETERS),
    ),
    Rule(
        name="boot-grace-periods",
        sees=booted("rcu_* rcutree.* rcupdate.* srcutree.*"),
        moves=("wake latency", "cpu time", "system calls"),
        beside=("kernel/rcu_expedited", "kernel/rcu_normal"),
        why="How soon the kernel's deferred work is done, and on which cores: hurried it interrupts all of them, "
        "unhurried it makes mounts, cgroups and loading of modules wait.",
        confirm="RES and softirq RCU in /proc/interrupts and /proc/softirqs of the serving cores in both boots",
        sources=("https://docs.kernel.org/admin-guide/kernel-per-CPU-kthreads.html", PARAMETERS),
    ),
    Rule(
        name="boot-watchdogs",
        sees=booted("*watchdog* nosoftlockup softlockup* hung_task* nowatchdog hardlockup*"),
        moves=("cpu time", "wake latency"),
        phases=("host latency", "decode step", "any work"),
        beside=("kernel/sysctl/kernel/watchdog",),
        why="A timer and a hardware counter of each core that see to it that the core is alive: microseconds in "
        "seconds. What they do when it is not (panic) moves no number.",
        confirm="sysctl -w kernel.watchdog=0 without a boot, then the same run",
        sources=("https://docs.kernel.org/admin-guide/lockup-watchdogs.html",),
    ),
    Rule(
        name="boot-preemption",
        sees=booted("preempt threadirqs"),
        moves=("wake latency", "cpu time"),
        beside=("kernel/preemption", "kernel/sched/preempt"),
        why="Whether a woken thread may displace one that is in the kernel, and whether interrupts are threads that "
        "may be displaced themselves: shorter worst waits, more switches. Grace is recommended to run with none.",
        confirm="echo none > /sys/kernel/debug/sched/preempt without a boot, measure, then full",
        sources=(PARAMETERS, "https://nvidia.github.io/grace-cpu-benchmarking-guide/platform/index.html"),
    ),
    Rule(
        name="boot-interrupt-placement",
        sees=booted("irqaffinity"),
        moves=("cpu time", "wake latency"),
        beside=("kernel/default_smp_affinity", "process/*/affinity"),
        why="On which cores interrupts are taken unless somebody moves them (irqbalance does): on those that serve "
        "they push threads aside, and on the far node data cross the link between sockets.",
        confirm="/proc/interrupts of GPU, NIC and disks by core in both boots",
        sources=("https://docs.kernel.org/core-api/irq/irq-affinity.html",),
    ),
    Rule(
        name="boot-deferred-work",
        sees=booted("workqueue.*"),
        moves=("cpu time", "wake latency"),
        beside=("kernel/workqueue_cpumask",),
        why="Which cores the kernel's work in the background runs on, how near to its cause, and when a long piece is "
        "moved aside. power_efficient sends it to cores that are awake: those that serve.",
        confirm="grep . /sys/module/workqueue/parameters/* in both boots; time of kworkers in top -H",
        sources=("https://docs.kernel.org/core-api/workqueue.html",),
    ),
    Rule(
        name="boot-cpus",
        sees=booted("nosmt* maxcpus nr_cpus possible_cpus nosmp smt* no5lvl"),
        moves=("cpu time",),
        breaks="seldom",
        usual=(1.1, 3.6),
        beside=("process/*/affinity", "process/*/flags/--threads", "process/*/env/OMP_NUM_THREADS"),
        why="How many CPUs there are. Without hyper-threading a pool of one thread a CPU is half "
        "as large; with it, one that counts CPUs runs twice as many as there are cores: 2 to 3.6x, both ways.",
        confirm="lscpu -e in both boots; as many threads as there are cores in both runs",
        confirmed=1,
        sources=(PARAMETERS, "https://github.com/b4rtaz/distributed-llama/issues/141"),
    ),
    Rule(
        name="boot-instructions",
        sees=booted("clearcpuid noxsave* nofxsr nopku arm64.no* simd.*"),
        moves=("code", "cpu time"),
        phases=("host latency", "start-up", "prefill", "decode step", "verify step", "any work"),
        breaks="seldom",
        beside=("cpu/processor/flags",),
        why="Instructions that are hidden: libraries choose AVX2 where AVX-512 or AMX would do, kernels on the CPU "
        "take a multiple, and what was built for them ends (SIGILL). What the GPU does is as it was.",
        confirm="grep -m1 flags /proc/cpuinfo in both boots; ONEDNN_VERBOSE=1 names what was chosen",
        sources=(PARAMETERS, "https://docs.kernel.org/arch/x86/cpuinfo.html"),
    ),
    Rule(
        name="boot-idle",
        sees=booted("intel_idle.* processor.*"),
        moves=("wake latency", "cpu clock"),
        usual=(1.02, 4.0),
        beside=("cpu/idle/driver", "cpu/processor/hypervisor"),
        why="How deep a core may sleep. To leave the deepest state takes 150 to 230 us, which a start with thousands "
        "of short waits pays 4x over; shallow states leave less power for the clocks of the others.",
        confirm="cpupower idle-set -D 10 as root without a boot, then the same run",
        confirmed=1,
        sources=(PARAMETERS, "https://docs.kernel.org/admin-guide/pm/cpuidle.html"),
    ),
    Rule(
        name="boot-idle-polling",
        sees=booted("idle nohlt"),
        moves=("wake latency", "cpu clock"),
        beside=("cpu/idle/driver", "cpu/smt/active"),
        why="With idle=poll a core that has nothing to do spins: it wakes at once, takes half of what its sibling "
        "thread would have, heats the package and leaves no turbo. idle=halt and nomwait forbid the deep states "
        "only.",
        confirm="turbostat: clock and power of busy cores in both boots; cpupower idle-set -D 0 does much the same",
        sources=("https://docs.kernel.org/admin-guide/pm/cpuidle.html", PARAMETERS),
    ),
    Rule(
        name="boot-idle-governor",
        sees=booted("cpuidle* haltpoll* cpuidle_haltpoll.*"),
        moves=("wake latency", "cpu clock"),
        beside=("cpu/idle/governor", "cpu/processor/hypervisor"),
        why="Who guesses how long a core will have nothing to do, and so how deep it sleeps; haltpoll lets a guest "
        "spin for a while before it asks its host for sleep, which costs microseconds to come back from.",
        confirm="cat /sys/devices/system/cpu/cpuidle/current_governor in both boots, and write the other",
        sources=(
            "https://docs.kernel.org/admin-guide/pm/cpuidle.html",
            "https://docs.kernel.org/virt/guest-halt-polling.html",
        ),
    ),
    Rule(
        name="boot-clocks",
        sees=booted("intel_pstate amd_pstate amd_dynamic_epp cpufreq.* acpi_cpufreq* noturbo"),
        moves=("cpu clock",),
        usual=(1.02, 2.6),
        beside=("cpu/policies/*/scaling_governor",),
        why="Who picks the clock of a core: the hardware (active), or one of the kernel's governors by a driver that "
        "may know no turbo at all.",
        confirm="cpupower frequency-info in both boots; clocks of busy cores during the run",
        sources=(PARAMETERS, "https://docs.kernel.org/admin-guide/pm/intel_pstate.html"),
    ),
    Rule(
        name="boot-default-governor",
        sees=booted("cpufreq.default_governor"),
        moves=("cpu clock",),
        best=("performance",),
        beside=("cpu/policies/*/scaling_governor",),
        why="The governor to begin with, until a service sets another. powersave of a driver that does not let the "
        "hardware choose holds the lowest clock.",
        confirm="cpupower frequency-set -g performance without a boot, then the same run",
        sources=("https://docs.kernel.org/admin-guide/pm/cpufreq.html",),
    ),
    Rule(
        name="boot-preferred-cores",
        sees=booted("amd_prefcore itmt*"),
        moves=("cpu clock", "cpu time"),
        beside=("cpu/amd_pstate/prefcore", "cpu/types"),
        why="Whether the scheduler knows which cores clock highest and puts the few busy threads there: 5 % of clock "
        "for a single thread, nothing where all cores are busy.",
        confirm="cat /sys/devices/system/cpu/amd_pstate/prefcore in both boots; pin the process to the best cores",
        sources=("https://docs.kernel.org/admin-guide/pm/amd-pstate.html",),
    ),
    Rule(
        name="boot-power-meter",
        sees=booted("acpi_power_meter.*"),
        moves=("cpu clock", "sm clock"),
        beside=("cpu/firmware/product_name",),
        why="force_cap_on lets the platform's meter cap its power where the kernel would not believe that it can: "
        "recommended for Grace, whose CPU and GPU share a budget.",
        confirm="cat /sys/class/hwmon/hwmon*/power1_cap and the clocks under load in both boots",
        sources=("https://nvidia.github.io/grace-cpu-benchmarking-guide/platform/index.html",),
    ),
    Rule(
        name="boot-timekeeping",
        sees=booted("clocksource* tsc* notsc"),
        moves=("system calls",),
        beside=("kernel/clocksource/current", "cpu/processor/hypervisor"),
        why="With tsc a look at the clock costs nanoseconds, with hpet or acpi_pm a system call and a slow device, and "
        "engines look for every token.",
        confirm="cat /sys/devices/system/clocksource/clocksource0/current_clocksource in both boots",
        sources=(PARAMETERS, "https://docs.kernel.org/timers/timekeeping.html"),
    ),
    Rule(
        name="boot-timer-device",
        sees=booted("hpet* nohpet lapic* nolapic* no_timer_check highres"),
        moves=("wake latency",),
        breaks="seldom",
        beside=("kernel/clocksource/event_device",),
        why="What wakes a core when its time is up: a timer of its own, or one that all share and that costs a "
        "broadcast. Without fine timers each sleep lasts until the next tick, milliseconds.",
        confirm="cyclictest -m -p 80 -i 1000 -l 10000 in both boots",
        sources=("https://docs.kernel.org/timers/highres.html", PARAMETERS),
    ),
    Rule(
        name="boot-accounting",
        sees=booted("psi delayacct schedstats systemd.*"),
        moves=("system calls", "cpu time"),
        phases=("host latency", "start-up", "decode step", "verify step", "any work"),
        shows=IN_KERNEL,
        usual=(1.0, 1.2),
        why="Who counts for how long threads wait: a look at the clock at each switch, which a slow clock source makes "
        "dear. What systemd is told here is mostly of the boot alone.",
        confirm="cat /proc/pressure/cpu in both boots; perf bench sched pipe",
        sources=("https://docs.kernel.org/accounting/psi.html", PARAMETERS),
    ),
    Rule(
        name="boot-cgroups",
        sees=booted(
            "cgroup* systemd.unified_cgroup_hierarchy systemd.legacy_systemd_cgroup_controller swapaccount"
            " SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE"
        ),
        moves=("availability", "cpu time", "host memory"),
        breaks="seldom",
        beside=("process/*/cgroup/memory_max", "process/*/cgroup/cpu_max", "container/*/cgroup/version"),
        why="Which hierarchy of control groups there is, and with which controllers: limits of a container hold in the "
        "one and are read from other files in the other, old runtimes and JVMs see no limit at all, and one without "
        "its controller is not held.",
        confirm="stat -fc %T /sys/fs/cgroup and cat /sys/fs/cgroup/cgroup.controllers in both boots",
        sources=("https://docs.kernel.org/admin-guide/cgroup-v2.html", PARAMETERS),
    ),
    Rule(
        name="boot-security",
        sees=booted("audit* apparmor selinux security lsm enforcing lockdown ima* integrity* landlock* yama*"),
        moves=("system calls", "availability"),
        phases=("start-up", "host latency", "any work"),
        shows=IN_KERNEL,
        breaks="seldom",
        beside=("kernel/security/lsm", "container/*/label"),
        why="Who is asked at each open, exec and socket, and what of it is written down. ima hashes each file that it "
        "is told to measure, weights too. Enforced where it was not, it forbids devices and shared memory.",
        confirm="ausearch -m avc -ts recent, or dmesg | grep DENIED; perf trace -s COMMAND in both boots",
        sources=("https://docs.kernel.org/admin-guide/LSM/index.html", PARAMETERS),
    ),
    Rule(
        name="boot-tracing",
        sees=booted("ftrace* trace* kprobe* perf* bpf* profile prof_cpu_mask"),
        moves=("system calls", "cpu time"),
        phases=("host latency", "start-up", "decode step", "verify step", "any work"),
        shows=IN_KERNEL,
        beside=("kernel/tracing/current_tracer",),
        why="A tracer that is on from the boot on: with functions each call into the kernel takes a multiple, with "
        "events it costs where they happen. A buffer's size alone costs memory and nothing else.",
        confirm="echo nop > /sys/kernel/tracing/current_tracer without a boot, then the same run",
        sources=("https://docs.kernel.org/trace/ftrace.html", PARAMETERS),
    ),
    Rule(
        name="boot-console",
        sees=booted(
            "console* quiet loglevel early* debug ignore_loglevel printk* log_buf_len plymouth* splash vt.* fbcon*"
            " video* vga* systemd.show_status no_console_suspend"
        ),
        moves=("cpu time", "wake latency"),
        usual=(1.0, 1.1),
        beside=("kernel/sysctl/kernel/printk",),
        why="What the kernel says goes to these consoles, and a serial one takes it at 11 kB/s while a core waits: "
        "seen where the kernel has much to say, and not at all else.",
        confirm="dmesg --level=err,warn during the run; dmesg -n 1 silences consoles without a boot",
        sources=("https://docs.kernel.org/admin-guide/serial-console.html",),
    ),
    Rule(
        name="boot-root",
        sees=booted(
            "root* ro rw rd.* rdinit init resume* nfsroot ip systemd.unit ostree* boot panic* reboot* nomodule"
        ),
        moves=("code", "storage"),
        phases=("start-up", "prefill", "decode step", "verify step", "host latency", "any work"),
        beside=("kernel/release", "driver/module/version"),
        why="Another root is another installation, with its own driver, libraries and settings, on another disk "
        "perhaps. Where the boot merely waits or what it does after a panic moves nothing.",
        confirm="findmnt / and /etc/os-release in both boots",
        sources=(PARAMETERS,),
    ),
    Rule(
        name="boot-start-only",
        sees=booted(
            "rd.lvm* rd.luks* rd.md* rd.dm* rd.shell rd.break rd.timeout rd.locale* rd.vconsole*"
            " vconsole.* locale.* rhgb rootwait rootdelay rootfstype fsck* cloud_init* ds autoinstall netcfg*"
            " systemd.machine_id systemd.run* crash_kexec_post_notifiers efi* acpi_osi* dis_ucode_ldr"
            " psmouse* usbcore.* i8042* snd_* btusb* mem_sleep_default"
        ),
        moves=("availability", "system calls", "cpu time"),
        unused=True,
        beside=("kernel/release",),
        why="What finds the root, asks for a password, names a language, or is about a keyboard: done when the host is "
        "up, and takes no part in a step.",
        confirm="systemd-analyze in both boots: what it takes ends before the run begins",
        sources=(
            "https://man7.org/linux/man-pages/man7/bootparam.7.html",
            "https://man7.org/linux/man-pages/man7/dracut.cmdline.7.html",
        ),
    ),
)
