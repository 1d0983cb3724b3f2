"""Variables of NCCL's way between hosts: which adapters, on how many paths, straight from the GPU or not."""

from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.mechanisms.rdma import CARRIED, REPEATED
from fingerprint.explain.mechanisms.variables import env

_NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
_SOURCE = "https://github.com/NVIDIA/nccl/blob/master/docs/userguide/source/env.rst"
_TCP = "https://github.com/areal-project/AReaL/issues/639"


RULES: tuple[Rule, ...] = (
    Rule(
        name="nccl-network",
        sees=env(
            "NCCL_NET NCCL_NET_* NCCL_IB_* NCCL_SOCKET_* NCCL_GIN_* NCCL_RMA_* NCCL_IBEXT_DISABLE NCCL_PLUGIN_P2P"
        ),
        moves=("collective", "network"),
        between=True,
        breaks="often",
        usual=(1.1, 18.0),
        told_by=("nccl-net-socket", "nccl-no-adapter", "rdma-timeout"),
        why="Which network and which plugin carry the traffic between hosts. What NCCL does not find it replaces by "
        "TCP without a word: 50 ms became 370. A network that is named and not there is an error instead.",
        confirm="NCCL_DEBUG=INFO: the NET/ lines and channels of both states, on each node",
        confirmed=1,
        sources=(_NCCL, _TCP, "https://github.com/NVIDIA/nccl/issues/1403"),
    ),
    Rule(
        name="nccl-rdma-off",
        sees=env("NCCL_IB_DISABLE"),
        moves=("collective", "network", "cpu time"),
        best=("absent", "0"),
        mostly=True,
        between=True,
        over_rdma=True,
        breaks="seldom",
        usual=(1.5, 7.4),
        beside=("network/rdma/*/ports/*/state",),
        told_by=("nccl-net-socket",),
        why="With 1 what goes to other hosts takes TCP: through the kernel, by threads of the host, at a part of the "
        "adapter's rate (50 ms by RDMA were 370). Often copied from advice for machines that have no adapter. On one "
        "host it changes nothing but the start.",
        confirm="NCCL_DEBUG=INFO: `NET/IB` or `NET/Socket`; unset it, then all_reduce_perf over both hosts",
        sources=(_NCCL, _TCP),
    ),
    Rule(
        name="nccl-adapters",
        sees=env("NCCL_IB_HCA NCCL_EXCLUDE_IB_HCA NCCL_IB_MERGE_* NCCL_IB_RAIL_POLICY NCCL_IB_SUBNET_AWARE_ROUTING"),
        moves=("collective", "network", "pcie link"),
        between=True,
        over_rdma=True,
        binds=CARRIED,
        breaks="often",
        usual=(1.1, 4.0),
        beside=("network/rdma/*/numa_node", "network/rdma/*/ports/*/state"),
        told_by=("nccl-no-adapter", "rdma-timeout"),
        why="Which of a host's adapters carry it, and which GPU uses which: one left out is its rate lost. Lists are "
        "paired by position, so that one host's list on all, or `mlx5_1` that takes mlx5_10 as well, connects ports "
        "that do not reach each other.",
        confirm="NCCL_DEBUG=INFO: the adapters behind `NET/IB : Using` on each host; unset it, then the same run",
        confirmed=1,
        sources=(
            _NCCL,
            "https://github.com/spark-arena/sparkrun/pull/137",
            "https://github.com/spark-arena/sparkrun/issues/135",
        ),
    ),
    Rule(
        name="nccl-several-adapters",
        sees=env("NCCL_CROSS_NIC NCCL_NETDEVS_POLICY NCCL_NET_MERGE_* NCCL_NET_FORCE_MERGE NCCL_IGNORE_NET_MISMATCH"),
        moves=("collective", "network", "pcie link"),
        between=True,
        breaks="seldom",
        usual=(1.1, 2.0),
        beside=("network/rdma/*/numa_node", "network/rdma/*/ports/*/state"),
        why="Of several adapters of a host, by RDMA or sockets, which a ring uses: one rail for all of it, or another "
        "on the way back. Rings that cross rails go through more switches, and one adapter for two has half the rate.",
        confirm="NCCL_DEBUG=INFO: the rings, and which NET/ each ends at; unset it, then the same run",
        sources=(_NCCL,),
    ),
    Rule(
        name="nccl-interface",
        sees=env("NCCL_SOCKET_IFNAME NCCL_SOCKET_FAMILY NCCL_OOB_NET_IFNAME NCCL_COMM_ID"),
        moves=("network", "collective", "availability"),
        between=True,
        breaks="often",
        beside=("nccl/*/log/network",),
        told_by=("nccl-net-socket",),
        why="Over which interface ranks find each other: one that is not on this host, or of a bridge that other hosts "
        "do not reach, ends or hangs the start. Data take it only where no adapter of RDMA carries them, and then its "
        "rate is theirs.",
        confirm="NCCL_DEBUG=INFO: `Bootstrap : Using` on each host, and ping from that address to the other's",
        sources=(_NCCL, "https://github.com/NVIDIA/nccl/issues/286", "https://github.com/horovod/horovod/pull/700"),
    ),
    Rule(
        name="nccl-tcp-streams",
        sees=env("NCCL_SOCKET_NTHREADS NCCL_NSOCKS_* NCCL_SOCKET_INLINE NCCL_SOCKET_MIN_TASKSIZE"),
        moves=("network", "collective", "cpu time"),
        between=True,
        beside=("nccl/*/log/network",),
        why="By how many threads and sockets each connection goes, where TCP carries it: one stream does not fill "
        "100 Gbit/s, several are as fast as the slowest of them, and each thread takes a CPU. With RDMA nothing "
        "reads it.",
        confirm="NCCL_DEBUG=INFO: NET/Socket; both values with all_reduce_perf, CPU use of the proxies beside it",
        sources=(
            _NCCL,
            "https://github.com/NVIDIA/nccl/issues/450",
            "https://github.com/NVIDIA/nccl-tests/issues/83",
        ),
    ),
    Rule(
        name="nccl-queue-pairs",
        sees=env(
            "NCCL_IB_QPS_PER_CONNECTION NCCL_IB_SPLIT_DATA_ON_QPS RCCL_IB_QPS_PER_P2P NCCL_IB_ADAPTIVE_ROUTING"
            " NCCL_IB_AR_THRESHOLD NCCL_IB_OOO_RQ NCCL_IB_EVENT_BASED_LB"
        ),
        moves=("network", "collective"),
        between=True,
        over_rdma=True,
        binds=CARRIED,
        usual=(1.02, 1.7),
        beside=("network/rdma/*/ports/*/link_layer",),
        why="On how many paths of the network one connection is spread. One queue pair is one path, and one port of a "
        "bond. Split over several, a large all-reduce came 70 % higher on RoCE, and each small message waits for all "
        "of its parts.",
        confirm="all_reduce_perf at the run's sizes with both values; np_cnp_sent and traffic of each port beside it",
        sources=(
            _NCCL,
            "https://github.com/NVIDIA/cluster-readiness-engine/pull/287",
            "https://github.com/NVIDIA/nccl/issues/1401",
            "https://github.com/NVIDIA/nccl/issues/1015",
        ),
    ),
    Rule(
        name="nccl-direct-rdma",
        sees=env(
            "NCCL_NET_GDR_* NCCL_IB_GDR_LEVEL NCCL_IB_CUDA_SUPPORT NCCL_GDR_* NCCL_DMABUF_* RCCL_FORCE_ENABLE_DMABUF"
            " NCCL_IB_DATA_DIRECT RCCL_GDR_*"
        ),
        moves=("network", "collective", "pcie link"),
        between=True,
        over_rdma=True,
        breaks="seldom",
        usual=(1.2, 18.0),
        beside=("network/peer_memory/module", "network/rdma/*/numa_node"),
        told_by=("nccl-no-direct-rdma",),
        why="Up to which distance between GPU and adapter data go straight, by which door of the kernel, and whether "
        "sending too: beyond it each byte is copied through the host's memory (180 against 10 GB/s). Forced across "
        "sockets, some bridges are slower than the copy.",
        confirm="NCCL_DEBUG=INFO: `GDRDMA` behind the channels in both states; ib_write_bw --use_cuda",
        sources=(_NCCL, "https://github.com/NVIDIA/nccl/issues/1343"),
    ),
    Rule(
        name="nccl-gdrcopy",
        sees=env("NCCL_GDRCOPY_*"),
        moves=("collective", "network", "launch latency"),
        between=True,
        over_rdma=True,
        phases=("decode step", "verify step", "transfer", "any work"),
        beside=("network/peer_memory/gdrdrv",),
        why="Whether flags between the proxy and the GPU's kernel lie in GPU memory that the CPU maps, or in the "
        "host's, which the GPU reads over PCIe: microseconds of each small message between hosts.",
        confirm="all_reduce_perf -b 8 -e 64K over two hosts with both values",
        sources=(_SOURCE, "https://github.com/NVIDIA/gdrcopy"),
    ),
    Rule(
        name="nccl-rdma-address",
        sees=env(
            "NCCL_IB_GID_INDEX NCCL_IB_PKEY NCCL_IB_PKEY_VALUE NCCL_IB_ADDR_* NCCL_IB_ROCE_VERSION_NUM"
            " NCCL_IB_IS_GLOBAL"
        ),
        moves=("network", "availability"),
        between=True,
        over_rdma=True,
        breaks="often",
        beside=("network/rdma/*/ports/*/gids/*/*",),
        told_by=("rdma-timeout",),
        why="From which address, in which version of RoCE and in which partition queue pairs talk. The index counts in "
        "a table that differs from host to host: another entry is not routed, and the connection times out, or it "
        "goes where no lossless class is.",
        confirm="show_gids on all hosts for this index; unset it, then NCCL (2.21 and later) looks for it itself",
        sources=(_NCCL, "https://github.com/NVIDIA/nccl/pull/1427"),
    ),
    Rule(
        name="nccl-service-level",
        sees=env("NCCL_IB_SL NCCL_IB_TC NCCL_IB_FIFO_TC NCCL_IB_ECE_ENABLE"),
        moves=("network", "collective"),
        between=True,
        over_rdma=True,
        binds=CARRIED,
        breaks="seldom",
        shows=REPEATED,
        usual=(1.1, 10.0),
        beside=("network/rdma/*/ports/*/traffic_class", "network/interfaces/*/priorities/pfc"),
        why="In which class of the network the traffic goes, and whether both ends agree on congestion control: "
        "outside of the lossless class a lost packet repeats a window; adaptive routing is switched on for some "
        "levels only.",
        confirm="The class against the switch's; out_of_sequence and rp_cnp_handled before and after with both values",
        sources=(_NCCL, "https://github.com/NVIDIA/nccl/issues/378"),
    ),
    Rule(
        name="nccl-rdma-patience",
        sees=env("NCCL_IB_TIMEOUT NCCL_IB_RETRY_CNT NCCL_IB_RETURN_ASYNC_EVENTS NCCL_SOCKET_RETRY_*"),
        moves=("availability", "network"),
        between=True,
        breaks="often",
        shows=REPEATED,
        told_by=("rdma-timeout",),
        why="How long it waits for an answer before it gives up, 4 us times 2 to this power and again at each retry: "
        "at 14 a port that comes back after a second ends the job, at 22 a dead one holds it for 2 minutes. While "
        "nothing is lost it costs nothing.",
        confirm="The log for error 12 of ibv_poll_cq; hw_errors of the port before and after",
        sources=(_SOURCE, "https://github.com/areal-project/AReaL/pull/640"),
    ),
    Rule(
        name="nccl-relaxed-ordering",
        sees=env("NCCL_IB_PCI_RELAXED_ORDERING RCCL_GDR_FLUSH_GPU_MEM_NO_RELAXED_ORDERING"),
        moves=("network", "pcie link"),
        between=True,
        over_rdma=True,
        breaks="seldom",
        beside=("cpu/processor/model_name",),
        why="Whether the adapter's writes may overtake each other on PCIe: in virtual machines and on some CPUs the "
        "strict order takes more than half of the rate. 2 asks for it where it is to be had, 1 fails without it.",
        confirm="NCCL_DEBUG=INFO: `[RO]` behind the adapters; all_reduce_perf with 0 and 2",
        sources=(_NCCL, "https://github.com/openucx/ucx/pull/8062"),
    ),
    Rule(
        name="nccl-by-neighbour",
        sees=env("NCCL_PXN_* NCCL_P2P_PXN_LEVEL NCCL_NET_SHARED_* NCCL_NET_DISABLE_INTRA"),
        moves=("network", "nvlink", "collective"),
        between=True,
        over_rdma=True,
        breaks="seldom",
        why="Whether data pass by NVLink to the GPU whose adapter is on the right rail, and whether those that go the "
        "same way share a connection: fewer and larger messages, or one path more crowded. All-to-all between hosts "
        "shows it, a ring hardly.",
        confirm="sendrecv_perf and alltoall_perf with both values; NCCL_DEBUG=INFO tells `PXN 1`",
        sources=(_SOURCE,),
    ),
    Rule(
        name="nccl-in-network-reduction",
        sees=env("NCCL_COLLNET_* NCCL_COLLNET_NODE_THRESHOLD NCCL_IGNORE_COLLNET_MISMATCH NCCL_SHARP_*"),
        moves=("network", "collective"),
        between=True,
        over_rdma=True,
        breaks="seldom",
        beside=("nccl/*/log/plugins/*",),
        why="Whether switches of InfiniBand add up on the way, which halves what a ring sends. It takes a plugin, an "
        "aggregation manager in the network and places in it that other jobs may hold: without them it falls back "
        "or fails.",
        confirm="NCCL_DEBUG=INFO: CollNet among the channels; all_reduce_perf with 0 and 1",
        sources=(_NCCL, "https://docs.nvidia.com/networking/display/sharpltsv391/using+nvidia+sharp+with+nvidia+nccl"),
    ),
    Rule(
        name="nccl-connecting",
        sees=env(
            "NCCL_RUNTIME_CONNECT NCCL_UID_STAGGER_* NCCL_OOB_NET_ENABLE NCCL_BOOTSTRAP_* NCCL_CONNECT_ROUND_MAX_PEERS"
            " NCCL_COMM_BLOCKING NCCL_SOCKET_POLL_TIMEOUT_MSEC"
        ),
        moves=("collective", "gpu memory"),
        phases=("start-up", "memory use", "any work"),
        between=True,
        breaks="seldom",
        why="When and how ranks connect. On demand, buffers are taken and the first collective of each kind pays, in "
        "the timed window where nothing was warmed up; otherwise the start does.",
        confirm="Warm up with each collective, then the same run; `Init timings` of NCCL_DEBUG=INFO in both states",
        sources=(_SOURCE, "https://github.com/pytorch/pytorch/pull/154055"),
    ),
)
