"""Between host and GPU, and between GPUs: PCI Express, NVLink, fabric, peer access, nearness."""

from fingerprint.explain.mechanisms.graph import Bound, Condition, Rule

NVML = "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html"
FABRIC = "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html"
XID = "https://docs.nvidia.com/deploy/xid-errors/index.html"
NO_LINK_NEEDED = "One GPU that holds all its weights moves nothing over it."
BY_OTHER_WAYS = ("gpu/*/nvlink/active", "gpu/*/peers/*/p2p_read")

LOADED = (
    Condition(
        facts="gpu/*/pcie/*_bytes",
        sign="carried",
        of="gpu/*/pcie/link_bandwidth",
        says="the link carried a tenth and more of what it can",
    ),
)
CROSSED = (Condition(facts="gpu/*/nvlink/data_*", sign="crossed", says="anything crossed NVLink"),)
REROUTED = (
    Condition(
        facts="gpu/*/nvlink/data_tx",
        sign="rerouted",
        of="gpu/*/pcie/tx_bytes",
        says="NVLink fell silent, and more crossed PCIe there than in the other run",
    ),
)
"""Whether what crosses PCIe goes to a peer or through the host's memory no counter tells."""

RULES: tuple[Rule, ...] = (
    Rule(
        name="pcie-generation",
        sees=("gpu/*/pcie/link_gen_current", "gpu/*/pcie/link_gen_max"),
        moves=("pcie link", "collective"),
        way="more helps",
        binds=LOADED,
        breaks="seldom",
        usual=(1.1, 4.0),
        bound=Bound("observed", "gpu/*/pcie/link_bandwidth", "at most as what the link carries under load"),
        beside=BY_OTHER_WAYS,
        why="Each generation doubles what a lane carries: 1.2x to 2x for tensor parallelism and offloaded weights. "
        f"{NO_LINK_NEEDED} At rest a lower generation is how boards save power; Gen2 for 3.5 h of training was not.",
        confirm="cat /sys/bus/pci/devices/ADDRESS/current_link_speed under load; a copy from the host (nvbandwidth)",
        confirmed=3,
        sources=(
            "https://github.com/local-inference-lab/rtx6kpro/issues/88",
            "https://github.com/noonghunna/club-3090/issues/356",
            "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/974",
        ),
    ),
    Rule(
        name="pcie-lane-speed",
        sees=("gpu/*/pcie/link_speed",),
        moves=("pcie link", "collective"),
        way="more helps",
        binds=LOADED,
        breaks="seldom",
        usual=(1.1, 4.0),
        bound=Bound("ratio", "gpu/*/pcie/link_speed", "at most as the speed of a lane"),
        beside=BY_OTHER_WAYS,
        why=f"What a lane carries under load. {NO_LINK_NEEDED}",
        confirm="a copy from the host on both (nvbandwidth -t host_to_device_memcpy_ce)",
        sources=(NVML,),
    ),
    Rule(
        name="pcie-width",
        sees=("gpu/*/pcie/link_width_current", "gpu/*/pcie/link_width_max"),
        moves=("pcie link", "collective"),
        way="more helps",
        binds=LOADED,
        usual=(1.1, 4.0),
        bound=Bound("ratio", "gpu/*/pcie/link_width_current", "at most as the lanes"),
        beside=BY_OTHER_WAYS,
        why="Bandwidth goes with the lanes, and lanes do not come and go with load: x4 and x8 instead of x16 made 75.8 "
        f"of 89.2 tok/s in tensor parallelism over two GPUs. {NO_LINK_NEEDED}",
        confirm="lspci -vv (LnkCap, LnkSta) of the GPU and the bridge above it; reseat it, or take another slot",
        confirmed=3,
        sources=("https://github.com/noonghunna/club-3090/issues/142", NVML),
    ),
    Rule(
        name="pcie-errors",
        sees=(
            "gpu/*/pcie/errors/replay*",
            "gpu/*/pcie/errors/l0_to_recovery",
            "gpu/*/pcie/errors/correctable",
            "gpu/*/pcie/errors/naks_*",
            "gpu/*/pcie/errors/receiver",
            "gpu/*/pcie/errors/bad_*",
            "gpu/*/pcie/errors/lcrc",
            "gpu/*/pcie/errors/lane",
            "driver/log/*/aer_corrected",
            "driver/kernel_log/aer_errors",
        ),
        moves=("pcie link", "collective"),
        way="less helps",
        breaks="seldom",
        beside=("gpu/*/pcie/link_gen_current", "gpu/*/pcie/link_width_current"),
        why="Each packet that arrived damaged is sent again, and after four failures the link is trained anew while "
        "all wait: a riser, a slot or wiring for a slower generation (210 to 240 errors a second). The kernel's log "
        "tells of one in seven.",
        confirm="hold the link to a lower generation (setpci, or the BIOS) and see whether errors stop; reseat the "
        "board",
        confirmed=1,
        sources=("https://github.com/ARK-Electronics/ark_jetson_kernel/pull/120", XID),
    ),
    Rule(
        name="pcie-failures",
        sees=(
            "gpu/*/pcie/errors/non_fatal",
            "gpu/*/pcie/errors/fatal",
            "driver/log/*/aer_nonfatal",
            "driver/log/*/aer_fatal",
        ),
        moves=("availability",),
        way="less helps",
        breaks="seldom",
        beside=("driver/log/*/last_xid",),
        why="A transfer was lost, or the link reset: whoever waited for it saw an error, and the GPU may fall off the "
        "bus.",
        confirm="dmesg for `PCIe Bus Error` and Xid 79; the same board in another slot",
        sources=("https://github.com/NVIDIA/open-gpu-kernel-modules/issues/974", XID),
    ),
    Rule(
        name="pcie-atomics",
        sees=("gpu/*/pcie/atomics_outbound", "gpu/*/pcie/atomics_inbound"),
        moves=("collective", "kernel choice"),
        why="Where a bridge does not route atomic operations, GPUs and host are synchronised by slower means.",
        confirm="lspci -vv (AtomicOpsCap, AtomicOpsCtl) of the GPU and of each bridge above it",
        sources=(NVML,),
    ),
    Rule(
        name="gpu-nearness",
        sees=("gpu/*/pcie/numa_node", "gpu/*/affinity/cpus", "gpu/*/affinity/memory"),
        moves=("page placement", "launch latency", "pcie link"),
        usual=(1.02, 1.8),
        beside=("process/*/affinity", "process/*/mems_allowed"),
        why="Threads that feed a GPU and buffers that it copies from belong on its own memory node; from another one "
        "launches and copies cross the link between sockets: 2 % with all weights on the GPU, up to 1.8x.",
        confirm="numactl --cpunodebind=NODE --membind=NODE with the node of nvidia-smi topo -m",
        confirmed=2,
        sources=("https://github.com/NVIDIA/TensorRT-LLM/pull/18117", NVML),
    ),
    Rule(
        name="gpu-memory-node",
        sees=("gpu/*/affinity/numa_node",),
        moves=("page placement", "gpu memory"),
        breaks="seldom",
        beside=("gpu/*/addressing_mode",),
        why="On Grace a GPU's memory is a memory node of the host: the kernel may put pages of the host there, where "
        "they are missing for the cache, and far from the CPU.",
        confirm="numactl --hardware; numastat -m during the run; --membind to the nodes that have CPUs",
        sources=("https://github.com/vllm-project/vllm/issues/39361",),
    ),
    Rule(
        name="nvlink-count",
        sees=("gpu/*/nvlink/active", "gpu/*/nvlink/link_count", "gpu/*/nvlink/links"),
        moves=("nvlink", "collective"),
        way="more helps",
        binds=(*CROSSED, *REROUTED),
        breaks="seldom",
        usual=(1.05, 4.0),
        beside=("driver/daemons/nvidia-fabricmanager/running", "gpu/*/fabric/state"),
        why="Bandwidth between GPUs goes with the links that are up: 4 of 6 made it a third less. Without any it goes "
        "over PCIe, and 6 h of work took 24.",
        confirm="nvidia-smi nvlink --status; nvidia-smi topo -m; all_reduce_perf (nccl-tests) on both",
        confirmed=2,
        sources=("https://github.com/tatsu-lab/stanford_alpaca/issues/32", NVML),
    ),
    Rule(
        name="nvlink-wiring",
        sees=(
            "gpu/*/nvlink/links/*",
            "gpu/*/nvlink/links/*/state",
            "gpu/*/nvlink/links/*/remote_device_type",
            "gpu/*/nvlink/links/*/remote_pci",
        ),
        moves=("nvlink", "collective"),
        binds=(*CROSSED, *REROUTED),
        breaks="seldom",
        usual=(1.05, 4.0),
        beside=("gpu/*/fabric/state",),
        why="Which link is up and where it leads decides which pairs are joined: a bridge on other boards joins "
        "others, and a half-seated one makes links fail and the first query of NVLink take seconds.",
        confirm="nvidia-smi nvlink --status; nvidia-smi topo -m; p2pBandwidthLatencyTest between each pair",
        sources=("https://github.com/NVIDIA/nccl/issues/340", NVML),
    ),
    Rule(
        name="nvlink-speed",
        sees=("gpu/*/nvlink/speed", "gpu/*/nvlink/links/*/speed"),
        moves=("nvlink", "collective"),
        way="more helps",
        binds=CROSSED,
        usual=(1.0, 1.5),
        why="A ring runs at the pace of its slowest link, and links of one GPU may be trained at unlike speeds; one "
        "lane of one link was worth 0.3 % of a collective over all.",
        confirm="nvidia-smi nvlink --status; all_reduce_perf (nccl-tests) for large messages",
        sources=(NVML,),
    ),
    Rule(
        name="nvlink-power-mode",
        sees=("gpu/*/nvlink/bandwidth_mode", "driver/nvml/nvlink_bw_mode"),
        moves=("nvlink", "collective"),
        binds=CROSSED,
        why="A reduced mode puts lanes to sleep to save power: less bandwidth for every collective, and no error.",
        confirm="nvidia-smi nvlink -gBwMode; nvidia-smi nvlink -sBwMode FULL, and repeat",
        sources=(NVML,),
    ),
    Rule(
        name="nvlink-errors",
        sees=("gpu/*/nvlink/errors/*", "driver/log/*/sxid", "driver/log/*/sxid/*", "driver/kernel_log/sxids"),
        moves=("nvlink", "collective"),
        way="less helps",
        breaks="seldom",
        beside=("gpu/*/nvlink/active", "gpu/*/fabric/health/summary"),
        why="Damaged flits are sent again and links are trained anew while everybody waits: a collective goes at the "
        "pace of its slowest link.",
        confirm="nvidia-smi nvlink -e before and after; leave this GPU out; SXids of the switch in dmesg",
        sources=(FABRIC, "https://github.com/DataDog/datadog-agent/issues/55966"),
    ),
    Rule(
        name="chip-to-chip",
        sees=("gpu/*/nvlink/c2c_mode", "gpu/*/nvlink/c2c_link_count"),
        moves=("pcie link", "page placement"),
        usual=(1.2, 5.0),
        why="Over the coherent link a Grace CPU and its GPU reach each other's memory directly, at several times the "
        "bandwidth of PCIe; without it copies and offloaded weights go over PCIe.",
        confirm="nvidia-smi c2c -s; a copy from the host on both (nvbandwidth)",
        sources=(NVML,),
    ),
    Rule(
        name="fabric-state",
        sees=("gpu/*/fabric/state", "gpu/*/fabric/status"),
        moves=("availability", "nvlink", "collective"),
        best=("completed", "success"),
        binds=REROUTED,
        breaks="often",
        usual=(1.2, 4.0),
        beside=("driver/fabricmanager/matches_module", "driver/daemons/nvidia-fabricmanager/running"),
        why="On boards with NVSwitch a GPU must have joined the fabric: before that CUDA does not start (error 802), "
        "or peers are reached over PCIe.",
        confirm="nvidia-smi -q (Fabric: State, Status); journalctl -u nvidia-fabricmanager",
        confirmed=4,
        sources=(
            "https://github.com/NVIDIA/gpu-operator/issues/1043",
            "https://github.com/ollama/ollama/issues/12136",
            FABRIC,
        ),
    ),
    Rule(
        name="fabric-health",
        sees=("gpu/*/fabric/health/*",),
        moves=("nvlink", "collective", "availability"),
        binds=REROUTED,
        breaks="often",
        beside=("gpu/*/nvlink/active",),
        why="Fewer links into the fabric than there should be, routes that are made anew, no partition or no manager "
        "of the rack: collectives go at the pace of the GPU that is worst off, or not at all.",
        confirm="nvidia-smi -q (Fabric: Health); leave this GPU out and repeat",
        sources=(FABRIC, "https://github.com/NVIDIA/NVSentinel/issues/891"),
    ),
    Rule(
        name="fabric-domain",
        sees=("gpu/*/fabric/clique_id", "gpu/*/fabric/cluster_uuid"),
        moves=("nvlink", "collective", "network"),
        beside=("driver/daemons/nvidia-imex/running",),
        why="GPUs of one cluster and clique reach each other over NVLink, also between hosts; others over the network.",
        confirm="compare clique and cluster of all ranks (nvidia-smi -q); NCCL_DEBUG=INFO for `MNNVL`",
        sources=(FABRIC, NVML),
    ),
    Rule(
        name="peer-access",
        sees=("gpu/*/peers/*/p2p_read", "gpu/*/peers/*/p2p_write"),
        moves=("collective",),
        best=("ok",),
        binds=REROUTED,
        breaks="often",
        usual=(1.1, 10.0),
        beside=(
            "gpu/*/mig/mode_current",
            "gpu/*/memory/bar1_total",
            "driver/module/flavour",
            "kernel/cmdline/*iommu",
            "kernel/cmdline/pci",
        ),
        why="Without peer access all-reduce is copied through host memory: 288 tok/s became 223, 66 became 50. IOMMU, "
        "ACS, MIG and the driver's build take it away. Work that exchanges little gains nothing by it: 150 and 150 "
        "tok/s.",
        confirm="nvidia-smi topo -p2p r; NCCL_P2P_DISABLE=1 on both: if that makes them equal, it is this",
        confirmed=4,
        sources=(
            "https://github.com/noonghunna/club-3090/issues/356",
            "https://github.com/noonghunna/club-3090/issues/91",
            "https://github.com/noonghunna/club-3090/pull/889",
            "https://github.com/vllm-project/vllm/issues/51513",
        ),
    ),
    Rule(
        name="peer-nvlink",
        sees=("gpu/*/peers/*/p2p_nvlink",),
        moves=("nvlink", "collective"),
        best=("ok",),
        binds=(*CROSSED, *REROUTED),
        usual=(1.2, 4.0),
        beside=("gpu/*/nvlink/active",),
        why="Whether this pair is joined by NVLink or by PCIe: PHB in its place made 6 h of work take 24.",
        confirm="nvidia-smi topo -m and topo -p2p n on both",
        confirmed=1,
        sources=("https://github.com/tatsu-lab/stanford_alpaca/issues/32",),
    ),
    Rule(
        name="peer-atomics",
        sees=("gpu/*/peers/*/p2p_atomics",),
        moves=("kernel choice", "collective"),
        why="An engine's own all-reduce signals its peers by atomic operations; without them NCCL's takes its place.",
        confirm="nvidia-smi topo -p2p a; the engine's log for its custom all-reduce",
        sources=(NVML,),
    ),
    Rule(
        name="gpu-topology",
        sees=("gpu/*/peers/*/topology",),
        moves=("collective", "pcie link"),
        usual=(1.1, 4.0),
        beside=("gpu/*/peers/*/p2p_read",),
        why="Through one switch, one root port, the CPU or the link between sockets: each step has less bandwidth and "
        "more latency. PHB names both a CPU's and a chipset's port: 13.2 and 6.5 GB/s.",
        confirm="nvidia-smi topo -m on both; p2pBandwidthLatencyTest between the pair",
        confirmed=1,
        sources=("https://github.com/tatsu-lab/stanford_alpaca/issues/32", NVML),
    ),
    Rule(
        name="gpu-peers",
        sees=("gpu/*/peers", "gpu/*/peers/*"),
        moves=("collective", "availability"),
        breaks="often",
        why="Another number of GPUs is another number of ranks, another ring and another split of the model.",
        confirm="run with the same GPUs on both sides (CUDA_VISIBLE_DEVICES, by UUID)",
        sources=(NVML,),
    ),
)
