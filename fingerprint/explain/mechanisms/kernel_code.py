"""The kernel as code: which one runs, what it was booted with, and what it adds to every call."""

from fingerprint.explain.mechanisms.graph import Condition, Rule

PARAMETERS = "https://docs.kernel.org/admin-guide/kernel-parameters.html"
PUGET = (
    "https://www.pugetsystems.com/labs/hpc/"
    "intel-cpu-flaw-kernel-patch-effects-gpu-compute-tensorflow-caffe-and-lmdb-database-creation-1093/"
)
IN_KERNEL = (Condition(facts="usage/main/system", sign="grew", says="the run spent more time in the kernel", least=20),)

RULES = (
    Rule(
        name="kernel-release",
        sees=("kernel/release", "kernel/version"),
        moves=(
            "system calls",
            "cpu time",
            "wake latency",
            "page placement",
            "page size",
            "storage",
            "network",
            "launch latency",
            "sm clock",
            "gpu memory",
            "pcie link",
        ),
        breaks="seldom",
        usual=(1.02, 5.0),
        beside=("driver/module/version", "kernel/cmdline/preempt"),
        why="Another kernel is another scheduler, memory manager, network stack and set of drivers, and modules "
        "outside the tree are built anew for it: one commit in a GPU driver cost 42x, with the container image "
        "unchanged.",
        confirm="Boot the earlier kernel (`grub-reboot`, or the boot menu) and measure once more.",
        confirmed=2,
        drifted=16,
        sources=(
            "https://github.com/ROCm/legacy-rocm-build/issues/6358",
            "https://github.com/intel/ipex-llm/issues/12190",
            "https://docs.kernel.org/admin-guide/reporting-regressions.html",
        ),
    ),
    Rule(
        name="live-patches",
        sees=("kernel/livepatches",),
        moves=("system calls", "cpu time"),
        usual=(1.0, 1.2),
        why="Functions of the running kernel are replaced under an unchanged release: each call of one takes a detour "
        "through ftrace, and mitigations of new attacks come this way.",
        confirm="`echo 0 > /sys/kernel/livepatch/NAME/enabled`, measure, and enable it again.",
        sources=("https://docs.kernel.org/livepatch/livepatch.html",),
    ),
    Rule(
        name="kernel-command-line",
        sees=("kernel/cmdline", "kernel/cmdline/*"),
        moves=(
            "pcie link",
            "collective",
            "availability",
            "cpu time",
            "cpu clock",
            "wake latency",
            "system calls",
            "page placement",
            "page size",
            "host memory",
        ),
        breaks="seldom",
        usual=(1.0, 2.6),
        beside=("cpu/isolated", "cpu/idle/driver", "gpu/*/pcie/numa_node"),
        why="A parameter that no other rule knows holds until the next boot. It may be one of a driver, of the "
        "distribution's own start, or a word that no kernel of this release reads.",
        confirm="Boot with the other run's line (edit it in the boot menu) and measure once more.",
        sources=(PARAMETERS,),
    ),
    Rule(
        name="security-modules",
        sees=("kernel/security/lsm",),
        moves=("system calls",),
        way="less helps",
        phases=("start-up", "host latency", "any work"),
        breaks="seldom",
        usual=(1.0, 1.1),
        why="Each security module is asked at every open, map, exec and socket call, and some walk a path or look up a "
        "label for it: felt by a start that opens 100,000 files, hardly by a running server.",
        confirm="`perf trace -s COMMAND` for the time in open and mmap; boot with `lsm=` as in the other run.",
        sources=("https://docs.kernel.org/admin-guide/LSM/index.html",),
    ),
    Rule(
        name="filter-programs",
        sees=("kernel/sysctl/net/core/bpf_jit_enable", "kernel/sysctl/net/core/bpf_jit_harden"),
        moves=("system calls", "network"),
        shows=IN_KERNEL,
        usual=(1.02, 2.0),
        beside=("process/*/seccomp",),
        why="Seccomp filters, packet filters and tracers are BPF programs. Interpreted instead of compiled, or "
        "hardened, each run is longer, and a container's filter runs at every system call: the default filter alone "
        "cost 2x once.",
        confirm="`sysctl -w net.core.bpf_jit_enable=1 net.core.bpf_jit_harden=0`, or start with seccomp=unconfined.",
        sources=(
            "https://docs.kernel.org/admin-guide/sysctl/net.html",
            "https://github.com/davepl/Primes/pull/3",
        ),
    ),
    Rule(
        name="random-addresses",
        sees=("kernel/sysctl/kernel/randomize_va_space",),
        moves=("page size", "host memory bandwidth"),
        phases=("host latency", "start-up", "any work"),
        usual=(1.0, 1.05),
        beside=("process/*/personality",),
        why="With random layout each start puts code, heap and stack elsewhere, so that cache sets and huge-page "
        "alignment differ from start to start; without it all starts are alike, for better or worse. It widens the "
        "spread of CPU work by some percent and moves no GPU kernel.",
        confirm="Ten starts under `setarch -R COMMAND` against ten without: compare the spreads.",
        sources=("https://docs.kernel.org/admin-guide/sysctl/kernel.html",),
    ),
    Rule(
        name="split-locks",
        sees=("kernel/sysctl/kernel/split_lock_mitigate",),
        moves=("cpu time",),
        usual=(1.5, 10.0),
        beside=("kernel/cmdline/split_lock_detect", "cpu/processor/model_name"),
        why="An atomic operation that crosses a cache line locks the bus for all cores. With mitigation its thread is "
        "made to wait 10 ms and to run alone: the offender collapses, its neighbours do not suffer. Programs without "
        "such operations notice nothing.",
        confirm="`dmesg | grep -i split_lock` names the offender; `sysctl -w kernel.split_lock_mitigate=0`.",
        sources=("https://docs.kernel.org/arch/x86/buslock.html",),
    ),
    Rule(
        name="cross-memory-attach",
        sees=("kernel/sysctl/kernel/yama_ptrace_scope",),
        moves=("collective", "host memory bandwidth"),
        way="less helps",
        phases=("transfer", "start-up", "any work"),
        breaks="seldom",
        usual=(1.1, 2.0),
        why="MPI, UCX and libfabric's shared memory read another worker's memory directly where they may trace it; "
        "from scope 1 on they may not, and large messages between processes of one host are copied twice, through "
        "shared memory.",
        confirm="`sysctl -w kernel.yama.ptrace_scope=0`, or UCX_TLS=^cma in the faster run.",
        sources=(
            "https://docs.kernel.org/admin-guide/LSM/Yama.html",
            "https://man7.org/linux/man-pages/man2/process_vm_readv.2.html",
        ),
    ),
)
