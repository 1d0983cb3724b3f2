"""Whether a network card can reach GPU memory: what NCCL looks at before it says GDRDMA."""

from probes.kit.facts import Gap, Section, Seen, seen_or, state, then
from probes.kit.host import Host

MODULES = "/sys/module"
CLIENTS = "/sys/kernel/mm/memory_peers"
SYMBOLS = "/lib/modules/RELEASE/modules.symbols"
_NAMES = ("nvidia_peermem", "nv_peer_mem", "nv_peer_memory")
_SYMBOLS_CAP = 16 << 20


class PeerMemory(Section):
    module: Seen[str] = state(
        "Without it, and without dma-buf, what GPUs send to other hosts goes through the host's memory: 180 to 10 GB/s",
        f"{MODULES}, one of {', '.join(_NAMES)}",
        settled="always",
        follows=("kernel/modules/nvidia_peermem", "kernel/modules/nv_peer_mem"),
    )
    registered: Seen[tuple[str, ...]] = state(
        "What NCCL looks for: a module that is loaded and met an ib_core of another kind is not among these",
        CLIENTS,
        settled="always",
        follows=("kernel/modules/ib_*", "kernel/modules/mlx*", "network/peer_memory/module"),
    )
    dma_buf: Seen[bool] = state(
        "From Linux 5.12 on the kernel's verbs take GPU memory without a module, where the driver's open flavour gives "
        "it",
        f"{SYMBOLS}, ib_umem_dmabuf_get; whether the GPU's driver gives it only a program with a context can ask",
        settled="always",
        follows=("kernel/release", "kernel/modules/ib_*"),
    )
    gdrdrv: Seen[bool] = state(
        "Small copies by the CPU straight into GPU memory: NVSHMEM, UCX and DeepEP use it for latency",
        f"{MODULES}/gdrdrv",
        settled="always",
        follows=("kernel/modules/gdrdrv",),
    )
    gdrdrv_node: Seen[bool] = state(
        "A container that was not given /dev/gdrdrv copies by slower ways although the module is loaded",
        "/dev/gdrdrv",
        settled="always",
        follows=("network/peer_memory/gdrdrv",),
    )
    verbs_nodes: Seen[tuple[str, ...]] = state(
        "A container that was not given /dev/infiniband has no verbs, and NCCL falls back to TCP",
        "/dev/infiniband",
        settled="always",
        follows=("network/rdma",),
    )


def read_peer_memory(host: Host) -> PeerMemory:
    loaded = host.names(MODULES)
    return PeerMemory(
        module=then(loaded, lambda names: next((name for name in _NAMES if name in names), "none")),
        registered=_nothing_alike(host.names(CLIENTS)),
        dma_buf=then(loaded, lambda names: _dma_buf(host, names)),
        gdrdrv=then(loaded, lambda names: "gdrdrv" in names),
        gdrdrv_node=_is_there(host, "/dev/gdrdrv"),
        verbs_nodes=_nothing_alike(then(host.names("/dev/infiniband"), _verbs)),
    )


def _verbs(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name.startswith("uverbs"))


def _nothing_alike(names: Seen[tuple[str, ...]]) -> Seen[tuple[str, ...]]:
    """A folder that is not there holds nothing."""
    return () if names == Gap("absent") else names


def _is_there(host: Host, path: str) -> Seen[bool]:
    found = host.stat(path)
    return False if found == Gap("absent") else then(found, lambda _: True)


def _dma_buf(host: Host, modules: tuple[str, ...]) -> Seen[bool]:
    """Of the modules that depmod found: those of a vendor's own kernel modules, where they take the place of ours."""
    if "ib_uverbs" not in modules:
        return Gap("absent", "ib_uverbs is not loaded")
    path = then(host.line("/proc/sys/kernel/osrelease"), lambda release: SYMBOLS.replace("RELEASE", release))
    found = then(path, lambda it: host.matching(it, r"^alias symbol:(ib_umem_dmabuf_get) ", _SYMBOLS_CAP))
    if isinstance(found, Gap) and found.code == "absent":
        return Gap(
            "not_observable",
            f"no {seen_or(path, SYMBOLS)} here: a container has the host's modules, and none of its files",
        )
    return then(found, bool)
