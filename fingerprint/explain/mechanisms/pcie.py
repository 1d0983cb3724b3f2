"""The PCI bus between CPU, GPUs, cards and drives: links, bridges, packets, sleep, errors."""

from fingerprint.explain.mechanisms.graph import Bound, Condition, Rule

PARAMETERS = "https://docs.kernel.org/admin-guide/kernel-parameters.html"
AER = "https://docs.kernel.org/PCI/pcieaer-howto.html"
POWER = "https://docs.kernel.org/power/pci.html"
NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"
ABI = "https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci"
MELLANOX = "https://community.mellanox.com/docs/DOC-2496"
CLUB_142 = "https://github.com/noonghunna/club-3090/issues/142"
CLUB_356 = "https://github.com/noonghunna/club-3090/issues/356"

LOADED = (
    Condition(
        facts="gpu/*/pcie/*_bytes",
        sign="carried",
        of="gpu/*/pcie/link_bandwidth",
        says="a GPU's link carried a tenth and more of what it can",
    ),
)
"""Of a bridge or a card nobody counts the traffic: a link that was idle speaks against it."""

RULES: tuple[Rule, ...] = (
    Rule(
        name="slot-speed",
        sees=("pcie/gpus/*/max_link_speed", "pcie/gpus/*/usable_link_speed", "pcie/gpus/*/current_link_speed"),
        moves=("pcie link", "collective"),
        way="more helps",
        over_pcie="all",
        binds=LOADED,
        breaks="seldom",
        usual=(1.1, 4.0),
        bound=Bound("ratio", "pcie/gpus/*/max_link_speed", "at most as the speed of a lane"),
        beside=("gpu/*/pcie/link_gen_current", "pcie/gpus/*/bridges"),
        why="Bandwidth goes with the speed of a lane, and both ends must have it: a riser, a dock or an option of the "
        "firmware holds it down. At rest 2500 MT/s save power; what counts is the speed at work.",
        confirm="cat /sys/bus/pci/devices/ADDRESS/current_link_speed under load; nvbandwidth -t "
        "host_to_device_memcpy_ce",
        confirmed=1,
        sources=(CLUB_356, "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/974", ABI),
    ),
    Rule(
        name="slot-width",
        sees=("pcie/gpus/*/current_link_width", "pcie/gpus/*/usable_link_width", "pcie/gpus/*/max_link_width"),
        moves=("pcie link", "collective"),
        way="more helps",
        over_pcie="all",
        binds=LOADED,
        usual=(1.1, 4.0),
        bound=Bound("ratio", "pcie/gpus/*/current_link_width", "at most as the lanes"),
        why="Bandwidth goes with the lanes: x4 and x8 in place of x16 made 75.8 of 89.2 tok/s. A slot may be wired or "
        "split for fewer, and a board that sits badly has lost some.",
        confirm="lspci -vv (LnkCap, LnkSta) of both ends; another slot",
        confirmed=1,
        sources=(CLUB_142, ABI),
    ),
    Rule(
        name="narrowest-hop",
        sees=(
            "pcie/gpus/*/narrowest/hop",
            "pcie/gpus/*/narrowest/speed",
            "pcie/gpus/*/narrowest/width",
            "pcie/gpus/*/narrowest/bandwidth",
        ),
        moves=("pcie link", "collective"),
        way="more helps",
        over_pcie="all",
        binds=LOADED,
        usual=(1.1, 4.0),
        bound=Bound("ratio", "pcie/gpus/*/narrowest/bandwidth", "at most as what the narrowest hop carries"),
        beside=("pcie/gpus/*/attachment", "pcie/gpus/*/bridges"),
        why="On the way to the CPU the narrowest link decides, and the GPU's own counters do not show it: a full link "
        "below a chipset or below a switch with a thin way up.",
        confirm="nvbandwidth -t host_to_device_memcpy_ce; for what a switch shares, on all GPUs below it at once",
        sources=(CLUB_142, ABI),
    ),
    Rule(
        name="switch-uplink",
        sees=(
            "pcie/bridges/*/current_link_speed",
            "pcie/bridges/*/current_link_width",
            "pcie/bridges/*/max_link_speed",
            "pcie/bridges/*/max_link_width",
            "pcie/bridges/*/usable_link_*",
        ),
        moves=("pcie link", "collective", "network", "storage"),
        way="more helps",
        over_pcie="all",
        binds=LOADED,
        usual=(1.05, 4.0),
        bound=Bound("ratio", "pcie/bridges/*/current_link_width", "at most as what the bridge's link carries"),
        why="What hangs below a switch shares the link above it. GPUs below one switch reach each other without it, "
        "and weights, other GPUs and the network over it.",
        confirm="lspci -vv (LnkSta) of the switch's upper port; nvbandwidth on all GPUs below it at once",
        sources=(ABI,),
    ),
    Rule(
        name="card-link",
        sees=(
            "pcie/cards/*/current_link_speed",
            "pcie/cards/*/current_link_width",
            "pcie/cards/*/max_link_speed",
            "pcie/cards/*/max_link_width",
            "pcie/cards/*/usable_link_*",
            "pcie/cards/*/narrowest/*",
        ),
        moves=("network", "storage", "collective"),
        way="more helps",
        usual=(1.05, 4.0),
        unused=True,
        bound=Bound("ratio", "pcie/cards/*/current_link_width", "at most as what its link carries"),
        why="A card of 400 Gb/s needs 16 lanes of 32 GT/s, a drive of 14 GB/s four of them: with half of the lanes or "
        "of the speed it has half of the bandwidth, and says nothing.",
        confirm="lspci -vv (LnkCap, LnkSta); ib_write_bw of one card, or fio with direct reads of one drive",
        sources=(ABI,),
    ),
    Rule(
        name="chipset-slot",
        sees=("pcie/gpus/*/attachment", "pcie/cards/*/attachment"),
        moves=("pcie link", "collective", "network", "storage"),
        best=("cpu",),
        over_pcie="all",
        usual=(1.1, 2.5),
        beside=("pcie/gpus/*/narrowest/bandwidth", "gpu/*/peers/*/topology"),
        why="All that hangs at a chipset shares its few lanes to the CPU: 6.5 GB/s in place of 13.2 between two GPUs, "
        "and `nvidia-smi topo -m` calls both PHB.",
        confirm="lspci -tv: which port is above it; nvbandwidth in a slot of the CPU",
        sources=("https://github.com/noonghunna/club-3090/issues/91", ABI),
    ),
    Rule(
        name="pcie-distance",
        sees=("pcie/gpus/*/distances/*",),
        moves=("collective", "pcie link", "network"),
        best=("PIX",),
        over_pcie="between GPUs",
        usual=(1.1, 4.0),
        beside=("gpu/*/peers/*/topology", "gpu/*/peers/*/p2p_read"),
        why="Through one switch, the CPU, or the link between sockets: each step has less bandwidth, and a network "
        "card beyond PXB is reached through the CPU. Libraries choose rings and cards by it.",
        confirm="nvidia-smi topo -m on both; NCCL_DEBUG=INFO tells the chosen path",
        confirmed=1,
        sources=("https://github.com/tatsu-lab/stanford_alpaca/issues/32", NCCL),
    ),
    Rule(
        name="pci-devices",
        sees=(
            "pcie/gpus",
            "pcie/gpus/*",
            "pcie/cards",
            "pcie/cards/*",
            "pcie/bridges",
            "pcie/bridges/*",
            "pcie/gpus/*/distances",
        ),
        moves=("availability", "collective", "network", "storage", "pcie link"),
        breaks="seldom",
        unused=True,
        why="A card, drive or GPU that came, went, or sits in another slot: other ways, other neighbours below a "
        "switch, and what was chosen by address is another device.",
        confirm="lspci -tv on both; dmesg for what was not found, or fell off the bus",
        sources=(ABI,),
    ),
    Rule(
        name="pci-driver",
        sees=("pcie/gpus/*/driver", "pcie/cards/*/driver", "pcie/bridges/*/driver"),
        moves=("availability", "network", "storage"),
        breaks="often",
        unused=True,
        why="What vfio-pci has belongs to a guest, and what no driver has is not there: the run has fewer cards or "
        "drives, or another way to them.",
        confirm="lspci -k of the device; driverctl list-overrides",
        sources=("https://docs.kernel.org/driver-api/vfio.html", ABI),
    ),
    Rule(
        name="pci-nearness",
        sees=("pcie/gpus/*/numa_node", "pcie/cards/*/numa_node"),
        moves=("page placement", "pcie link", "network", "storage"),
        usual=(1.02, 1.8),
        beside=("process/*/affinity", "process/*/mems_allowed"),
        why="Buffers and threads belong on a device's own memory node: from another one what it reads and writes "
        "crosses the link between sockets.",
        confirm="numactl --cpunodebind=NODE --membind=NODE with the device's node",
        sources=("https://github.com/NVIDIA/TensorRT-LLM/pull/18117", ABI),
    ),
    Rule(
        name="packet-size",
        sees=("pcie/gpus/*/max_payload", "pcie/cards/*/max_payload", "pcie/bridges/*/max_payload"),
        moves=("pcie link", "collective", "network", "storage"),
        way="more helps",
        over_pcie="all",
        usual=(1.0, 1.15),
        why="Each packet has a header of some 24 bytes: of 128 bytes of payload a sixth is lost, of 256 half of that. "
        "One device on the way that takes no more holds for all; pci=pcie_bus_perf sets it higher.",
        confirm="lspci -vv (DevCap, DevCtl: MaxPayload) of each hop; boot with pci=pcie_bus_perf",
        sources=(PARAMETERS,),
    ),
    Rule(
        name="read-request-size",
        sees=("pcie/gpus/*/max_read_request", "pcie/cards/*/max_read_request"),
        moves=("network", "pcie link", "storage"),
        way="more helps",
        mostly=True,
        usual=(1.0, 1.3),
        why="How much a device asks of memory at once. Cards of 200 Gb/s and more want 4096 bytes to read at their "
        "rate; where many share a switch, small requests keep it fair.",
        confirm="lspci -vv (DevCtl: MaxReadReq); setpci -s ADDRESS CAP_EXP+8.w, and ib_read_bw again",
        sources=(MELLANOX, PARAMETERS),
    ),
    Rule(
        name="relaxed-ordering",
        sees=("pcie/gpus/*/relaxed_ordering", "pcie/cards/*/relaxed_ordering"),
        moves=("network", "collective", "pcie link"),
        way="more helps",
        mostly=True,
        usual=(1.0, 2.5),
        beside=("process/*/env/NCCL_IB_PCI_RELAXED_ORDERING", "process/*/env/UCX_IB_PCI_RELAXED_ORDERING"),
        why="Writes that may not pass each other wait for the slowest: 16 GB/s in place of 40 on Emerald Rapids, 150 "
        "Gb/s in place of 200. A device may use it only where this allows it; libraries ask for it as well.",
        confirm="lspci -vv (DevCtl: RlxdOrd); NCCL_IB_PCI_RELAXED_ORDERING=1 (or UCX_IB_PCI_RELAXED_ORDERING=y)",
        confirmed=1,
        sources=("https://github.com/openucx/ucx/pull/10955",),
    ),
    Rule(
        name="extended-tags",
        sees=("pcie/gpus/*/extended_tags", "pcie/cards/*/extended_tags"),
        moves=("pcie link", "network", "storage"),
        way="more helps",
        usual=(1.0, 2.0),
        why="With 5 bits of tag 32 reads are under way at once, with 8 bits 256: what takes a microsecond and more to "
        "answer then limits reading, as 32 times 512 bytes in each microsecond are 16 GB/s.",
        confirm="lspci -vv (DevCtl: ExtTag) on both; a copy from the host (nvbandwidth), or ib_read_bw",
        sources=(ABI,),
    ),
    Rule(
        name="link-sleep",
        sees=("pcie/aspm_policy", "pcie/gpus/*/aspm", "pcie/cards/*/aspm", "pcie/bridges/*/aspm"),
        moves=("pcie link", "network", "storage", "launch latency"),
        best=("disabled", "performance"),
        usual=(1.0, 1.2),
        beside=("kernel/cmdline/pcie_aspm*",),
        why="A link that sleeps between packets is woken for each burst: about a microsecond from L0s, up to tens from "
        "L1. Small messages and launches feel it, long copies do not.",
        confirm="echo performance > /sys/module/pcie_aspm/parameters/policy, and repeat",
        sources=(PARAMETERS, POWER),
    ),
    Rule(
        name="device-sleep",
        sees=(
            "pcie/gpus/*/power/control",
            "pcie/gpus/*/power/d3cold_allowed",
            "pcie/cards/*/power/control",
            "pcie/cards/*/power/d3cold_allowed",
        ),
        moves=("gpu initialisation", "network", "storage"),
        best=("on",),
        usual=(1.0, 1.1),
        beside=("gpu/*/persistence_mode",),
        why="A device that nobody uses may sleep, and lose its power whole: the first use waits until it and the "
        "bridges above it are awake, some milliseconds to tenths of a second.",
        confirm="echo on > /sys/bus/pci/devices/ADDRESS/power/control; runtime_status before the first use",
        sources=("https://docs.kernel.org/power/runtime_pm.html", POWER),
    ),
    Rule(
        name="resizable-bar",
        sees=("pcie/gpus/*/bars",),
        moves=("kernel choice", "collective", "pcie link"),
        breaks="seldom",
        usual=(1.0, 2.7),
        beside=("gpu/*/memory/bar1_total", "pcie/gpus/*/resizable_to"),
        why="Through a window of 256 MiB the CPU and peers see a part of the memory at a time: peer access by other "
        "builds of the driver fails, and engines place weights where they are slow: 13.9 in place of 36.9 tok/s.",
        confirm="lspci -vv (Region 1, Resizable BAR); firmware: Above 4G Decoding, Resizable BAR",
        confirmed=2,
        sources=(
            "https://github.com/ggml-org/llama.cpp/issues/27097",
            "https://github.com/tinygrad/open-gpu-kernel-modules/issues/13",
        ),
    ),
    Rule(
        name="bus-errors",
        sees=(
            "pcie/*/*/aer/correctable",
            "pcie/*/*/aer/rx_err",
            "pcie/*/*/aer/bad_*",
            "pcie/*/*/aer/rollover",
            "pcie/*/*/aer/timeout",
        ),
        moves=("pcie link", "collective", "network", "storage"),
        way="less helps",
        breaks="seldom",
        beside=("pcie/**/current_link_speed",),
        why="Each packet that came damaged is sent again, and after four failures the link is trained anew while all "
        "wait. Wiring for a slower generation gave 210 to 240 errors a second, of which the log told one in seven.",
        confirm="cat /sys/bus/pci/devices/ADDRESS/aer_dev_correctable before and after; hold the link to a lower "
        "generation; reseat",
        confirmed=1,
        sources=("https://github.com/ARK-Electronics/ark_jetson_kernel/pull/120", AER),
    ),
    Rule(
        name="bus-failures",
        sees=("pcie/*/*/aer/nonfatal", "pcie/*/*/aer/fatal"),
        moves=("availability",),
        way="less helps",
        breaks="often",
        beside=("driver/log/*/last_xid",),
        why="A transfer was lost, or the link was reset: who waited for it saw an error, and the device may be gone.",
        confirm="dmesg for `PCIe Bus Error`; the same board in another slot",
        sources=(AER,),
    ),
    Rule(
        name="virtual-functions",
        sees=("pcie/cards/*/sriov_numvfs",),
        moves=("network", "storage"),
        usual=(1.0, 1.1),
        unused=True,
        why="Virtual functions share a card's port, memory and switch: who has them takes part of its bandwidth.",
        confirm="cat /sys/bus/pci/devices/ADDRESS/sriov_numvfs; what the functions carry, by ethtool -S",
        sources=("https://docs.kernel.org/PCI/pci-iov-howto.html",),
    ),
)
