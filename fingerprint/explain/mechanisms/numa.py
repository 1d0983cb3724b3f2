"""Which memory is near, how it is divided, and who moves pages between nodes."""

from fingerprint.explain.mechanisms.graph import Condition, Rule

PERFORMANCE = "https://docs.kernel.org/admin-guide/mm/numaperf.html"
POLICY = "https://docs.kernel.org/admin-guide/mm/numa_memory_policy.html"
SYSCTL = "https://docs.kernel.org/admin-guide/sysctl/kernel.html"

SCANNED = (
    Condition(facts="memory/vmstat/numa_pte_updates", sign="worked", says="pages were unmapped to see who uses them"),
    Condition(facts="memory/vmstat/numa_hint_faults", sign="worked", says="threads were stopped by hinting faults"),
    Condition(facts="memory/vmstat/numa_pages_migrated", sign="worked", says="pages were moved between nodes"),
)
FAR_PAGES = (
    Condition(facts="numa/nodes/*/other_node", sign="grew", says="threads got memory of another node", least=1000),
    Condition(
        facts="memory/vmstat/numa_miss", sign="grew", says="pages were placed on another node than wanted", least=100
    ),
)

RULES = (
    Rule(
        name="numa-balancing",
        sees=("kernel/sysctl/kernel/numa_balancing",),
        moves=("page placement", "wake latency", "host memory bandwidth"),
        binds=SCANNED,
        usual=(1.02, 1.3),
        beside=("numa/online", "process/*/affinity", "process/*/mems_allowed"),
        why="Pages are unmapped to see who touches them, and moved there: each touch is a fault. Switched off, the "
        "loading of GPUs and the dispatch to experts became faster on record, and some CPU loads 20 % slower: both are "
        "real. What is pinned to a node gains nothing from it.",
        confirm="`sysctl -w kernel.numa_balancing=0` (or 1) and repeat; numa_hint_faults tells whether it was at work.",
        confirmed=2,
        sources=(
            "https://github.com/redhat-performance/tuned/pull/283",
            SYSCTL,
            "https://github.com/ollama/ollama/issues/6425",
        ),
    ),
    Rule(
        name="numa-scan-pace",
        sees=(
            "kernel/sched/numa_balancing/scan_delay_ms",
            "kernel/sched/numa_balancing/scan_period_min_ms",
            "kernel/sched/numa_balancing/scan_period_max_ms",
            "kernel/sched/numa_balancing/scan_size_mb",
        ),
        moves=("page placement", "wake latency"),
        binds=SCANNED,
        usual=(1.0, 1.2),
        beside=("kernel/sysctl/kernel/numa_balancing",),
        why="How soon, how often and how much memory is unmapped for balancing: a fast pace finds misplaced pages "
        "sooner and disturbs well placed programs more.",
        confirm="Write the other value to the file in /sys/kernel/debug/sched/numa_balancing and compare hinting "
        "faults.",
        sources=(SYSCTL,),
    ),
    Rule(
        name="page-promotion",
        sees=("kernel/sysctl/kernel/numa_balancing_promote_rate_limit_mbps",),
        moves=("page placement", "host memory bandwidth"),
        binds=(
            Condition(facts="memory/vmstat/pgpromote_success", sign="worked", says="pages rose to faster memory"),
            Condition(facts="memory/vmstat/pgdemote_direct", sign="worked", says="pages were sent to slower memory"),
        ),
        usual=(1.02, 2.0),
        beside=("memory/demotion_enabled", "numa/has_cpu"),
        why="How fast pages may rise from slow memory (CXL, persistent) to fast: a low limit leaves hot pages where "
        "they are, a high one spends bandwidth on copying.",
        confirm="Compare pgpromote_success in both runs; set the limit to 65536 and repeat.",
        sources=(SYSCTL,),
    ),
    Rule(
        name="numa-layout",
        sees=(
            "numa/online",
            "numa/nodes",
            "numa/nodes/*",
            "numa/nodes/*/cpus",
            "numa/nodes/*/distance",
        ),
        moves=("page placement", "host memory bandwidth", "collective"),
        shows=FAR_PAGES,
        loud=True,
        usual=(1.02, 2.0),
        beside=("process/*/affinity", "process/*/mems_allowed", "gpu/*/pcie/numa_node", "cpu/firmware/bios_version"),
        why="Firmware (NPS, SNC, interleaving) or the hypervisor says into how many nodes memory is divided: finer "
        "ones bring near memory and less of it, and libraries choose paths by them; NPS4 alone changed the bandwidth "
        "of collectives, and a guest may be shown one node where there are two.",
        confirm="`numactl --hardware` in both runs; `numactl --interleave=all COMMAND` takes the layout out.",
        confirmed=1,
        drifted=1,
        sources=("https://github.com/NVIDIA/nccl-tests/issues/293", PERFORMANCE),
    ),
    Rule(
        name="memory-only-nodes",
        sees=("numa/has_cpu", "numa/has_memory"),
        moves=("page placement", "host memory bandwidth"),
        shows=FAR_PAGES,
        loud=True,
        usual=(1.1, 2.0),
        beside=("memory/demotion_enabled", "gpu/*/affinity/numa_node", "process/*/mems_allowed"),
        why="A node without CPUs is CXL memory or a GPU's own, slower or meant for others, and pages may land there; "
        "threads on a node without memory work remotely from the first page on, up to 1.8x.",
        confirm="`numastat -p PID` tells on which nodes the run's pages lie; `numactl --membind` keeps them off it.",
        drifted=1,
        sources=(PERFORMANCE, POLICY),
    ),
    Rule(
        name="node-size",
        sees=("numa/nodes/*/size",),
        moves=("page placement", "host memory"),
        way="more helps",
        binds=(
            Condition(
                facts="numa/nodes/*/numa_foreign",
                sign="grew",
                says="pages wanted here were placed elsewhere",
                least=100,
            ),
            Condition(
                facts="memory/vmstat/numa_miss",
                sign="grew",
                says="pages were placed on another node than wanted",
                least=100,
            ),
        ),
        usual=(1.02, 1.8),
        beside=("memory/total",),
        why="A module that failed or moved leaves a node with less memory: when it is full its threads get pages of "
        "another, for as long as these live. One channel less is also that much less bandwidth.",
        confirm="`dmidecode -t memory` for the modules; numa_foreign of the node before and after.",
        sources=(PERFORMANCE,),
    ),
    Rule(
        name="node-bandwidth",
        sees=("numa/nodes/*/read_bandwidth",),
        moves=("host memory bandwidth",),
        way="more helps",
        usual=(1.1, 3.0),
        why="What firmware says that this memory delivers: fewer channels, slower modules or another kind. Offloaded "
        "weights and loading are bound by it; work that lies in GPU memory is not.",
        confirm="`numactl -N NODE -m NODE mbw 1024`, or any STREAM, on both hosts.",
        sources=(PERFORMANCE,),
    ),
    Rule(
        name="node-latency",
        sees=("numa/nodes/*/read_latency",),
        moves=("page placement", "host memory bandwidth"),
        way="less helps",
        usual=(1.05, 2.0),
        why="What firmware says that a first byte takes: CXL memory takes about twice as long as a module beside the "
        "CPU. Chains of small accesses feel it, streams hardly.",
        confirm="`mlc --latency_matrix`, or `numactl --membind` to another node and repeat.",
        sources=(PERFORMANCE,),
    ),
    Rule(
        name="weighted-interleave",
        sees=("numa/nodes/*/interleave_weight",),
        moves=("page placement", "host memory bandwidth"),
        usual=(1.05, 1.5),
        beside=("numa/nodes/*/read_bandwidth",),
        why="Where a program asks for pages spread by weight, these say in which shares: in proportion to bandwidth "
        "all nodes deliver at once, otherwise the slowest bounds the rest. Programs that did not ask notice nothing.",
        confirm="`grep -c 'weighted interleave' /proc/PID/numa_maps` tells whether it is in use.",
        sources=(POLICY,),
    ),
)
