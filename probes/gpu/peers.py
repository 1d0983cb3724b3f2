"""How near every other GPU is, and by which ways this one may reach its memory."""

from collections.abc import Sequence

from probes.gpu.asking import Device, Words
from probes.kit.facts import Gap, Map, Section, Seen, state, then
from probes.kit.knobs import read_each

TOPOLOGY: Words = {0: "PSB", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""nvmlGpuTopologyLevel_t, as `nvidia-smi topo -m` says it: same board, switch, switches, host bridge, node, any."""

P2P_STATUS: Words = {
    0: "ok",
    1: "chipset_not_supported",
    2: "gpu_not_supported",
    3: "ioh_topology_not_supported",
    4: "disabled_by_regkey",
    5: "not_supported",
    6: "unknown",
}  # nvmlGpuP2PStatus_t

_P2P = "nvmlDeviceGetP2PStatus"


class Peer(Section):
    """Of a pair; OTHER in a source is the address of the GPU with the higher one."""

    topology: Seen[str] = state(
        "PHB and beyond cross the CPU, SYS the link between sockets too: each step has less bandwidth",
        "nvmlDeviceGetTopologyCommonAncestor(OTHER)",
        settled="always",
    )
    p2p_read: Seen[str] = state(
        "Without it all-reduce goes through host memory: 288 tok/s became 223. ACS, the IOMMU, MIG and other driver "
        "builds take it away",
        f"{_P2P}(OTHER,0)",
        settled="always",
        follows=("gpu/*/mig/mode_current", "gpu/*/fabric/state"),
    )
    p2p_write: Seen[str] = state(
        "NCCL writes into its peers where it may, else it copies twice",
        f"{_P2P}(OTHER,1)",
        settled="always",
        follows=("gpu/*/mig/mode_current", "gpu/*/peers/*/p2p_read"),
    )
    p2p_nvlink: Seen[str] = state(
        "Whether the pair is joined by NVLink: PHB in its place made 6 h of work take 24",
        f"{_P2P}(OTHER,2)",
        settled="always",
        follows=(
            "gpu/*/mig/mode_current",
            "gpu/*/nvlink/active",
            "gpu/*/fabric/state",
            "gpu/*/peers/*/p2p_read",
        ),
    )
    p2p_atomics: Seen[str] = state(
        "Custom all-reduce kernels signal each other by them",
        f"{_P2P}(OTHER,3)",
        settled="always",
        follows=("gpu/*/mig/mode_current", "gpu/*/peers/*/p2p_read"),
    )


def read_peers(device: Device) -> Seen[Map[Peer]]:
    """By PCI address. NVML was asked once for each pair, of the lower address."""
    return then(device.host.nvml_devices(), lambda keys: _peers(device, keys))


def _peers(device: Device, attached: Sequence[str]) -> Seen[Map[Peer]]:
    """Of a GPU that is lost or asleep, why that is."""
    why = device.answer("nvmlDeviceGetUUID")
    if device.key not in attached and isinstance(why, Gap):
        return why
    return Map({key: _peer(device, key) for key in attached if key != device.key})


def _peer(device: Device, other: str) -> Peer:
    lower, higher = sorted((device.key, other))
    asked = Device(device.host, lower)

    def read(source: str) -> Seen[str]:
        words = P2P_STATUS if source.startswith(_P2P) else TOPOLOGY
        return asked.word(source.replace("OTHER", higher), words)

    return read_each(Peer, read)
