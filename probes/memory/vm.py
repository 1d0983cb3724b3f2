"""The parameters of /proc/sys/vm that can move a number, under their own names."""

from probes.kit.facts import Section, Seen
from probes.kit.host import Host
from probes.kit.knobs import number_tuple, read_each, sysctl

# khugepaged raises min_free_kbytes while THP is on (mm/khugepaged.c), and the kernel derives it from the square
# root of memory/total: 64 MiB of that are within its tolerance.
#
# Of each pair below the kernel zeroes the one that is not set (mm/page-writeback.c, mm/util.c). Bytes decide
# which is in force, so the ratio is said to follow them and never the reverse: one suspect for
# the two. Writing 0 to bytes is refused or zeroes both (seen on Linux 6.18): a write to the ratio sets them back.


class Vm(Section):
    """/proc/sys/vm."""

    swappiness: Seen[int] = sysctl(
        "vm.swappiness", "A high value swaps out idle anonymous pages of a server, each touched again at disk speed"
    )
    dirty_ratio: Seen[int] = sysctl(
        "vm.dirty_ratio",
        "Share of available memory at which a writer is throttled to the disk's speed",
        "%",
        follows=("memory/vm/dirty_bytes",),
    )
    dirty_bytes: Seen[int] = sysctl(
        "vm.dirty_bytes",
        "The writer's throttling limit in bytes; 0 where dirty_ratio is the one in force",
        "bytes",
        restore="",
    )
    dirty_background_ratio: Seen[int] = sysctl(
        "vm.dirty_background_ratio",
        "Share of available memory at which writeback starts and competes for the disk",
        "%",
        follows=("memory/vm/dirty_background_bytes",),
    )
    dirty_background_bytes: Seen[int] = sysctl(
        "vm.dirty_background_bytes",
        "Start of writeback in bytes; 0 where dirty_background_ratio is in force",
        "bytes",
        restore="",
    )
    dirty_expire_centisecs: Seen[int] = sysctl(
        "vm.dirty_expire_centisecs",
        "Age at which a dirty page must be written: short ages turn logging into steady writes",
        "1/100 s",
    )
    dirty_writeback_centisecs: Seen[int] = sysctl(
        "vm.dirty_writeback_centisecs",
        "How often the flusher wakes: the period of write bursts beside a run",
        "1/100 s",
    )
    min_free_kbytes: Seen[int] = sysctl(
        "vm.min_free_kbytes",
        "Below the watermark that it sets allocations reclaim by themselves; khugepaged raises it",
        "kB",
        follows=("memory/transparent_hugepage/**/enabled", "memory/transparent_hugepage/shmem_enabled", "memory/total"),
        tolerance=16,
    )
    watermark_scale_factor: Seen[int] = sysctl(
        "vm.watermark_scale_factor",
        "How early kswapd wakes: too late, and a burst of allocations stalls in direct reclaim",
        "1/10000 of memory",
    )
    watermark_boost_factor: Seen[int] = sysctl(
        "vm.watermark_boost_factor",
        "Reclaim beyond need after fragmentation: it drops page cache that holds weights",
        "1/10000 of the high watermark",
    )
    compaction_proactiveness: Seen[int] = sysctl(
        "vm.compaction_proactiveness", "Background compaction moves pages, which pauses the threads that use them", "%"
    )
    compact_unevictable_allowed: Seen[int] = sysctl(
        "vm.compact_unevictable_allowed",
        "Whether compaction may fault mlocked pages: latency spikes in pinned programs",
    )
    extfrag_threshold: Seen[int] = sysctl(
        "vm.extfrag_threshold",
        "Whether a failing large allocation compacts or reclaims: which of the two is paid",
        "1/1000",
    )
    defrag_mode: Seen[int] = sysctl(
        "vm.defrag_mode", "Makes small allocations reclaim rather than fragment, for the sake of later huge pages"
    )
    vfs_cache_pressure: Seen[int] = sysctl(
        "vm.vfs_cache_pressure", "How fast directory and inode caches go: start-up imports look up 100,000 files", "%"
    )
    stat_interval: Seen[int] = sysctl(
        "vm.stat_interval", "Period of a per-CPU timer that interrupts otherwise isolated cores", "s"
    )
    max_map_count: Seen[int] = sysctl(
        "vm.max_map_count",
        "Mappings a process may hold: allocators that map expandable segments fail or fall back at it",
    )
    page_cluster: Seen[int] = sysctl(
        "vm.page-cluster",
        "Pages read ahead at a swap-in, as a power of two: fault latency where swap is in use",
        "log2 pages",
    )
    zone_reclaim_mode: Seen[int] = sysctl(
        "vm.zone_reclaim_mode",
        "Set, a node reclaims its own page cache rather than use a free neighbour: stalls, lost cache",
    )
    min_unmapped_ratio: Seen[int] = sysctl(
        "vm.min_unmapped_ratio", "The unmapped page cache that zone reclaim leaves on a node", "% of a node"
    )
    min_slab_ratio: Seen[int] = sysctl(
        "vm.min_slab_ratio",
        "The reclaimable slab above which zone reclaim shrinks a node's kernel caches",
        "% of a node",
    )
    overcommit_memory: Seen[int] = sysctl(
        "vm.overcommit_memory",
        "2 refuses the large reservations that CUDA and allocators make, and fork of big processes",
    )
    overcommit_ratio: Seen[int] = sysctl(
        "vm.overcommit_ratio",
        "Share of memory that may be committed where overcommit_memory is 2",
        "%",
        follows=("memory/vm/overcommit_kbytes",),
    )
    overcommit_kbytes: Seen[int] = sysctl(
        "vm.overcommit_kbytes",
        "Committable memory in kB where overcommit_memory is 2; 0 where the ratio is in force",
        "kB",
        restore="",
    )
    admin_reserve_kbytes: Seen[int] = sysctl(
        "vm.admin_reserve_kbytes",
        "Memory kept from plain users under strict overcommit",
        "kB",
        context=True,
        follows=("memory/total",),
    )
    user_reserve_kbytes: Seen[int] = sysctl(
        "vm.user_reserve_kbytes",
        "Memory that one process may not take from its own user under strict overcommit",
        "kB",
        context=True,
        follows=("memory/total",),
    )
    percpu_pagelist_high_fraction: Seen[int] = sysctl(
        "vm.percpu_pagelist_high_fraction", "Length of per-CPU free lists: short ones contend on the zone lock"
    )
    lowmem_reserve_ratio: Seen[tuple[int, ...]] = sysctl(
        "vm.lowmem_reserve_ratio", "Memory of lower zones withheld from user pages: an early reclaim on small nodes"
    )
    numa_stat: Seen[int] = sysctl(
        "vm.numa_stat",
        "0 stops the counting of node hits and misses: then those counters stand still and prove nothing",
        context=True,
    )
    page_lock_unfairness: Seen[int] = sysctl(
        "vm.page_lock_unfairness", "How often a page lock may be stolen: tail latency of faults on shared files"
    )
    laptop_mode: Seen[int] = sysctl(
        "vm.laptop_mode", "Delays writeback and then flushes all at once: bursts of disk traffic", "s"
    )
    legacy_va_layout: Seen[int] = sysctl(
        "vm.legacy_va_layout",
        "Maps from the bottom of the address space up: other alignment and gaps for large mappings",
    )
    hugetlb_optimize_vmemmap: Seen[int] = sysctl(
        "vm.hugetlb_optimize_vmemmap",
        "Frees the page structs of huge pages: allocating and freeing them becomes slower",
    )
    hugetlb_shm_group: Seen[int] = sysctl(
        "vm.hugetlb_shm_group",
        "The group that may make huge-page shared memory: others fall back to small pages",
        "gid",
    )
    oom_kill_allocating_task: Seen[int] = sysctl(
        "vm.oom_kill_allocating_task",
        "Who dies when memory runs out: the task that asked, not the largest",
        context=True,
    )
    panic_on_oom: Seen[int] = sysctl(
        "vm.panic_on_oom", "Whether running out of memory ends in a reboot, which resets every setting", context=True
    )
    memory_failure_early_kill: Seen[int] = sysctl(
        "vm.memory_failure_early_kill",
        "Whether a process dies at once when a page of its memory goes bad",
        context=True,
    )
    enable_soft_offline: Seen[int] = sysctl(
        "vm.enable_soft_offline", "Pages with correctable errors are migrated away, and huge pages are split for it"
    )


def read_vm(host: Host) -> Vm:
    return read_each(
        Vm, host.number, lowmem_reserve_ratio=number_tuple(host, Vm.__facts__["lowmem_reserve_ratio"].source)
    )
