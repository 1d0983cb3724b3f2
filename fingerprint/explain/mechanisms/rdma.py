"""RDMA between hosts: adapters and their ports, what is sent again, and whether they reach GPU memory."""

from fingerprint.explain.mechanisms.graph import Bound, Condition, Phase, Rule

DEVICE = "network/rdma/*"
PORT = f"{DEVICE}/ports/*"
MEMORY = "network/peer_memory"
SYSFS = "https://docs.kernel.org/admin-guide/abi-stable.html"
GPUDIRECT = "https://docs.nvidia.com/cuda/gpudirect-rdma/"
NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
COUNTERS = "https://github.com/torvalds/linux/commit/e1f24a79f424ddb03828de7c0152668c9a30146e"
CARRIED = (
    Condition(facts=f"{PORT}/counters/port_*_data", sign="crossed", says="anything crossed the port by RDMA"),
    Condition(facts=f"{PORT}/hw_counters/*bytes", sign="crossed", says="anything crossed the port of an EFA"),
)
REPEATED = (
    Condition(facts=f"{PORT}/hw_errors/*", sign="grew", says="packets were sent again or given up"),
    Condition(facts=f"{PORT}/hw_congestion/*", sign="grew", says="the network told of congestion"),
)
BETWEEN_HOSTS: tuple[Phase, ...] = ("decode step", "verify step", "prefill", "transfer", "start-up", "any work")

RULES: tuple[Rule, ...] = (
    Rule(
        name="rdma-port",
        sees=(DEVICE, PORT, f"{PORT}/state", f"{PORT}/phys_state", f"{PORT}/link_layer"),
        moves=("network", "collective", "availability"),
        best=("ACTIVE", "LinkUp", "present"),
        between=True,
        breaks="often",
        usual=(1.1, 18.0),
        beside=("process/*/env/NCCL_IB_HCA",),
        told_by=("nccl-net-socket", "nccl-no-adapter"),
        why="NCCL passes over a port that is not active, without a word at its usual level: its traffic goes by the "
        "other ports, from GPUs that are far from them, or by TCP if none is left.",
        confirm="ibstat; NCCL_DEBUG=INFO lists the adapters that it took behind NET/IB",
        confirmed=1,
        sources=("https://github.com/areal-project/AReaL/issues/639", SYSFS),
    ),
    Rule(
        name="rdma-rate",
        sees=(f"{PORT}/rate", f"{PORT}/width_speed"),
        moves=("network", "collective"),
        way="more helps",
        between=True,
        binds=CARRIED,
        usual=(1.1, 4.0),
        bound=Bound("ratio", f"{PORT}/rate", "at most as the rate of the port"),
        why="A lane that is missing or an older generation on one port: a ring over all ports runs at the pace of the "
        "slowest. Messages of some kB, as in decoding, are bound by latency and notice less.",
        confirm="ibstat (Rate) of all ports; ib_write_bw between the two hosts on this port",
        sources=(SYSFS,),
    ),
    Rule(
        name="rdma-mtu",
        sees=(f"{PORT}/active_mtu",),
        moves=("network", "collective"),
        way="more helps",
        between=True,
        binds=CARRIED,
        usual=(1.0, 1.1),
        why="Packets of 1 KiB in the place of 4: four times as many headers, acknowledgements and packets to process. "
        "An interface with 1500 allows 1024, with 4200 all of 4096; the difference was 5 %.",
        confirm="`ip link set CARD mtu 4200` on all hosts and switches, then ibv_devinfo (active_mtu) and ib_write_bw",
        sources=("https://github.com/torvalds/linux/blob/master/include/rdma/ib_addr.h",),
    ),
    Rule(
        name="rdma-firmware",
        sees=(f"{DEVICE}/fw_ver",),
        moves=("network", "collective", "availability"),
        between=True,
        binds=CARRIED,
        breaks="seldom",
        usual=(1.0, 1.5),
        why="Congestion control, adaptive routing, order of packets and how connections are set up are the firmware's: "
        "hosts of one job with two versions may agree on a mode that one of them does badly.",
        confirm="ibstat (Firmware version) on all hosts of the job; the older one everywhere for one run",
        sources=("https://github.com/NVIDIA/nccl/issues/1403",),
    ),
    Rule(
        name="rdma-addresses",
        sees=(f"{PORT}/gids", f"{PORT}/gids/*", f"{PORT}/gids/*/*", f"{PORT}/pkeys", f"{PORT}/lid_mask_count"),
        moves=("network", "availability"),
        between=True,
        breaks="often",
        beside=("process/*/env/NCCL_IB_GID_INDEX", "process/*/env/NCCL_IB_PKEY"),
        told_by=("rdma-timeout",),
        why="NCCL_IB_GID_INDEX counts in this table, which an address or a VLAN that came or went renumbers: the index "
        "then means RoCE v1, another network, or nothing, and connections fail or are not routed.",
        confirm="show_gids, or /sys/class/infiniband/*/ports/*/gid_attrs/types on all hosts; unset the index",
        sources=("https://github.com/NVIDIA/nccl/pull/1427", NCCL),
    ),
    Rule(
        name="roce-congestion-control",
        sees=(f"{PORT}/traffic_class", "network/interfaces/*/ecn/*"),
        moves=("network", "collective"),
        between=True,
        phases=BETWEEN_HOSTS,
        shows=REPEATED,
        usual=(1.1, 10.0),
        beside=("network/interfaces/*/priorities/pfc", "process/*/env/NCCL_IB_TC"),
        why="Into which priority RoCE goes and how senders answer marks: in a priority that is not lossless one lost "
        "packet repeats a window, and marks that nobody answers end in pauses for everybody.",
        confirm="NCCL_IB_TC against the switch's lossless class; rp_cnp_handled and out_of_sequence before and after",
        sources=("https://github.com/NVIDIA/nccl/issues/378", NCCL),
    ),
    Rule(
        name="rdma-link-errors",
        sees=(f"{PORT}/counters/*error*", f"{PORT}/counters/link_downed", f"{PORT}/counters/port_xmit_discards"),
        moves=("network", "collective"),
        way="less helps",
        between=True,
        breaks="seldom",
        usual=(1.05, 4.0),
        beside=(f"{PORT}/state", f"{PORT}/rate"),
        why="A cable or transceiver that damages what it carries: symbols are repaired, packets are sent again, and at "
        "last the link is trained anew while all ranks wait.",
        confirm="perfquery -x before and after; mlxlink -d DEVICE -c; the same cable on another port",
        sources=(SYSFS,),
    ),
    Rule(
        name="rdma-retransmission",
        sees=(f"{PORT}/hw_errors/*",),
        moves=("network", "collective"),
        way="less helps",
        between=True,
        breaks="seldom",
        usual=(1.1, 10.0),
        beside=(f"{PORT}/traffic_class", "network/interfaces/*/priorities/pfc"),
        why="out_of_sequence is what this host missed, packet_seq_err what its peers did: RoCE repeats from the lost "
        "packet on. A timeout without an answer costs milliseconds to seconds, out_of_buffer a receiver too slow.",
        confirm="grep . /sys/class/infiniband/*/ports/*/hw_counters/* before and after, on both hosts",
        sources=(COUNTERS, "https://github.com/NVIDIA/nccl/issues/306"),
    ),
    Rule(
        name="rdma-congestion",
        sees=(f"{PORT}/hw_congestion/*",),
        moves=("network", "collective"),
        way="less helps",
        between=True,
        usual=(1.05, 3.0),
        beside=("network/interfaces/*/priorities/pfc_received",),
        why="A switch marked packets, the receiver told the sender (np_cnp_sent), the sender slowed down "
        "(rp_cnp_handled): flows of another job, or two of this one, on one link of the network.",
        confirm="the same counters while nothing else runs in the cluster; adaptive routing, NCCL_IB_SPLIT_DATA_ON_QPS",
        sources=(COUNTERS,),
    ),
    Rule(
        name="gpu-direct-rdma",
        sees=(f"{MEMORY}/module", f"{MEMORY}/registered", f"{MEMORY}/dma_buf"),
        moves=("network", "collective"),
        best=("nvidia_peermem", "nv_peer_mem"),
        phases=("decode step", "verify step", "prefill", "transfer", "any work"),
        over_rdma=True,
        breaks="seldom",
        usual=(1.2, 18.0),
        beside=("process/*/env/NCCL_NET_GDR_LEVEL", "process/*/env/NCCL_DMABUF_ENABLE", "driver/module/flavour"),
        told_by=(
            "register-gpu-memory-failed",
            "mooncake-register-failed",
            "nccl-no-direct-rdma",
        ),
        why="Either a module registers GPU memory with the verbs, or kernel and open driver pass it as dma-buf; with "
        "neither, each byte to another host is copied through the host's memory: 180 against 10 GB/s.",
        confirm="NCCL_DEBUG=INFO: `via NET/IB/0/GDRDMA`; ls /sys/kernel/mm/memory_peers; on every host of the job",
        confirmed=2,
        sources=(
            "https://github.com/NVIDIA/nccl/issues/1343",
            "https://github.com/NVIDIA/nccl-tests/issues/152",
            GPUDIRECT,
        ),
    ),
    Rule(
        name="gdrcopy",
        sees=(f"{MEMORY}/gdrdrv", f"{MEMORY}/gdrdrv_node"),
        moves=("network", "collective", "launch latency"),
        phases=("decode step", "verify step", "transfer", "any work"),
        over_rdma=True,
        usual=(1.0, 1.5),
        why="With it the CPU writes small messages and flags straight into GPU memory in a microsecond; without it "
        "UCX, NVSHMEM and NCCL's proxies copy by the driver, at several.",
        confirm="gdrcopy_copylat in the same container; UCX_TLS=^gdr_copy for one run",
        sources=("https://github.com/NVIDIA/gdrcopy",),
    ),
    Rule(
        name="verbs-devices",
        sees=(f"{MEMORY}/verbs_nodes",),
        moves=("network", "collective"),
        between=True,
        breaks="seldom",
        usual=(1.5, 7.4),
        beside=("nccl/*/log/network",),
        told_by=("nccl-net-socket", "nccl-no-adapter"),
        why="Without /dev/infiniband/uverbs* a container has adapters in sysfs and no way to use them: NCCL takes TCP, "
        "and an all-reduce of 1 GB went from 50 to 370 ms.",
        confirm="`docker run --device /dev/infiniband`; ibv_devinfo in the container; NCCL_NET=IB, which "
        "fails in the place of falling back",
        confirmed=1,
        sources=("https://github.com/areal-project/AReaL/issues/639", "https://github.com/aws/aws-ofi-nccl/issues/803"),
    ),
    Rule(
        name="adapter-nearness",
        sees=(f"{DEVICE}/numa_node",),
        moves=("network", "collective", "pcie link"),
        between=True,
        binds=CARRIED,
        usual=(1.0, 2.0),
        why="A GPU reaches an adapter under its own bridge at full rate; one on the other socket over the sockets' "
        "link, which carries less of what devices say to each other.",
        confirm="nvidia-smi topo -m: PIX or PXB between a GPU and the adapter that it uses; NCCL_IB_HCA",
        sources=(GPUDIRECT,),
    ),
)
