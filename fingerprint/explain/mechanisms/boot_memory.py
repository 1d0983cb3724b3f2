"""Parameters of the boot line for memory: how much, in which pages, on which node, and what is done to it."""

from fingerprint.explain.mechanisms.boot_line import booted
from fingerprint.explain.mechanisms.graph import Condition, Rule
from fingerprint.explain.mechanisms.kernel_code import IN_KERNEL, PARAMETERS

_COMPRESSED = (
    Condition(facts="memory/vmstat/zswpin", sign="worked", says="pages were decompressed"),
    Condition(facts="memory/vmstat/zswpout", sign="worked", says="pages were compressed"),
)
_HINTED = (
    Condition(facts="memory/vmstat/numa_hint_faults", sign="worked", says="pages were unmapped to see who uses them"),
)

RULES: tuple[Rule, ...] = (
    Rule(
        name="boot-huge-pages",
        sees=booted("*hugepage* thp_*"),
        moves=("page size", "host memory"),
        breaks="seldom",
        usual=(1.05, 2.9),
        beside=("memory/transparent_hugepage/enabled", "memory/total"),
        why="Transparent huge pages help while all fits in memory and hurt where weights are paged from a disk (3.5 "
        "against 2.0 tok/s).",
        confirm="grep -i huge /proc/meminfo in both runs; set /sys/kernel/mm/transparent_hugepage/enabled and repeat",
        confirmed=1,
        sources=(
            "https://docs.kernel.org/admin-guide/mm/transhuge.html",
            "https://github.com/ubergarm/ik_llama.cpp/pull/1",
        ),
    ),
    Rule(
        name="boot-huge-page-pool",
        sees=booted("hugepages* default_hugepagesz hugetlb*"),
        moves=("host memory", "page size"),
        breaks="often",
        beside=("memory/hugepages/*/nr_hugepages", "memory/total"),
        told_by=("host-memory-refused", "worker-killed"),
        why="Pages that are set aside at boot are there when wanted, in 1 GiB pieces too, which no running host finds "
        "any more; for everybody who did not ask for them they are gone, page cache included.",
        confirm="grep -i huge /proc/meminfo in both runs: are any of the pool in use?",
        sources=("https://docs.kernel.org/admin-guide/mm/hugetlbpage.html",),
    ),
    Rule(
        name="boot-numa",
        sees=booted("numa* acpi_numa nohmat"),
        moves=("page placement",),
        usual=(1.02, 1.8),
        beside=("numa/online", "gpu/*/pcie/numa_node"),
        why="With numa=off the kernel takes all memory for one node and places pages as they come; numa=fake makes "
        "nodes that are none.",
        confirm="numactl -H and numastat -p PID in both boots",
        sources=(PARAMETERS, "https://docs.kernel.org/admin-guide/sysctl/kernel.html"),
    ),
    Rule(
        name="boot-numa-balancing",
        sees=booted("numa_balancing sched_numa*"),
        moves=("page placement", "cpu time", "wake latency"),
        shows=_HINTED,
        beside=("kernel/sysctl/kernel/numa_balancing", "numa/online"),
        why="Pages are unmapped now and then to see who uses them and moved there, GPU drivers' mappings along: it "
        "helps threads that nobody pinned, and costs those that are some percent. Makers of GPUs recommend to switch "
        "it off.",
        confirm="sysctl -w kernel.numa_balancing=0 without a boot, then the same run",
        sources=(
            "https://docs.kernel.org/admin-guide/sysctl/kernel.html",
            "https://docs.sglang.io/platforms/amd_gpu.html",
            "https://nvidia.github.io/grace-cpu-benchmarking-guide/platform/index.html",
        ),
    ),
    Rule(
        name="boot-memory-size",
        sees=booted("mem memmap memblock* cma* kernelcore movablecore movable_node crashkernel hv_balloon*"),
        moves=("host memory", "page cache"),
        best=("absent",),
        breaks="seldom",
        beside=("memory/total",),
        told_by=("host-memory-refused", "worker-killed"),
        why="Memory that is left out, or held back for a crash kernel, for devices, or for what can be moved (which "
        "takes no pinned buffers). Of account where the rest is too small for weights and page cache.",
        confirm="free -b in both boots, and reclaim during the run (memory/vmstat)",
        sources=(PARAMETERS, "https://docs.kernel.org/admin-guide/kdump/kdump.html"),
    ),
    Rule(
        name="boot-memory-clearing",
        sees=booted("init_on_alloc init_on_free init_mlocked_on_free page_poison* want_init_on*"),
        moves=("host memory bandwidth", "cpu time"),
        best=("0", "off", "n"),
        phases=("start-up", "host latency", "transfer", "any work"),
        shows=IN_KERNEL,
        usual=(1.0, 1.08),
        why="Pages and objects are cleared when they are handed out, or when they are given back: below 1 % mostly in "
        "the one case, 3 to 5 % and 8 at worst in the other, where memory comes and goes; once it is held, nothing.",
        confirm="perf top during the start: clear_page and memset; boot with init_on_alloc=0 init_on_free=0",
        sources=(
            "https://www.kernelconfig.io/config_init_on_free_default_on",
            "https://nvidia.github.io/grace-cpu-benchmarking-guide/platform/index.html",
            PARAMETERS,
        ),
    ),
    Rule(
        name="boot-memory-checks",
        sees=booted("page_owner slub_debug slab_debug kasan* kfence* kmemleak debug_pagealloc page_table_check"),
        moves=("cpu time", "system calls", "host memory"),
        best=("0", "off"),
        shows=IN_KERNEL,
        breaks="seldom",
        beside=("kernel/release",),
        why="The kernel checks its own memory, or notes who took it: nothing for sampling as kfence does it, a "
        "multiple of each system call and much memory where every object is followed.",
        confirm="slabtop and perf top in both boots; boot without the word",
        sources=("https://docs.kernel.org/dev-tools/index.html", PARAMETERS),
    ),
    Rule(
        name="boot-memory-encryption",
        sees=booted("mem_encrypt tdx* sev* kvm_amd.sev*"),
        moves=("host memory bandwidth", "pcie link"),
        best=("off",),
        beside=("cpu/processor/hypervisor", "driver/confidential_computing/feature"),
        why="Memory is encrypted on its way out of the processor: some nanoseconds at each access. Where devices "
        "cannot reach encrypted pages, what they transfer is copied through a pool first.",
        confirm="dmesg | grep -iE 'memory encryption|swiotlb' in both boots; a pinned and a pageable copy in both",
        sources=("https://docs.kernel.org/arch/x86/amd-memory-encryption.html",),
    ),
    Rule(
        name="boot-zswap",
        sees=booted("zswap.*"),
        moves=("host memory", "cpu time"),
        binds=_COMPRESSED,
        beside=("memory/zswap/enabled",),
        why="Whether, and with which compressor, pages that would go to a disk are held in memory: CPU time at both "
        "ends. Where nothing is swapped it moves nothing.",
        confirm="echo N > /sys/module/zswap/parameters/enabled without a boot, then the same run",
        sources=("https://docs.kernel.org/admin-guide/mm/zswap.html",),
    ),
    Rule(
        name="boot-kexec-handover",
        sees=booted("kho kho_scratch"),
        moves=("host memory", "network", "availability"),
        breaks="often",
        beside=("kernel/release", "memory/total"),
        told_by=("register-memory-failed",),
        why="A kernel that can hand memory over to the next one sets regions aside in which pages may lie only as "
        "long as they can be moved. What is pinned for long, as for RDMA, has to leave them first, and where CUDA "
        "holds most of a machine's memory a registration may find no other place and fail.",
        confirm="grep -i cma /proc/meminfo in both boots; kho=off for one boot, then the same registrations",
        sources=(
            "https://docs.kernel.org/core-api/kho/concepts.html",
            "https://github.com/NVIDIA/NV-Kernels/pull/591",
            "https://github.com/MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark/issues/259",
        ),
    ),
    Rule(
        name="boot-memory",
        sees=booted("slub_* slab_* memory_hotplug* memhp* memtest balloon* page_reporting* page_alloc*"),
        moves=("host memory", "cpu time", "host memory bandwidth"),
        breaks="seldom",
        beside=("memory/total",),
        why="How the kernel's own objects are packed, free pages are shuffled, and memory that comes later is taken: "
        "percents of work at each fault and each free.",
        confirm="free -b in both boots; perf stat -e page-faults and usage/main/system for the start",
        sources=(PARAMETERS,),
    ),
)
