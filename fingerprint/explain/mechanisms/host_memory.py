"""How much memory of the host there is to be had, what is reclaimed when it runs short, and where it lies."""

from fingerprint.explain.mechanisms.graph import Condition, Rule

_VM = "https://docs.kernel.org/admin-guide/sysctl/vm.html"
_CGROUP = "https://docs.kernel.org/admin-guide/cgroup-v2.html"
_ZSWAP = "https://docs.kernel.org/admin-guide/mm/zswap.html"
_HOTPLUG = "https://docs.kernel.org/admin-guide/mm/memory-hotplug.html"
_EVENTS = "usage/main/cgroup/memory_events"

_SWAPPED = (
    Condition(facts="memory/vmstat/pswpin", sign="grew", says="pages were read back from swap"),
    Condition(facts="memory/vmstat/pswpout", sign="grew", says="pages were written to swap"),
)
_COMPRESSED = (
    Condition(facts="memory/vmstat/zswpin", sign="worked", says="pages were decompressed"),
    Condition(facts="memory/vmstat/zswpout", sign="worked", says="pages were compressed"),
)
_STALLED = (
    Condition(facts="memory/vmstat/allocstall", sign="grew", says="allocations had to reclaim by themselves"),
    Condition(facts="memory/vmstat/pgscan_direct", sign="grew", says="stalled allocations looked for pages"),
)
_RECLAIMED = (
    *_STALLED,
    Condition(facts="memory/vmstat/pgscan_kswapd", sign="grew", says="kswapd looked for pages"),
)
_FAR_PAGES = (
    Condition(facts="numa/nodes/*/other_node", sign="grew", says="threads got memory of another node", least=1000),
    Condition(
        facts="memory/vmstat/numa_miss", sign="grew", says="pages were placed on another node than wanted", least=100
    ),
)

RULES: tuple[Rule, ...] = (
    Rule(
        name="cgroup-memory-max",
        sees=("process/*/cgroup/memory_max",),
        moves=("host memory", "page cache"),
        way="more helps",
        binds=(
            Condition(facts=f"{_EVENTS}/max", sign="grew", says="the group came to its limit"),
            Condition(facts=f"{_EVENTS}/oom_kill", sign="grew", says="a process of the group was killed"),
        ),
        breaks="often",
        usual=(1.2, 20.0),
        told_by=("worker-killed", "host-memory-refused"),
        why="At its limit a group reclaims its own page cache, mapped weights included, then swaps, then is killed.",
        confirm="memory.events of the cgroup before and after the run; raise memory.max",
        confirmed=1,
        sources=(
            _CGROUP,
            "https://github.com/elasticdotventures/_b00t_/pull/1260",
        ),
    ),
    Rule(
        name="cgroup-memory-high",
        sees=("process/*/cgroup/memory_high",),
        moves=("host memory",),
        way="more helps",
        binds=(
            Condition(facts=f"{_EVENTS}/high", sign="grew", says="threads of the group were slowed down for memory"),
        ),
        usual=(1.1, 20.0),
        why="Above it each allocation reclaims and is made to sleep; nothing fails and no log tells it.",
        confirm="memory.events of the cgroup before and after the run; write max to memory.high",
        sources=(_CGROUP,),
    ),
    Rule(
        name="cgroup-memory-events",
        sees=("usage/*/cgroup/memory_events", "usage/*/cgroup/memory_events/*"),
        moves=("host memory", "availability", "page cache"),
        way="less helps",
        breaks="often",
        usual=(1.1, 20.0),
        beside=("process/*/cgroup/memory_max", "process/*/cgroup/memory_high"),
        told_by=("worker-killed",),
        why="The run's group came to a limit of its memory more than in the other run: it reclaimed, was slowed down "
        "or lost a process.",
        confirm="Raise memory.max and memory.high; the counters must stand still",
        sources=(_CGROUP,),
    ),
    Rule(
        name="cgroup-swap-max",
        sees=("process/*/cgroup/memory_swap_max",),
        moves=("host memory", "availability"),
        binds=(
            *_SWAPPED,
            Condition(facts=f"{_EVENTS}/oom_kill", sign="grew", says="a process of the group was killed"),
        ),
        breaks="seldom",
        usual=(1.2, 20.0),
        told_by=("worker-killed",),
        why="Whether a group that is full slows down by swapping or loses a process.",
        confirm="memory.swap.current during the run; write 0 and see whether it is killed",
        sources=(_CGROUP,),
    ),
    Rule(
        name="memory-size",
        sees=("memory/total",),
        moves=("host memory", "page cache"),
        way="more helps",
        binds=(
            *_RECLAIMED,
            Condition(
                facts="memory/vmstat/workingset_refault_file", sign="grew", says="files were read again soon after"
            ),
        ),
        breaks="often",
        usual=(1.1, 20.0),
        told_by=("worker-killed", "host-memory-refused"),
        why="A failed module, a smaller guest or a crash kernel leaves less for weights in the page cache; where "
        "nothing was reclaimed it means nothing.",
        confirm="memory/vmstat counters of reclaim during the run; dmidecode -t memory for the modules",
        sources=("https://docs.kernel.org/filesystems/proc.html",),
    ),
    Rule(
        name="swap-devices",
        sees=(
            "memory/swap_total",
            "memory/swap",
            "memory/swap/*/type",
            "memory/swap/*/size",
            "memory/swap/*/priority",
        ),
        moves=("host memory", "storage"),
        binds=_SWAPPED,
        breaks="seldom",
        usual=(1.2, 20.0),
        why="Pages that went to swap come back in microseconds from zram and in milliseconds from a disk; without swap "
        "the kernel drops page cache and kills instead.",
        confirm="vmstat 1 during the run: si and so; swapoff -a where memory suffices",
        sources=(_VM, "https://man7.org/linux/man-pages/man8/swapon.8.html"),
    ),
    Rule(
        name="swappiness",
        sees=("memory/vm/swappiness",),
        moves=("host memory", "page cache"),
        binds=(*_SWAPPED, *_RECLAIMED),
        usual=(1.02, 2.0),
        why="Under pressure it weighs a server's idle pages, touched again at disk speed, against the page cache that "
        "holds its weights.",
        confirm="sysctl -w vm.swappiness=1, then the same run beside the same neighbours",
        sources=(_VM,),
    ),
    Rule(
        name="swap-readahead",
        sees=("memory/vm/page_cluster", "memory/vma_ra_enabled"),
        moves=("host memory",),
        binds=_SWAPPED[:1],
        usual=(1.02, 1.5),
        why="How much is read with each page that is swapped in: waste on zram, a gain on disks.",
        confirm="sysctl -w vm.page-cluster=0, then the same run",
        sources=(_VM,),
    ),
    Rule(
        name="zswap",
        sees=(
            "memory/zswap/enabled",
            "memory/zswap/compressor",
            "memory/zswap/max_pool_percent",
            "memory/zswap/accept_threshold_percent",
            "memory/zswap/shrinker_enabled",
        ),
        moves=("host memory", "cpu time"),
        binds=(*_COMPRESSED, *_SWAPPED),
        usual=(1.05, 3.0),
        why="Pages that would go to a disk are compressed in memory: CPU time at both ends, and less memory for the "
        "rest.",
        confirm="memory/usage/zswapped during the run; echo N > /sys/module/zswap/parameters/enabled",
        sources=(_ZSWAP,),
    ),
    Rule(
        name="writeback",
        sees=(
            "memory/vm/dirty_ratio",
            "memory/vm/dirty_bytes",
            "memory/vm/dirty_background_ratio",
            "memory/vm/dirty_background_bytes",
        ),
        moves=("storage",),
        binds=(Condition(facts="pressure/io/some/total", sign="grew", says="threads waited for a disk", least=1e5),),
        usual=(1.05, 2.0),
        why="From how many dirty pages on they are written, and a writer is held to the disk's speed: checkpoints, "
        "logs and compile caches, or a neighbour's writes that compete with reads of weights.",
        confirm="Dirty and Writeback of /proc/meminfo during the run; write the outputs to /dev/shm once",
        sources=(_VM,),
    ),
    Rule(
        name="writeback-pace",
        sees=(
            "memory/vm/dirty_expire_centisecs",
            "memory/vm/dirty_writeback_centisecs",
            "memory/vm/laptop_mode",
        ),
        moves=("storage",),
        binds=(Condition(facts="pressure/io/some/total", sign="grew", says="threads waited for a disk", least=1e5),),
        why="How old a dirty page may become and how often the flusher looks: seldom and then much at once, which "
        "reads wait behind, or a little all the time. The amount of writing is the same.",
        confirm="iostat -x 1 during the run: bursts of writes in the one, and reads that wait then",
        sources=(_VM, "https://docs.kernel.org/admin-guide/laptops/laptop-mode.html"),
    ),
    Rule(
        name="reclaim-watermarks",
        sees=(
            "memory/vm/min_free_kbytes",
            "memory/vm/watermark_scale_factor",
            "memory/vm/lowmem_reserve_ratio",
        ),
        moves=("host memory",),
        binds=_RECLAIMED,
        usual=(1.02, 1.5),
        why="How much stays free and how early kswapd starts: too late, and a burst of allocations while weights are "
        "loaded reclaims in the threads that load.",
        confirm="sysctl -w vm.watermark_scale_factor=100, then the same run; allocstall must stand still",
        sources=(_VM,),
    ),
    Rule(
        name="watermark-boost",
        sees=("memory/vm/watermark_boost_factor",),
        moves=("page cache", "page size"),
        binds=_RECLAIMED,
        usual=(1.0, 1.3),
        why="After memory has become fragmented it reclaims more than is needed, page cache with weights included.",
        confirm="sysctl -w vm.watermark_boost_factor=0, then the same run",
        sources=(_VM,),
    ),
    Rule(
        name="zone-reclaim",
        sees=("memory/vm/zone_reclaim_mode", "memory/vm/min_unmapped_ratio", "memory/vm/min_slab_ratio"),
        moves=("page cache", "page placement", "host memory"),
        binds=(
            *_STALLED,
            Condition(
                facts="memory/vmstat/zone_reclaim_failed", sign="grew", says="reclaim on a node freed nothing there"
            ),
        ),
        usual=(1.05, 2.0),
        beside=("numa/nodes/*/distance",),
        why="A node that is full drops its own page cache, in the thread that allocates, rather than take a free page "
        "of its neighbour.",
        confirm="sysctl -w vm.zone_reclaim_mode=0, then the same run",
        sources=(_VM,),
    ),
    Rule(
        name="inode-cache-pressure",
        sees=("memory/vm/vfs_cache_pressure",),
        moves=("storage",),
        phases=("start-up", "any work"),
        binds=_RECLAIMED,
        usual=(1.0, 1.3),
        why="How soon look-ups of files are forgotten when memory is short: an import of a framework makes 100,000 of "
        "them.",
        confirm="memory/usage/slab_reclaimable at the start of both runs; start twice and compare the second",
        sources=(_VM,),
    ),
    Rule(
        name="reclaim-algorithm",
        sees=("memory/lru_gen/enabled", "memory/lru_gen/min_ttl_ms"),
        moves=("host memory", "page cache"),
        binds=_RECLAIMED,
        breaks="seldom",
        usual=(1.02, 1.5),
        why="Which pages leave memory first under pressure, and whether a young working set is spared by killing.",
        confirm="Write the other run's value to /sys/kernel/mm/lru_gen/enabled, then the same run",
        sources=("https://docs.kernel.org/admin-guide/mm/multigen_lru.html",),
    ),
    Rule(
        name="overcommit",
        sees=("memory/vm/overcommit_memory", "memory/vm/overcommit_ratio", "memory/vm/overcommit_kbytes"),
        moves=("availability",),
        phases=("start-up", "any work"),
        breaks="often",
        beside=("memory/total", "memory/swap_total"),
        told_by=("host-memory-refused",),
        why="Strict accounting refuses what is only reserved: address space of CUDA and of allocators, and the fork of "
        "a process that holds much. What is refused fails or takes another way.",
        confirm="Committed_AS against CommitLimit in /proc/meminfo during the run",
        sources=("https://docs.kernel.org/mm/overcommit-accounting.html",),
    ),
    Rule(
        name="mappings-limit",
        sees=("memory/vm/max_map_count",),
        moves=("availability", "host memory", "gpu memory"),
        way="more helps",
        breaks="often",
        told_by=("host-memory-refused",),
        why="An allocator that may make no more mappings fails or gives up its expandable segments. How many a process "
        "has is counted in no fact.",
        confirm="wc -l /proc/PID/maps of the server during the run, against the value",
        sources=(_VM,),
    ),
    Rule(
        name="vm-statistics-timer",
        sees=("memory/vm/stat_interval",),
        moves=("cpu time",),
        usual=(1.0, 1.02),
        beside=("cpu/isolated", "cpu/nohz_full"),
        why="How often each CPU is interrupted to fold its counters of memory: a matter of isolated CPUs that poll.",
        confirm="sysctl -w vm.stat_interval=120, then the same run",
        sources=(_VM,),
    ),
    Rule(
        name="free-page-lists",
        sees=("memory/vm/percpu_pagelist_high_fraction",),
        moves=("host memory",),
        usual=(1.0, 1.2),
        why="How many free pages a CPU keeps for itself: short lists make threads that fault in much memory at once "
        "meet at one lock.",
        confirm="perf top while weights are loaded: time in rmqueue_bulk and its spin lock",
        sources=(_VM,),
    ),
    Rule(
        name="page-lock-unfairness",
        sees=("memory/vm/page_lock_unfairness",),
        moves=("page cache",),
        why="Threads that fault on the same pages of a file may overtake each other so often: throughput against the "
        "longest wait.",
        confirm="sysctl -w vm.page_lock_unfairness=5, the kernel's default, then the same run",
        sources=(_VM,),
    ),
    Rule(
        name="same-page-merging",
        sees=("memory/ksm/*",),
        moves=("cpu time", "host memory", "page placement"),
        binds=(Condition(facts="memory/ksm/full_scans", sign="worked", says="ksmd scanned during the run"),),
        usual=(1.02, 1.3),
        why="ksmd takes part of a core, a write to a merged page copies it first, and a merged page may lie on another "
        "node than who reads it.",
        confirm="echo 0 > /sys/kernel/mm/ksm/run, then the same run",
        sources=("https://docs.kernel.org/admin-guide/mm/ksm.html",),
    ),
    Rule(
        name="memory-hotplug",
        sees=("memory/hotplug/auto_online_blocks", "memory/hotplug/online_policy", "memory/hotplug/memmap_on_memory"),
        moves=("page placement", "host memory"),
        breaks="seldom",
        beside=("numa/has_memory", "numa/nodes/*/size"),
        why="Whether memory that was added (a GPU's own on coherent hosts, CXL, a guest's) is used at once and by "
        "whom: a movable zone takes no pinned buffers, and page tables in slow memory make faults slow.",
        confirm="/sys/devices/system/memory/memory*/valid_zones in both states",
        sources=(_HOTPLUG,),
    ),
    Rule(
        name="memory-demotion",
        sees=("memory/demotion_enabled",),
        moves=("page placement", "host memory"),
        binds=(
            Condition(facts="memory/vmstat/pgdemote_direct", sign="worked", says="pages were pushed to slow memory"),
            Condition(facts="memory/vmstat/pgpromote_success", sign="worked", says="pages were brought back from it"),
        ),
        usual=(1.05, 3.0),
        why="Under pressure pages go to slower memory instead of away: they are kept, and each use is slower.",
        confirm="echo false > /sys/kernel/mm/numa/demotion_enabled, then the same run",
        sources=("https://docs.kernel.org/admin-guide/mm/numaperf.html",),
    ),
    Rule(
        name="memory-nodes",
        sees=("process/*/mems_allowed", "process/*/cgroup/cpuset_mems"),
        moves=("page placement", "host memory"),
        shows=_FAR_PAGES,
        breaks="often",
        usual=(1.02, 1.8),
        beside=("process/*/affinity", "numa/nodes/*/distance", "gpu/*/pcie/numa_node"),
        why="Memory comes from these nodes only: threads and GPUs of the others reach it over the link between "
        "sockets, and what does not fit there is reclaimed while others are free. Effects from 2 % (all in GPU memory) "
        "to 1.8x.",
        confirm="numastat -p PID in both runs; numactl --membind to the GPU's node",
        confirmed=2,
        sources=(
            "https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html",
            "https://github.com/NVIDIA/TensorRT-LLM/pull/18117",
        ),
    ),
)
