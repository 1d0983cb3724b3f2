"""The parameters of /proc/sys/kernel and /proc/sys/fs that can move a number, under their own names."""

from probes.kernel.net import Net, read_net
from probes.kit.facts import Section, Seen, telemetry, then
from probes.kit.host import Host
from probes.kit.knobs import number_tuple, read_each, sysctl

# The kernel derives several limits from the memory it finds at boot. Their tolerances are what 64 MiB more or
# less make of them (kernel/fork.c, fs/file_table.c, fs/notify, fs/eventpoll.c), as memory/total has it.


class KernelParameters(Section):
    """/proc/sys/kernel: who runs when; what each call, switch and tick costs; what programs may take."""

    numa_balancing: Seen[int] = sysctl(
        "kernel.numa_balancing",
        "Unmaps pages to see who uses them and moves them: off helps GPU loading, and costs some CPU loads 20 %",
    )
    numa_balancing_promote_rate_limit_mbps: Seen[int] = sysctl(
        "kernel.numa_balancing_promote_rate_limit_MBps", "How fast pages may rise from slow to fast memory", "MB/s"
    )
    sched_autogroup_enabled: Seen[int] = sysctl(
        "kernel.sched_autogroup_enabled",
        "Shares CPU between sessions instead of threads: a server's 100 threads weigh as much as one shell",
    )
    sched_cfs_bandwidth_slice_us: Seen[int] = sysctl(
        "kernel.sched_cfs_bandwidth_slice_us",
        "Quota handed to a CPU at a time: large slices strand quota on idle CPUs and throttle early",
        "us",
    )
    sched_rt_runtime_us: Seen[int] = sysctl(
        "kernel.sched_rt_runtime_us",
        "How long real-time threads may run in each period; -1 lets them starve the rest",
        "us",
    )
    sched_rt_period_us: Seen[int] = sysctl(
        "kernel.sched_rt_period_us", "The period of the real-time limit: the longest stall that it allows", "us"
    )
    sched_rr_timeslice_ms: Seen[int] = sysctl(
        "kernel.sched_rr_timeslice_ms",
        "The turn of SCHED_RR threads of equal priority, audio and polling drivers",
        "ms",
    )
    sched_energy_aware: Seen[int] = sysctl(
        "kernel.sched_energy_aware", "Packs threads onto efficient cores of hybrid processors"
    )
    sched_itmt_enabled: Seen[int] = sysctl(
        "kernel.sched_itmt_enabled", "Prefers the cores that turbo highest: which cores single threads land on"
    )
    sched_child_runs_first: Seen[int] = sysctl(
        "kernel.sched_child_runs_first", "Who runs after fork: copy-on-write faults of servers that fork workers"
    )
    sched_util_clamp_min: Seen[int] = sysctl(
        "kernel.sched_util_clamp_min",
        "The least utilisation a thread may claim for itself: how high it can hold the clock",
        "1/1024",
    )
    sched_util_clamp_max: Seen[int] = sysctl(
        "kernel.sched_util_clamp_max", "Caps the utilisation that schedutil sees, and with it the CPU clock", "1/1024"
    )
    timer_migration: Seen[int] = sysctl(
        "kernel.timer_migration", "Moves timers from idle to busy CPUs: interrupts on the cores that serve"
    )
    watchdog: Seen[int] = sysctl(
        "kernel.watchdog", "A high-priority thread wakes on each core to prove that the core is alive"
    )
    nmi_watchdog: Seen[int] = sysctl(
        "kernel.nmi_watchdog",
        "Takes one hardware counter of every core: profilers multiplex, and NMIs interrupt",
        follows=("kernel/sysctl/kernel/watchdog",),
    )
    soft_watchdog: Seen[int] = sysctl(
        "kernel.soft_watchdog",
        "The timer half of the watchdog, one wake-up per core each few seconds",
        follows=("kernel/sysctl/kernel/watchdog",),
    )
    watchdog_thresh: Seen[int] = sysctl(
        "kernel.watchdog_thresh", "Sets the watchdog's period, two fifths of it: how often isolated cores wake", "s"
    )
    watchdog_cpumask: Seen[str] = sysctl(
        "kernel.watchdog_cpumask", "The cores that the watchdog interrupts: isolated ones may be left out"
    )
    randomize_va_space: Seen[int] = sysctl(
        "kernel.randomize_va_space",
        "Address layout at random: start-to-start spread through cache and huge-page alignment",
    )
    split_lock_mitigate: Seen[int] = sysctl(
        "kernel.split_lock_mitigate", "Makes a misaligned atomic sleep 10 ms: collapse of programs that use them"
    )
    task_delayacct: Seen[int] = sysctl(
        "kernel.task_delayacct", "Times every wait of every thread: a cost at each switch and page fault"
    )
    sched_schedstats: Seen[int] = sysctl(
        "kernel.sched_schedstats", "Detailed scheduler statistics: time stamps at every wake-up and switch"
    )
    bpf_stats_enabled: Seen[int] = sysctl(
        "kernel.bpf_stats_enabled", "Times each run of each BPF program: two clock reads per traced event"
    )
    ftrace_enabled: Seen[int] = sysctl(
        "kernel.ftrace_enabled", "Whether function tracing can be switched on; live patches need it", context=True
    )
    stack_tracer_enabled: Seen[int] = sysctl(
        "kernel.stack_tracer_enabled", "Measures the stack at each kernel function: all system calls become slow"
    )
    lock_stat: Seen[int] = sysctl("kernel.lock_stat", "Statistics at every lock of a debug kernel: contention grows")
    prove_locking: Seen[int] = sysctl(
        "kernel.prove_locking", "Lockdep at work: a debug kernel whose system calls take a multiple"
    )
    latencytop: Seen[int] = sysctl("kernel.latencytop", "Records a stack at every sleep of every thread")
    perf_event_paranoid: Seen[int] = sysctl(
        "kernel.perf_event_paranoid", "Whether profilers and counters of a plain user work at all", context=True
    )
    perf_cpu_time_max_percent: Seen[int] = sysctl(
        "kernel.perf_cpu_time_max_percent", "How much of a core sampling may take before its rate is cut", "%"
    )
    perf_event_max_sample_rate: Seen[int] = telemetry(
        "The kernel cuts it where sampling takes too long: a profiler was at work, and heavy",
        "/proc/sys/kernel/perf_event_max_sample_rate",
        "Hz",
    )
    printk: Seen[tuple[int, ...]] = sysctl(
        "kernel.printk", "A high console level writes each message to a serial line with interrupts off: stalls of ms"
    )
    core_pattern: Seen[str] = sysctl(
        "kernel.core_pattern", "Where a crash of a server writes its memory: a full disk, and minutes before a restart"
    )
    pid_max: Seen[int] = sysctl("kernel.pid_max", "Threads and processes at once: starting a worker fails above it")
    threads_max: Seen[int] = sysctl(
        "kernel.threads-max",
        "Threads of the whole system: thread pools fail to start above it",
        follows=("memory/total",),
        tolerance=1024,
    )
    shmmax: Seen[int] = sysctl(
        "kernel.shmmax", "Largest System V segment: MPS, databases and old MPI use them", "bytes"
    )
    shmall: Seen[int] = sysctl("kernel.shmall", "All System V shared memory together", "pages")
    shmmni: Seen[int] = sysctl(
        "kernel.shmmni", "How many System V segments there may be: leftovers of killed jobs count"
    )
    sem: Seen[tuple[int, ...]] = sysctl(
        "kernel.sem", "Limits of System V semaphores, in their order SEMMSL MNS OPM MNI"
    )
    io_uring_disabled: Seen[int] = sysctl(
        "kernel.io_uring_disabled", "Makes loaders and servers that use io_uring fall back to threads"
    )
    unprivileged_bpf_disabled: Seen[int] = sysctl(
        "kernel.unprivileged_bpf_disabled",
        "Who may load BPF programs: decides which tracers can be on this host",
        context=True,
    )
    yama_ptrace_scope: Seen[int] = sysctl(
        "kernel.yama.ptrace_scope",
        "1 and above forbid cross-memory attach between workers: MPI and UCX then copy twice",
    )
    kptr_restrict: Seen[int] = sysctl(
        "kernel.kptr_restrict", "Whether kernel addresses can be read: profiles lack names otherwise", context=True
    )
    dmesg_restrict: Seen[int] = sysctl(
        "kernel.dmesg_restrict", "Whether a plain user sees Xid and AER messages", context=True
    )


class FsParameters(Section):
    """/proc/sys/fs."""

    file_max: Seen[int] = sysctl(
        "fs.file-max", "Open files of the whole host: servers refuse connections above it", tolerance=16384
    )
    nr_open: Seen[int] = sysctl("fs.nr_open", "Ceiling of every open-files limit: a higher ulimit -n is refused")
    aio_max_nr: Seen[int] = sysctl(
        "fs.aio-max-nr", "Asynchronous requests at once: loaders fall back to blocking reads"
    )
    pipe_max_size: Seen[int] = sysctl(
        "fs.pipe-max-size", "Largest pipe: chunks in which workers hand over data", "bytes"
    )
    pipe_user_pages_soft: Seen[int] = sysctl(
        "fs.pipe-user-pages-soft", "Beyond it new pipes of a user hold one page: more switches per byte", "pages"
    )
    inotify_max_user_watches: Seen[int] = sysctl(
        "fs.inotify.max_user_watches",
        "File watches of a user: reloaders and log readers fall back to polling",
        tolerance=1024,
    )
    inotify_max_user_instances: Seen[int] = sysctl(
        "fs.inotify.max_user_instances", "Watchers of a user: container runtimes and kubelet use them up"
    )
    epoll_max_user_watches: Seen[int] = sysctl(
        "fs.epoll.max_user_watches",
        "Descriptors in all epoll sets of a user: connections that a server can wait for",
        follows=("memory/total",),
        tolerance=32768,
    )
    files_open: Seen[int] = telemetry("Open files of the host: a leak, or a neighbour's", "/proc/sys/fs/file-nr, first")
    aio_nr: Seen[int] = telemetry("Asynchronous requests set aside now, against aio_max_nr", "/proc/sys/fs/aio-nr")


class Sysctl(Section):
    """Parameters under the path that sysctl(8) calls them by."""

    kernel: KernelParameters = KernelParameters()
    fs: FsParameters = FsParameters()
    net: Net = Net()


def read_sysctl(host: Host) -> Sysctl:
    files = number_tuple(host, "/proc/sys/fs/file-nr")
    return Sysctl(
        kernel=read_each(
            KernelParameters,
            host.number,
            watchdog_cpumask=host.line("/proc/sys/kernel/watchdog_cpumask"),
            printk=number_tuple(host, "/proc/sys/kernel/printk"),
            core_pattern=host.line("/proc/sys/kernel/core_pattern"),
            sem=number_tuple(host, "/proc/sys/kernel/sem"),
        ),
        fs=read_each(FsParameters, host.number, files_open=then(files, lambda numbers: numbers[0])),
        net=read_net(host),
    )
