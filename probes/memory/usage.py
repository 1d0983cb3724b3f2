"""How memory is used and what it cost: /proc/meminfo and /proc/vmstat."""

from collections.abc import Mapping
from typing import Any

from probes.kit.facts import Gap, Section, Seen, counter, telemetry, then
from probes.kit.host import Host
from probes.kit.parse import fields, kib

MEMINFO = "/proc/meminfo"
VMSTAT = "/proc/vmstat"


def _size(why: str, name: str) -> Any:
    return telemetry(why, f"{MEMINFO}, {name}", "kB")


def _events(why: str, name: str, unit: str = "") -> Any:
    return counter(why, f"{VMSTAT}, {name}", unit)


class Usage(Section):
    """Of /proc/meminfo, in its kB of 1024 bytes."""

    free: Seen[int] = _size("Memory nobody uses, not even as cache: huge pages are made of it", "MemFree")
    available: Seen[int] = _size(
        "What a program can still get without swapping: near 0 explains stalls", "MemAvailable"
    )
    cached: Seen[int] = _size("The page cache: weights found in it load at memory speed, 281 s against 4.2 s", "Cached")
    buffers: Seen[int] = _size("Cache of block devices: grows where something reads a raw disk", "Buffers")
    dirty: Seen[int] = _size("Writes not yet on disk: near the limit every writer is throttled", "Dirty")
    writeback: Seen[int] = _size("Pages on their way to the disk now: competition for its bandwidth", "Writeback")
    anon_pages: Seen[int] = _size("What programs hold: a neighbour or an orphan of an earlier server", "AnonPages")
    anon_huge_pages: Seen[int] = _size(
        "Program memory that really is huge: whether the mode had an effect", "AnonHugePages"
    )
    shmem: Seen[int] = _size("tmpfs, memfd and System V segments: buffers left behind by killed workers", "Shmem")
    shmem_huge_pages: Seen[int] = _size("Shared memory that is in huge pages", "ShmemHugePages")
    file_huge_pages: Seen[int] = _size("Page cache in huge folios: fewer TLB misses in mapped weights", "FileHugePages")
    mapped: Seen[int] = _size("Files mapped by programs: weights that are used through mmap", "Mapped")
    unevictable: Seen[int] = _size(
        "Pages that reclaim cannot take: locked memory, ramfs and locked segments", "Unevictable"
    )
    mlocked: Seen[int] = _size("Memory locked by programs: whether --mlock had its effect", "Mlocked")
    slab_reclaimable: Seen[int] = _size("Caches of inodes and directories: file look-ups at start-up", "SReclaimable")
    slab_unreclaimable: Seen[int] = _size("Kernel memory that cannot be freed: it grows with leaks", "SUnreclaim")
    page_tables: Seen[int] = _size("Page tables: large where terabytes are mapped in small pages", "PageTables")
    kernel_stack: Seen[int] = _size("Stacks of all threads: how many there are", "KernelStack")
    percpu: Seen[int] = _size("Per-CPU memory of the kernel: many cgroups make it large", "Percpu")
    swap_free: Seen[int] = _size("Swap that is left: 0 means that the next shortage kills", "SwapFree")
    swap_cached: Seen[int] = _size("Pages that were read back and still have a copy in swap", "SwapCached")
    zswapped: Seen[int] = _size("Program memory that is held compressed: each use decompresses it", "Zswapped")
    committed: Seen[int] = _size("Address space promised to programs, against commit_limit", "Committed_AS")
    commit_limit: Seen[int] = _size("What may be promised where overcommit_memory is 2", "CommitLimit")
    hardware_corrupted: Seen[int] = _size("Memory taken out of use after uncorrectable errors", "HardwareCorrupted")
    balloon: Seen[int] = _size("Memory that the hypervisor took back from this guest", "Balloon")


class Vmstat(Section):
    """Events of /proc/vmstat since boot."""

    pgmajfault: Seen[int] = _events(
        "Faults that waited for a disk: weights or code that were not in memory", "pgmajfault"
    )
    pswpin: Seen[int] = _events(
        "Pages read back from swap: each one a stall of the thread that touched it", "pswpin", "pages"
    )
    pswpout: Seen[int] = _events("Pages written to swap: memory ran short during the run", "pswpout", "pages")
    zswpin: Seen[int] = _events("Pages decompressed out of zswap on a fault", "zswpin", "pages")
    zswpout: Seen[int] = _events("Pages compressed into zswap under pressure", "zswpout", "pages")
    allocstall: Seen[int] = _events("Allocations that had to reclaim by themselves", "sum of allocstall_*")
    pgscan_direct: Seen[int] = _events(
        "Pages looked at by stalled allocations: how long they stalled", "pgscan_direct", "pages"
    )
    pgsteal_direct: Seen[int] = _events("Pages that stalled allocations took from others", "pgsteal_direct", "pages")
    pgscan_kswapd: Seen[int] = _events("Pages looked at by kswapd: its share of a core", "pgscan_kswapd", "pages")
    pgsteal_kswapd: Seen[int] = _events("Page cache that kswapd dropped during the run", "pgsteal_kswapd", "pages")
    workingset_refault_file: Seen[int] = _events(
        "Cache pages read again soon after they were dropped: memory is too small for the files in use",
        "workingset_refault_file",
        "pages",
    )
    workingset_refault_anon: Seen[int] = _events(
        "Program pages swapped in soon after they were swapped out: thrashing", "workingset_refault_anon", "pages"
    )
    compact_stall: Seen[int] = _events("Allocations that waited for compaction: THP defrag at work", "compact_stall")
    compact_fail: Seen[int] = _events("Compactions that found no huge page: memory is fragmented", "compact_fail")
    compact_success: Seen[int] = _events("Waits for compaction that ended with a huge page", "compact_success")
    thp_fault_alloc: Seen[int] = _events("Faults served with a huge page", "thp_fault_alloc")
    thp_fault_fallback: Seen[int] = _events(
        "Faults that wanted a huge page and got small ones: same mode, slower run", "thp_fault_fallback"
    )
    thp_collapse_alloc: Seen[int] = _events("Huge pages that khugepaged made room for", "thp_collapse_alloc")
    thp_collapse_alloc_failed: Seen[int] = _events(
        "Collapses given up for lack of a free huge page", "thp_collapse_alloc_failed"
    )
    thp_split_page: Seen[int] = _events("Huge pages broken up: the TLB reach they gave is gone", "thp_split_page")
    thp_migration_fail: Seen[int] = _events(
        "Huge pages that could not be moved between nodes whole", "thp_migration_fail"
    )
    numa_pte_updates: Seen[int] = _events(
        "Page table entries that balancing unmapped to see who uses them", "numa_pte_updates"
    )
    numa_hint_faults: Seen[int] = _events(
        "Faults that balancing caused on purpose: each stops a thread", "numa_hint_faults"
    )
    numa_hint_faults_local: Seen[int] = _events(
        "Of those, on memory that was local already: cost for nothing", "numa_hint_faults_local"
    )
    numa_pages_migrated: Seen[int] = _events("Pages that balancing moved between nodes", "numa_pages_migrated", "pages")
    numa_miss: Seen[int] = _events("Pages put on another node than wanted: remote from then on", "numa_miss", "pages")
    pgmigrate_success: Seen[int] = _events(
        "Pages moved by compaction, balancing or hot-unplug", "pgmigrate_success", "pages"
    )
    pgmigrate_fail: Seen[int] = _events(
        "Pages that could not be moved: pinned buffers that block compaction", "pgmigrate_fail", "pages"
    )
    pgpromote_success: Seen[int] = _events("Pages brought from slow (CXL) to fast memory", "pgpromote_success", "pages")
    pgdemote_direct: Seen[int] = _events(
        "Pages pushed to slow memory by a stalled allocation", "pgdemote_direct", "pages"
    )
    zone_reclaim_failed: Seen[int] = _events("Node-local reclaims that freed nothing", "zone_reclaim_failed")
    htlb_buddy_alloc_fail: Seen[int] = _events(
        "Explicit huge pages that the kernel was asked for and could not make", "htlb_buddy_alloc_fail"
    )
    nr_foll_pin_acquired: Seen[int] = _events(
        "Pages pinned for DMA during the run: buffers registered anew at each transfer", "nr_foll_pin_acquired", "pages"
    )
    drop_pagecache: Seen[int] = _events(
        "Somebody wrote to drop_caches: the next load comes from disk", "drop_pagecache"
    )
    oom_kill: Seen[int] = _events("Processes killed for lack of memory", "oom_kill")
    balloon_inflate: Seen[int] = _events("Pages that the hypervisor claimed during the run", "balloon_inflate", "pages")
    direct_map_level2_splits: Seen[int] = _events(
        "2 MiB mappings of the kernel broken up: its own TLB misses, for good", "direct_map_level2_splits"
    )


_MEMINFO_NAMES = {field: fact.source.rpartition(", ")[2] for field, fact in Usage.__facts__.items()}


def meminfo(host: Host) -> Seen[Mapping[str, str]]:
    return then(host.text(MEMINFO), fields)


def kib_of(table: Seen[Mapping[str, str]], name: str) -> Seen[int]:
    """A line of /proc/meminfo in kB; `unsupported` where this kernel has none of that name."""
    return then(_entry(table, name), kib)


def read_usage(table: Seen[Mapping[str, str]]) -> Usage:
    return Usage(**{field: kib_of(table, name) for field, name in _MEMINFO_NAMES.items()})


def read_vmstat(host: Host) -> Vmstat:
    table = then(host.text(VMSTAT), lambda text: fields(text, " "))
    named = {name: then(_entry(table, name), int) for name in Vmstat.__facts__ if name != "allocstall"}
    return Vmstat(**named, allocstall=then(table, _allocstall))


def _entry(table: Seen[Mapping[str, str]], name: str) -> Seen[str]:
    if isinstance(table, Gap):
        return table
    return table.get(name, Gap("unsupported", f"this kernel does not tell {name}"))


def _allocstall(table: Mapping[str, str]) -> Seen[int]:
    """One line before Linux 4.10, one for each zone since."""
    stalls = [int(count) for name, count in table.items() if name.startswith("allocstall")]
    return sum(stalls) if stalls else Gap("unsupported", "this kernel does not tell allocstall")
