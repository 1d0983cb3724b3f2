"""How large the pages of the host's memory are, and what it costs to make them so."""

from fingerprint.explain.mechanisms.graph import Condition, Rule

_THP = "https://docs.kernel.org/admin-guide/mm/transhuge.html"
_HUGETLB = "https://docs.kernel.org/admin-guide/mm/hugetlbpage.html"
_VM = "https://docs.kernel.org/admin-guide/sysctl/vm.html"
_MODE = "memory/transparent_hugepage"

_COMPACTED = (
    Condition(facts="memory/vmstat/compact_stall", sign="worked", says="allocations waited for compaction"),
    Condition(facts="memory/vmstat/compact_fail", sign="worked", says="compaction found no room for a huge page"),
    Condition(facts="memory/vmstat/pgmigrate_success", sign="worked", says="pages were moved"),
)
_NONE_LEFT = (
    Condition(facts="memory/vmstat/htlb_buddy_alloc_fail", sign="worked", says="huge pages were asked for in vain"),
)

RULES: tuple[Rule, ...] = (
    Rule(
        name="transparent-huge-pages",
        sees=(f"{_MODE}/enabled", f"{_MODE}/sizes/*/enabled", "process/*/thp_enabled"),
        moves=("page size", "host memory"),
        binds=(
            Condition(facts="memory/vmstat/thp_fault_alloc", sign="worked", says="faults got huge pages"),
            Condition(facts="memory/vmstat/thp_collapse_alloc", sign="worked", says="khugepaged made huge pages"),
            Condition(facts="memory/vmstat/thp_fault_fallback", sign="worked", says="faults wanted huge pages in vain"),
            Condition(facts=f"{_MODE}/sizes/*/anon_fault_alloc", sign="worked", says="faults got folios of this size"),
        ),
        usual=(1.05, 2.9),
        beside=(f"{_MODE}/defrag",),
        why="Fewer faults while memory is first touched and fewer misses of the translation buffer: 1.8 to 2.9x where "
        "the host computes. Where a model is larger than memory and is paged from disk they cost as much (3.5 to 2.0 "
        "tok/s).",
        confirm="AnonHugePages of the process (smaps_rollup) in both runs; echo the other mode, then start again",
        confirmed=1,
        sources=(_THP, "https://github.com/ubergarm/ik_llama.cpp/pull/1"),
    ),
    Rule(
        name="huge-page-defrag",
        sees=(f"{_MODE}/defrag",),
        moves=("page size",),
        binds=(
            *_COMPACTED[:2],
            Condition(facts="memory/vmstat/thp_fault_fallback", sign="worked", says="faults wanted huge pages in vain"),
        ),
        usual=(1.02, 2.0),
        beside=(f"{_MODE}/enabled",),
        why="`always` makes a fault wait until a huge page has been put together, `never` gives it small ones.",
        confirm="echo defer > /sys/kernel/mm/transparent_hugepage/defrag, then the same run; compact_stall must stand "
        "still",
        sources=(_THP,),
    ),
    Rule(
        name="shared-huge-pages",
        sees=(f"{_MODE}/shmem_enabled", f"{_MODE}/sizes/*/shmem_enabled"),
        moves=("page size",),
        usual=(1.0, 1.2),
        why="Buffers in /dev/shm and memfd, through which workers hand tensors to each other, are touched with fewer "
        "faults and misses.",
        confirm="ShmemHugePages in /proc/meminfo during both runs",
        sources=(_THP,),
    ),
    Rule(
        name="huge-zero-pages",
        sees=(f"{_MODE}/use_zero_page", f"{_MODE}/shrink_underused"),
        moves=("page size", "host memory"),
        usual=(1.0, 1.1),
        why="Whether memory that was read but not written, or holds mostly zeros, is kept huge: memory saved against "
        "faults at the next write.",
        confirm="thp_split_page in /proc/vmstat during both runs; write the other run's value",
        sources=(_THP,),
    ),
    Rule(
        name="khugepaged",
        sees=(
            f"{_MODE}/khugepaged/defrag",
            f"{_MODE}/khugepaged/pages_to_scan",
            f"{_MODE}/khugepaged/scan_sleep_millisecs",
            f"{_MODE}/khugepaged/alloc_sleep_millisecs",
        ),
        moves=("page size", "cpu time"),
        binds=(
            Condition(facts=f"{_MODE}/khugepaged/full_scans", sign="worked", says="khugepaged scanned during the run"),
            Condition(facts=f"{_MODE}/khugepaged/pages_collapsed", sign="worked", says="it made huge pages"),
        ),
        usual=(1.0, 1.2),
        beside=(f"{_MODE}/enabled",),
        why="How soon memory that is long in use becomes huge, and how much of a core and of stalls while pages are "
        "moved that takes.",
        confirm="echo 0 > .../khugepaged/defrag, or a long scan_sleep_millisecs, then the same run",
        sources=(_THP,),
    ),
    Rule(
        name="huge-page-filling",
        sees=(f"{_MODE}/khugepaged/max_ptes_*",),
        moves=("host memory", "page size"),
        binds=(Condition(facts=f"{_MODE}/khugepaged/pages_collapsed", sign="worked", says="huge pages were made"),),
        beside=(f"{_MODE}/enabled", f"{_MODE}/shrink_underused"),
        why="How much of a huge page may be empty, swapped or shared before it is made: with 511 of 512 a heap that "
        "was touched here and there grows to many times its size, with 0 it stays in small pages.",
        confirm="AnonHugePages and Rss of the process (smaps_rollup) over an hour with either value",
        sources=(_THP,),
    ),
    Rule(
        name="huge-page-pool",
        sees=(
            "memory/hugepages/*/nr_hugepages",
            "memory/hugepages/*/nr_overcommit_hugepages",
            "memory/hugepages/*/nodes/*/nr_hugepages",
            "memory/vm/hugetlb_shm_group",
        ),
        moves=("page size", "host memory"),
        shows=_NONE_LEFT,
        breaks="often",
        usual=(1.02, 2.0),
        why="Who asks for them gets them at once or falls back to small pages; all others have that much less memory, "
        "page cache included. A rank bound to a node without any gets remote ones.",
        confirm="HugePages_Free and HugePages_Rsvd during both runs: whether the program uses the pool at all",
        sources=(_HUGETLB,),
    ),
    Rule(
        name="huge-page-structs",
        sees=("memory/vm/hugetlb_optimize_vmemmap",),
        moves=("host memory",),
        phases=("start-up", "any work"),
        usual=(1.0, 1.1),
        beside=("memory/hugepages/*/nr_hugepages",),
        why="Freeing the structs of huge pages saves 1.6 % of them and makes each page slower to get and give back.",
        confirm="sysctl -w vm.hugetlb_optimize_vmemmap=0, make the pool anew, start again",
        sources=(_VM, _HUGETLB),
    ),
    Rule(
        name="compaction",
        sees=(
            "memory/vm/compaction_proactiveness",
            "memory/vm/compact_unevictable_allowed",
            "memory/vm/extfrag_threshold",
            "memory/vm/defrag_mode",
        ),
        moves=("page size", "host memory"),
        binds=_COMPACTED,
        usual=(1.02, 1.5),
        why="Pages are moved to make room for huge ones; a thread that touches one meanwhile waits, locked memory "
        "included.",
        confirm="sysctl -w vm.compaction_proactiveness=0, then the same run; compact_stall must stand still",
        sources=(_VM,),
    ),
    Rule(
        name="soft-offline",
        sees=("memory/vm/enable_soft_offline",),
        moves=("page size",),
        binds=(Condition(facts="memory/vmstat/thp_split_page", sign="worked", says="huge pages were broken up"),),
        usual=(1.0, 1.1),
        why="Pages with correctable errors are emptied and taken away, and the huge page around one is broken up.",
        confirm="HardwareCorrupted in /proc/meminfo; rasdaemon's list of page-offline events",
        sources=(_VM,),
    ),
    Rule(
        name="address-layout",
        sees=("memory/vm/legacy_va_layout", "process/*/personality"),
        moves=("page size", "host memory bandwidth"),
        usual=(1.0, 1.1),
        why="Where mappings lie decides which can be huge and which lines and translations get in each other's way: it "
        "moves a tight loop of the host by percents, from start to start.",
        confirm="setarch -R COMMAND five times against five plain starts",
        drifted=1,
        sources=("https://man7.org/linux/man-pages/man2/personality.2.html",),
    ),
)
