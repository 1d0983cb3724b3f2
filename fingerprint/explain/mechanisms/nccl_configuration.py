"""NCCL itself: the files that it reads, and what its log says that it chose."""

from fingerprint.explain.mechanisms.graph import Rule

_ENV = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
_TROUBLE = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"
_GROUP = "nccl/*/log/communicators/*"

RULES: tuple[Rule, ...] = (
    Rule(
        name="nccl-files",
        sees=("nccl/*/files", "nccl/*/files/*/path", "nccl/*/files/*/sha256"),
        moves=("collective", "code"),
        between=True,
        breaks="seldom",
        usual=(1.2, 1.6),
        beside=("nccl/*/origins/*",),
        why="/etc/nccl.conf and ~/.nccl.conf set variables that no shell and no launcher shows; a topology or graph "
        "file replaces what NCCL would have found, and one of another machine lays rings over links that are not "
        "there; a tuner's file forces an algorithm for each size.",
        confirm="Move the file away, and NCCL_DEBUG=INFO in both states",
        sources=(_ENV, "https://github.com/NVIDIA/nccl/issues/1716"),
    ),
    Rule(
        name="nccl-file-variable",
        sees=("nccl/*/variables/*",),
        moves=("collective", "network"),
        between=True,
        breaks="seldom",
        beside=("nccl/*/origins/*",),
        why="A file of NCCL sets any variable, not its own alone, for all that runs in the process behind it: UCX_, "
        "FI_ and others come in by this door.",
        confirm="Comment the line out, or set the variable in the environment, which wins",
        sources=(_ENV,),
    ),
    Rule(
        name="nccl-variable-not-read",
        sees=("nccl/*/unknown",),
        moves=("collective",),
        between=True,
        beside=("mapped/*/libraries/libnccl/version",),
        why="A variable that the loaded release does not have does nothing: with another release, or with a letter too "
        "few, what it chose is at its default again while the environment still shows it.",
        confirm="The same run without the variable must be the same; then with the name that this release has",
        sources=(_ENV,),
    ),
    Rule(
        name="nccl-loaded-version",
        sees=("nccl/*/log/version",),
        moves=("collective", "kernel choice", "gpu memory", "availability"),
        between=True,
        breaks="often",
        usual=(1.6, 7.1),
        beside=("process/*/env/LD_PRELOAD", "process/*/env/LD_LIBRARY_PATH"),
        why="Releases change algorithms, protocols, channel counts and defaults such as CUMEM; a container's or a "
        "wheel's second copy may be the one that is loaded. 1.6 to 7x.",
        confirm="The other release alone (LD_PRELOAD of its libnccl.so.2), all else equal; all_reduce_perf in both",
        confirmed=4,
        sources=(_ENV, "https://github.com/NVIDIA/nccl/issues/1368"),
    ),
    Rule(
        name="nccl-transport",
        sees=(f"{_GROUP}/transports", f"{_GROUP}/p2p_support"),
        moves=("collective", "nvlink", "pcie link"),
        between=True,
        breaks="seldom",
        usual=(1.2, 3.0),
        beside=("gpu/*/peers/*/p2p_read", "process/*/env/NCCL_P2P_DISABLE", "kernel/cmdline/iommu"),
        why="The way that was taken between ranks: P2P by the link itself, SHM through the host's memory, NET/Socket "
        "through the kernel. One pair of GPUs without peer access takes it from all of a host.",
        confirm="nvidia-smi topo -p2p r; p2pBandwidthLatencyTest; NCCL_P2P_LEVEL in both states",
        sources=(_TROUBLE, "https://github.com/vllm-project/vllm/issues/51513"),
    ),
    Rule(
        name="nccl-channels",
        sees=(
            f"{_GROUP}/coll_channels",
            f"{_GROUP}/collnet_channels",
            f"{_GROUP}/nvls_channels",
            f"{_GROUP}/p2p_channels",
        ),
        moves=("collective", "gpu compute"),
        between=True,
        usual=(1.05, 1.6),
        why="How many thread blocks move data at once, and whether the switch reduces: too few leave a link idle, "
        "many take multiprocessors from the kernels beside them.",
        confirm="NCCL_MIN_NCHANNELS or NCCL_NVLS_ENABLE as in the other state; all_reduce_perf at the run's sizes",
        sources=(_ENV, "https://github.com/NVIDIA/nccl/issues/209"),
    ),
    Rule(
        name="nccl-graph",
        sees=(
            "nccl/*/log/communicators",
            f"{_GROUP}/rings",
            f"{_GROUP}/trees",
            f"{_GROUP}/nodes",
            f"{_GROUP}/local_ranks",
        ),
        moves=("collective", "nvlink", "pcie link", "network"),
        between=True,
        usual=(1.05, 2.0),
        why="In which order ranks pass data on, and which of them share a host: a ring runs at the speed of its "
        "slowest hop, so that one GPU in another place of the order crosses the sockets' link twice.",
        confirm="NCCL_DEBUG_SUBSYS=GRAPH in both states; the same CUDA_VISIBLE_DEVICES and ranks on both",
        sources=(_ENV,),
    ),
    Rule(
        name="nccl-network-found",
        sees=(
            "nccl/*/log/network",
            "nccl/*/log/adapters",
            "nccl/*/log/plugins/*",
            "nccl/*/log/gdr_adapters/*",
            f"{_GROUP}/pxn",
            f"{_GROUP}/gdr",
        ),
        moves=("network", "collective"),
        between=True,
        breaks="often",
        usual=(1.5, 7.4),
        beside=("kernel/modules/nvidia_peermem/version", "process/*/env/NCCL_IB_DISABLE"),
        why="What NCCL found to talk to other hosts with. Without verbs in the container it takes TCP and says so in "
        "one line: 50 ms became 370; without direct access each byte passes through the host's memory.",
        confirm="ibv_devinfo in the container; NCCL_NET=IB, which fails in the place of falling back",
        sources=(_TROUBLE, "https://github.com/areal-project/AReaL/issues/639"),
    ),
    Rule(
        name="nccl-choice",
        sees=("nccl/*/log/choices/*",),
        moves=("collective",),
        between=True,
        usual=(1.05, 1.6),
        why="The algorithm and protocol that NCCL took for one operation and size: a decode step's all-reduce of some "
        "kB is quick by LL and Tree and slow by Simple, a prompt's of some MB the other way round.",
        confirm="NCCL_ALGO and NCCL_PROTO as they were in the other state, for this one size in all_reduce_perf",
        sources=(_ENV, "https://github.com/NVIDIA/nccl/issues/1368"),
    ),
    Rule(
        name="nccl-took",
        sees=("nccl/*/log/set_by_environment/*",),
        moves=("collective",),
        between=True,
        why="What NCCL says that it read: a variable that is set and stands not here was misspelled, came too late, "
        "or is none of this release.",
        confirm="Compare with the process's environment, name by name; NCCL_DEBUG_SUBSYS must hold ENV",
        sources=(_ENV,),
    ),
    Rule(
        name="nccl-warnings",
        sees=("nccl/*/log/warnings",),
        moves=("collective", "availability"),
        between=True,
        breaks="often",
        why="NCCL warns once where it gives something up: a path that it could not find, a plugin that would not load, "
        "a timeout that it repeats.",
        confirm="The lines around it in the log, and the file and line that it names in NCCL's source",
        sources=(_TROUBLE,),
    ),
)
