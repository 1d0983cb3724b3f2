"""What stands between devices: access control on bridges, and translation of addresses."""

from fingerprint.explain.mechanisms.graph import Rule

PARAMETERS = "https://docs.kernel.org/admin-guide/kernel-parameters.html"
P2PDMA = "https://docs.kernel.org/driver-api/pci/p2pdma.html"
NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"
NCCL_2079 = "https://github.com/NVIDIA/nccl/issues/2079"
VLLM_33041 = "https://github.com/vllm-project/vllm/issues/33041"
VLLM_51513 = "https://github.com/vllm-project/vllm/issues/51513"

RULES: tuple[Rule, ...] = (
    Rule(
        name="access-control",
        sees=("pcie/bridges/*/acs_control",),
        moves=("collective", "network", "availability"),
        between=True,
        over_pcie="between GPUs",
        breaks="often",
        usual=(1.3, 2.6),
        beside=("pcie/iommu/mode", "gpu/*/peers/*/p2p_read", "process/*/env/NCCL_P2P_DISABLE"),
        why="ReqRedir and CmpltRedir send what one device says to another up to the root port: below one switch that "
        "is half of the bandwidth (8 against 21 GB/s; between two hosts of eight GB300 360 in place of 426), and with "
        "an IOMMU a collective that hangs or direct access of a network card that fails. What setpci cleared is back "
        "after the next boot.",
        confirm="setpci -s ADDRESS ECAP_ACS+6.w=0 on each bridge above the GPUs and cards, and repeat; "
        "NCCL_P2P_DISABLE=1: if that makes both equal, it is this",
        confirmed=4,
        sources=(
            NCCL_2079,
            "https://github.com/NVIDIA/nccl/issues/304",
            "https://github.com/NVIDIA/nccl/issues/104",
            "https://github.com/NVIDIA/nccl-tests/issues/115",
            "https://github.com/NVIDIA/nodewright-packages/pull/111",
            NCCL,
            P2PDMA,
        ),
    ),
    Rule(
        name="iommu-translation",
        sees=("pcie/iommu/mode", "pcie/iommu/units", "pcie/gpus/*/iommu_group_type"),
        moves=("collective", "pcie link", "availability"),
        best=("none", "passthrough", "identity"),
        over_pcie="all",
        breaks="often",
        usual=(1.02, 2.6),
        beside=("pcie/bridges/*/acs_control", "kernel/cmdline/*iommu", "gpu/*/peers/*/p2p_read"),
        why="Where addresses are translated, what one GPU writes to another goes through root port and page tables: "
        "slower, refused, or a first all-reduce that never ends, and each copy's pages are mapped first. In a guest "
        "that the hypervisor gave its GPUs, translation is the host's.",
        confirm="boot with iommu=pt, or with amd_iommu=off or intel_iommu=off; nvidia-smi topo -p2p r on both",
        confirmed=2,
        sources=(VLLM_33041, VLLM_51513, NCCL, PARAMETERS),
    ),
    Rule(
        name="card-translation",
        sees=("pcie/cards/*/iommu_group_type",),
        moves=("network", "storage"),
        best=("identity",),
        usual=(1.0, 1.5),
        why="Each buffer of a card behind a translating IOMMU is mapped before it is used and unmapped after: CPU time "
        "for each packet or block, and misses of the IOMMU's own cache. DMA-FQ unmaps later and in bulk.",
        confirm="echo identity > /sys/kernel/iommu_groups/GROUP/type (with the driver unbound), or boot with iommu=pt",
        sources=("https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-kernel-iommu_groups", PARAMETERS),
    ),
    Rule(
        name="translation-caches",
        sees=("pcie/gpus/*/ats", "pcie/gpus/*/pasid", "pcie/cards/*/ats", "pcie/cards/*/pasid"),
        moves=("pcie link", "network", "page placement"),
        way="more helps",
        mostly=True,
        usual=(1.0, 1.3),
        beside=("pcie/iommu/mode",),
        why="With ATS a device keeps translations itself, and with a PASID it uses a process's own addresses (Grace, "
        "heterogeneous memory): without them each access asks the IOMMU. Where nothing is translated they do nothing.",
        confirm="lspci -vv (ATSCtl, PASIDCtl) on both; pci=noats takes it away",
        sources=("https://docs.kernel.org/arch/x86/sva.html", PARAMETERS),
    ),
)
