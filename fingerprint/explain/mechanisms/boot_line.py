"""Parameters of the boot line: they hold until the next boot, and nothing but the line tells of most of them."""

from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.mechanisms.kernel_code import IN_KERNEL, PARAMETERS, PUGET


def booted(names: str) -> tuple[str, ...]:
    """Globs of parameters by their names, with blanks between them, written with `_` for `-`."""
    return tuple(f"kernel/cmdline/{name}" for name in names.split())


RULES: tuple[Rule, ...] = (
    Rule(
        name="boot-iommu",
        sees=booted("*iommu iommu.* pci *acs_override* vfio* intremap swiotlb arm_smmu*"),
        moves=("collective", "pcie link", "availability"),
        best=("off", "pt"),
        between=True,
        over_pcie="between GPUs",
        breaks="often",
        usual=(1.3, 2.6),
        beside=("gpu/*/peers/*/p2p_read", "gpu/*/pcie/numa_node", "process/*/env/NCCL_P2P_DISABLE"),
        why="An IOMMU that translates, and access control on the bridges, send what one GPU writes to another up to "
        "the root and through page tables: half of the bandwidth (8 against 21 GB/s), or a first all-reduce that "
        "never ends.",
        confirm="nvidia-smi topo -p2p r, then nccl-tests all_reduce_perf; boot with iommu=pt or amd_iommu=off",
        confirmed=4,
        sources=(
            PARAMETERS,
            "https://github.com/vllm-project/vllm/issues/33041",
            "https://github.com/vllm-project/vllm/issues/51513",
            "https://github.com/NVIDIA/nccl/issues/2079",
            "https://github.com/NVIDIA/nccl-tests/issues/115",
        ),
    ),
    Rule(
        name="boot-pcie",
        sees=booted("pcie_* pciehp* pci_*"),
        moves=("pcie link", "availability"),
        breaks="seldom",
        usual=(1.02, 2.0),
        beside=("gpu/*/pcie/link_gen_max", "gpu/*/pcie/link_width_max"),
        why="Which sizes of packets a bridge agrees on, and whether a link may sleep or be taken out: bandwidth of "
        "copies, microseconds to wake, devices that do not come back.",
        confirm="lspci -vv: LnkSta, DevCtl and ASPM of the GPU and of each bridge above it in both boots",
        sources=(PARAMETERS,),
    ),
    Rule(
        name="boot-gpu-modules",
        sees=booted(
            "nvidia* nouveau* modprobe.blacklist module_blacklist rd.driver.* nomodeset drm* i915* amdgpu* xe*"
        ),
        moves=("gpu initialisation", "availability", "launch latency", "pcie link"),
        breaks="often",
        beside=("driver/gpus_bound_elsewhere", "driver/module/flavour"),
        why="Options of graphics drivers, and which of them may load: firmware of the GPU's own processor, interrupts, "
        "memory that is kept over suspend, or nouveau in the place of nvidia.",
        confirm="/proc/driver/nvidia/params in both boots; lspci -k tells who drives the GPU",
        sources=(PARAMETERS, "https://download.nvidia.com/XFree86/Linux-x86_64/570.133.07/README/index.html"),
    ),
    Rule(
        name="boot-mitigations",
        sees=booted(
            "mitigations nopti pti kpti nospectre* spectre* spec_* l1tf mds tsx* mmio_stale_data retbleed srbds"
            " gather_data_sampling reg_file_data_sampling indirect_target_selection tsa vmscape bhi ssbd kvm*"
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
        name="boot-isolation",
        sees=booted(
            "isolcpus nohz* rcu_* rcutree.* rcupdate.* irqaffinity kthread_cpus housekeeping workqueue.* skew_tick"
            " *watchdog* nosoftlockup managed_irq threadirqs preempt"
        ),
        moves=("cpu time", "wake latency"),
        beside=("process/*/affinity", "cpu/isolated", "cpu/nohz_full"),
        why="Which cores the scheduler, timers and interrupts keep away from. A thread that is pinned there has its "
        "core alone; a pool that is started there without pinning stays on one core, all of it.",
        confirm="taskset -acp PID and the column PSR of ps -L in both runs; the process's affinity against the list",
        sources=(PARAMETERS, "https://docs.kernel.org/timers/no_hz.html"),
    ),
    Rule(
        name="boot-cpus",
        sees=booted("nosmt* maxcpus nr_cpus possible_cpus nosmp smt* clearcpuid noxsave* nox2apic no5lvl"),
        moves=("cpu time",),
        breaks="seldom",
        usual=(1.1, 3.6),
        beside=("process/*/affinity", "process/*/flags/--threads", "process/*/env/OMP_NUM_THREADS"),
        why="How many CPUs there are and what they can do. Without hyper-threading a pool of one thread a CPU is half "
        "as large; with it, one that counts CPUs runs twice as many as there are cores: 2 to 3.6x, both ways.",
        confirm="lscpu -e in both boots; as many threads as there are cores in both runs",
        confirmed=1,
        sources=(PARAMETERS, "https://github.com/b4rtaz/distributed-llama/issues/141"),
    ),
    Rule(
        name="boot-idle",
        sees=booted("idle intel_idle.* processor.* cpuidle* haltpoll* nohlt"),
        moves=("wake latency", "cpu clock"),
        usual=(1.02, 4.0),
        beside=("cpu/idle/driver", "cpu/processor/hypervisor"),
        why="How deep a core may sleep. To leave the deepest state takes 150 to 230 us, which a start with thousands "
        "of short waits pays 4x over; a core that never sleeps leaves less power for the clocks of the others.",
        confirm="cpupower idle-set -D 10 as root without a boot, then the same run",
        confirmed=1,
        sources=(PARAMETERS, "https://docs.kernel.org/admin-guide/pm/cpuidle.html"),
    ),
    Rule(
        name="boot-clocks",
        sees=booted("intel_pstate amd_pstate amd_prefcore amd_dynamic_epp cpufreq.* acpi_cpufreq* noturbo"),
        moves=("cpu clock",),
        usual=(1.02, 2.6),
        beside=("cpu/policies/*/scaling_governor",),
        why="Who picks the clock of a core, the hardware or one of the kernel's governors, and which one to begin "
        "with.",
        confirm="cpupower frequency-info in both boots; clocks of busy cores during the run",
        sources=(PARAMETERS, "https://docs.kernel.org/admin-guide/pm/intel_pstate.html"),
    ),
    Rule(
        name="boot-timekeeping",
        sees=booted("clocksource* tsc* notsc hpet* nohpet lapic* nolapic* apic* no_timer_check highres"),
        moves=("system calls", "wake latency"),
        beside=("kernel/clocksource/current", "cpu/processor/hypervisor"),
        why="With tsc a look at the clock costs nanoseconds, with hpet or acpi_pm a system call and a slow device, and "
        "engines look for every token.",
        confirm="cat /sys/devices/system/clocksource/clocksource0/current_clocksource in both boots",
        sources=(PARAMETERS, "https://docs.kernel.org/timers/timekeeping.html"),
    ),
    Rule(
        name="boot-huge-pages",
        sees=booted("hugepages* default_hugepagesz *hugepage* hugetlb* thp_*"),
        moves=("page size", "host memory"),
        breaks="seldom",
        usual=(1.05, 2.9),
        beside=("memory/transparent_hugepage/enabled", "memory/total"),
        why="Pages that are set aside at boot are there when wanted and gone for everybody else; transparent ones help "
        "while all fits in memory and hurt where weights are paged from a disk (3.5 against 2.0 tok/s).",
        confirm="grep -i huge /proc/meminfo in both runs; set /sys/kernel/mm/transparent_hugepage/enabled and repeat",
        confirmed=1,
        sources=(
            "https://docs.kernel.org/admin-guide/mm/hugetlbpage.html",
            "https://github.com/ubergarm/ik_llama.cpp/pull/1",
        ),
    ),
    Rule(
        name="boot-numa",
        sees=booted("numa* acpi_numa sched_numa* nohmat"),
        moves=("page placement",),
        usual=(1.02, 1.8),
        beside=("numa/online", "gpu/*/pcie/numa_node"),
        why="With numa=off the kernel takes all memory for one node and places pages as they come; numa_balancing= "
        "moves them afterwards, which helps one load and costs another 20 %.",
        confirm="numactl -H and numastat -p PID in both boots",
        sources=(PARAMETERS, "https://docs.kernel.org/admin-guide/sysctl/kernel.html"),
    ),
    Rule(
        name="boot-memory",
        sees=booted(
            "mem memmap cma kernelcore movablecore crashkernel init_on_* page_poison* page_owner page_reporting*"
            " slub_* slab_* kasan* kfence* zswap.* memory_hotplug* memhp* memtest balloon* mem_encrypt"
        ),
        moves=("host memory", "cpu time", "host memory bandwidth"),
        breaks="seldom",
        beside=("memory/total",),
        why="Memory that is left out or held back, cleared when it is handed out, checked, or encrypted: less of it, "
        "and more work at each fault and each free.",
        confirm="free -b in both boots; perf stat -e page-faults and usage/main/system for the start",
        sources=(PARAMETERS,),
    ),
    Rule(
        name="boot-accounting",
        sees=booted(
            "cgroup* systemd.* swapaccount psi delayacct audit* apparmor selinux security lsm enforcing lockdown"
            " ftrace* trace* kprobe* perf* bpf*"
        ),
        moves=("system calls", "cpu time"),
        phases=("host latency", "start-up", "decode step", "verify step", "any work"),
        shows=IN_KERNEL,
        usual=(1.0, 1.2),
        why="Who counts, checks and records what threads do: version of control groups and so whose limits hold, "
        "pressure, audit, security modules, tracers.",
        confirm="stat -fc %T /sys/fs/cgroup and /sys/kernel/security/lsm in both boots; perf trace -s COMMAND",
        sources=(PARAMETERS,),
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
)
