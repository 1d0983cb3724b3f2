"""What is told about NCCL in one process."""

from typing import Union

from probes.kit.facts import Map, Redacted, Section, Seen, config, state, telemetry

Text = Union[str, Redacted]

_LOG = "NCCL's log, where NCCL_DEBUG=INFO writes to NCCL_DEBUG_FILE"
_OWN = ("process/*/env/NCCL_*", "process/*/env/RCCL_*")
_OTHERS = tuple(
    f"process/*/env/{name}" for name in "CUDA_* HIP_* UCX_* FI_* LD_* VLLM_* SGLANG_* SGL_* TRTLLM_*".split()
)
_ASKED = ("nccl/*/variables/*", "nccl/*/files/*/sha256", *_OWN, *_OTHERS, "process/*/flags/*")
_MACHINE = (
    "gpu",
    *(f"gpu/*/{name}/**" for name in "peers nvlink fabric mig".split()),
    "gpu/*/pcie/link_*",
    "gpu/*/memory/bar1_total",
    *(f"kernel/cmdline/{name}" for name in "*iommu* pci pcie_*".split()),
    *(f"kernel/modules/{name}" for name in "nvidia* nv_peer_mem gdrdrv ib_* mlx* bnxt_* efa irdma rdma_*".split()),
    "kernel/modules/nvidia*/**",
    "driver/module/version",
    "driver/fabricmanager/**",
    "driver/daemons/nvidia-fabricmanager/**",
    "driver/confidential_computing/**",
)
"""What NCCL looks at before it chooses: who reaches whom, over what, and which drivers carry it."""
_CHOSEN_BY = (*_ASKED, "nccl/*/log/version", *_MACHINE)


class File(Section):
    """A file that NCCL reads because a variable names it, or because it lies where NCCL looks by itself."""

    path: Seen[str] = config(
        "Another file may describe another machine or hold other variables",
        "the variable; ~/.nccl.conf of the user's passwd entry",
        follows=("nccl/*/variables/*", *_OWN),
    )
    sha256: Seen[str] = config(
        "An administrator edits /etc/nccl.conf or a topology in place: no process's variables show it",
        "the file",
        follows=("nccl/*/files/*/path",),
    )


class Communicator(Section):
    """One group of ranks that NCCL connected in this process."""

    nodes: Seen[int] = state(
        "Ranks on more hosts than one meet over the network", f"{_LOG}: nNodes", settled="always", follows=_CHOSEN_BY
    )
    local_ranks: Seen[int] = state(
        "How many of the group share this host, and thus its links",
        f"{_LOG}: localRanks",
        settled="always",
        follows=_CHOSEN_BY,
    )
    transports: Seen[tuple[str, ...]] = state(
        "Between the same two GPUs P2P takes the link and SHM the host's memory; without GDRDMA a network's data does "
        "too; the number behind NET is the adapter's",
        f"{_LOG}: `Channel ... via`, each once",
        settled="always",
        follows=_CHOSEN_BY,
    )
    coll_channels: Seen[int] = state(
        "Each channel is a thread block that moves data: fewer use less of a link, more take multiprocessors",
        f"{_LOG}: coll channels",
        settled="always",
        follows=_CHOSEN_BY,
    )
    collnet_channels: Seen[int] = state(
        "Reduction in the switch is there only where these are",
        f"{_LOG}: collnet channels",
        settled="always",
        follows=_CHOSEN_BY,
    )
    nvls_channels: Seen[int] = state(
        "None, and NVSwitch multicast is not used: all-reduce passes each byte twice",
        f"{_LOG}: nvls channels",
        settled="always",
        follows=_CHOSEN_BY,
    )
    p2p_channels: Seen[int] = state(
        "What sends, receives and all-to-all have", f"{_LOG}: p2p channels", settled="always", follows=_CHOSEN_BY
    )
    rings: Seen[tuple[str, ...]] = state(
        "A ring in another order crosses slower links; the slowest hop is its speed",
        f"{_LOG}: `Channel 00/02 : 0 1`, by channel; rank 0 alone tells",
        settled="always",
        follows=_CHOSEN_BY,
    )
    trees: Seen[tuple[str, ...]] = state(
        "Whose data this rank takes and to whom it gives it: small reductions climb the tree",
        f"{_LOG}: `Trees [0] 1/-1/-1->0->-1`",
        settled="always",
        follows=_CHOSEN_BY,
    )
    p2p_support: Seen[bool] = state(
        "No: some pair of GPUs of this host cannot read each other's memory, and all of them go through the host's",
        f"{_LOG}: intraNodeP2pSupport",
        settled="always",
        follows=_CHOSEN_BY,
    )
    pxn: Seen[bool] = state(
        "Whether data to another host's GPU goes by NVLink to the GPU beside the better adapter first",
        f"{_LOG}: `use ring PXN`",
        settled="always",
        follows=_CHOSEN_BY,
    )
    gdr: Seen[bool] = state(
        "Whether adapters read the GPU's memory themselves; else each byte is copied to the host's first",
        f"{_LOG}: `use ring PXN 0 GDR 1`",
        settled="always",
        follows=_CHOSEN_BY,
    )


class Log(Section):
    """What NCCL said that it found and chose."""

    path: Seen[str] = config("Where the rest of it can be read", "NCCL_DEBUG_FILE, %h and %p filled in", context=True)
    version: Seen[str] = state(
        "Releases choose other algorithms, protocols and defaults; this is the copy that was loaded",
        f"{_LOG}: NCCL version",
        settled="always",
        follows=("mapped/**", "process/*/env/LD_*", "process/*/env/PYTHON*", "process/*/interpreter/environment"),
    )
    network: Seen[str] = state(
        "What is not found is replaced by TCP without a word: 50 ms became 370",
        f"{_LOG}: Using network",
        settled="always",
        follows=_CHOSEN_BY,
    )
    adapters: Seen[tuple[str, ...]] = state(
        "The adapters that carry traffic between hosts, in NCCL's order: one missing halves what it paired with",
        f"{_LOG}: `NET/IB : Using [0]mlx5_0:1/RoCE`, addresses left out",
        settled="always",
        follows=_CHOSEN_BY,
    )
    plugins: Seen[Map[Seen[str]]] = state(
        "A vendor's network or tuner plugin decides in NCCL's place, and is passed over where it does not load",
        f"{_LOG}: NET/Plugin, TUNER/Plugin",
        settled="always",
        follows=_CHOSEN_BY,
    )
    gdr_adapters: Seen[Map[Seen[bool]]] = state(
        "An adapter without direct access costs a copy through the host: the peer-memory module is missing, or too far",
        f"{_LOG}: GPU Direct RDMA Enabled/Disabled for HCA",
        settled="always",
        follows=_CHOSEN_BY,
    )
    set_by_environment: Seen[Map[Seen[Text]]] = state(
        "The variables that NCCL really took, as it understood them; one it does not know is never here",
        f"{_LOG}: set by environment to",
        settled="always",
        private=True,
        follows=_ASKED,
    )
    choices: Seen[Map[Seen[str]]] = state(
        "Algorithm and protocol of one size: LL and Tree for small ones, Simple and Ring or NVLS for large ones",
        f"{_LOG}, with NCCL_DEBUG_SUBSYS=TUNING: `Bytes -> Algo RING proto SIMPLE`, by operation and size up to 2^n",
        settled="always",
        follows=_CHOSEN_BY,
    )
    warnings: Seen[tuple[Text, ...]] = state(
        "What NCCL falls back from it says once, at the start; numbers in them are written N",
        f"{_LOG}: NCCL WARN",
        settled="always",
        private=True,
        follows=_CHOSEN_BY,
    )
    communicators: Seen[Map[Communicator]] = state(
        "Engines build several: one for all ranks, others for expert or data parallelism. By size and order, `8-1`",
        f"{_LOG}: Init START, Init COMPLETE",
        settled="always",
        follows=_CHOSEN_BY,
    )


class Nccl(Section):
    variables: Seen[Map[Seen[Text]]] = config(
        "What NCCL finds set: the environment, then what files add to it, which no other look at the process shows",
        "/proc/PID/environ; NCCL_CONF_FILE or ~/.nccl.conf, /etc/nccl.conf, in this order: the first counts",
        private=True,
        follows=(*_OWN, "nccl/*/files/*/sha256"),
        complete_by="origins",
    )
    origins: Seen[Map[Seen[str]]] = config(
        "A value that stands in a file needs another remedy than one of the environment",
        "the file's path, of each variable that the environment does not have",
        context=True,
    )
    unknown: Seen[tuple[str, ...]] = config(
        "A variable that the loaded NCCL does not have by name does nothing, and no log says so: it is of another "
        "release, or misspelt",
        "/proc/PID/maps; the read-only data of libnccl and its plugins",
        follows=("nccl/*/variables/*", *_OWN, "mapped/*/libraries/libnccl/*"),
    )
    files: Seen[Map[File]] = config(
        "Files that NCCL reads: configuration, topology, graph, what plugins are pointed to",
        "/etc/nccl.conf, ~/.nccl.conf, NCCL_CONF_FILE, NCCL_TOPO_FILE, NCCL_GRAPH_FILE, NCCL_TUNER_CONFIG_FILE, "
        "/var/run/nvidia-topologyd/virtualTopology.xml",
        follows=("nccl/*/variables/*", *_OWN),
    )
    log: Log = Log()
    written_since: Seen[tuple[str, ...]] = telemetry(
        "The process has what was there before: what was changed beneath it is in force once it is started again",
        "mtime of the files against field 22 of /proc/PID/task/TID/stat and a minute",
    )
