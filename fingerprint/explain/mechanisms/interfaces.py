"""Network cards: their links, their drivers' settings, what they drop, and which of them carries what is sent.

Of TCP and UDP; what RDMA has of its own stands in a theme of its own. A card that carried nothing held nobody up.
"""

from fingerprint.explain.mechanisms.graph import Bound, Condition, Rule

CARD, STACK = "network/interfaces/*", "network/stack"
ETHTOOL = "https://docs.kernel.org/networking/ethtool-netlink.html"
NAPI = "https://docs.kernel.org/networking/napi.html"
STATISTICS = "https://docs.kernel.org/networking/statistics.html"
IP = "https://docs.kernel.org/networking/ip-sysctl.html"
CARRIED = (Condition(facts=f"{CARD}/statistics/*_bytes", sign="crossed", says="anything crossed the card"),)
LOST = (
    Condition(facts=f"{CARD}/statistics/*_errors", sign="grew", says="packets were lost"),
    Condition(facts=f"{CARD}/statistics/tx_dropped", sign="grew", says="packets were dropped on their way out"),
    Condition(facts=f"{CARD}/hw_counters/*", sign="grew", says="the card dropped, paused or marked packets"),
)

RULES: tuple[Rule, ...] = (
    Rule(
        name="interface-link",
        sees=("network/interfaces/*", f"{CARD}/operstate", f"{CARD}/carrier"),
        moves=("network", "collective", "availability"),
        best=("up", "present"),
        breaks="often",
        usual=(1.1, 8.0),
        beside=("network/routes/default_interface", "process/*/env/NCCL_SOCKET_IFNAME"),
        why="What a card carried that is down or gone goes by another one, or stops: of eight seven are left, and a "
        "name that NCCL_SOCKET_IFNAME asks for may mean none.",
        confirm="`ip -s link`; dmesg for `Link is Down`; the same cable in another port",
        sources=("https://docs.kernel.org/networking/operstates.html",),
    ),
    Rule(
        name="interface-speed",
        sees=(f"{CARD}/speed",),
        moves=("network", "collective"),
        way="more helps",
        binds=CARRIED,
        usual=(1.1, 10.0),
        bound=Bound("ratio", f"{CARD}/speed", "at most as the rate of the link"),
        why="A cable, transceiver or switch port that came up slower: what is bound by the network takes as much "
        "longer, what is not notices nothing.",
        confirm="`ethtool CARD`: Speed against the modes that both sides offer; iperf3 between the hosts",
        sources=(ETHTOOL,),
    ),
    Rule(
        name="interface-negotiation",
        sees=(f"{CARD}/duplex", f"{CARD}/fec"),
        moves=("network",),
        best=("full",),
        binds=CARRIED,
        usual=(1.0, 10.0),
        why="What both ends agreed on: half duplex is an agreement that failed, with collisions and a fraction of the "
        "bandwidth; correction of errors costs some 100 ns a hop, and a long cable without it loses packets.",
        confirm="`ethtool CARD` and `ethtool --show-fec CARD` at both ends",
        sources=(ETHTOOL,),
    ),
    Rule(
        name="interface-mtu",
        sees=(f"{CARD}/mtu",),
        moves=("network", "cpu time"),
        binds=CARRIED,
        breaks="seldom",
        usual=(1.0, 1.3),
        beside=("kernel/sysctl/net/ipv4/tcp_mtu_probing", "network/rdma/*/ports/*/active_mtu"),
        why="Larger packets are fewer: less work for each byte, and less of the link for headers. One hop that takes "
        "no larger ones swallows them, and connections stall after the handshake. RoCE's own packets follow it.",
        confirm="`ping -M do -s 8972 PEER` goes through with 9000 on each hop; iperf3 with both values",
        sources=(IP,),
    ),
    Rule(
        name="packet-joining",
        sees=(f"{CARD}/offloads/*", f"{CARD}/gro_flush_timeout"),
        moves=("network", "cpu time"),
        binds=CARRIED,
        usual=(1.0, 3.0),
        why="Checksums, segmentation and joining are done once for up to 64 KiB, by the card or late in the kernel: "
        "without them each packet of 1.5 kB passes the whole stack, and a core is full at a few Gb/s. Joining also "
        "holds small messages back, and hardware LRO breaks what is forwarded.",
        confirm="`ethtool -K CARD gro on tso on gso on`, and compare softirq time and iperf3",
        sources=("https://docs.kernel.org/networking/segmentation-offloads.html", NAPI),
    ),
    Rule(
        name="interrupt-moderation",
        sees=(f"{CARD}/coalesce/*", f"{CARD}/napi_defer_hard_irqs", f"{CARD}/threaded"),
        moves=("network", "cpu time", "wake latency"),
        phases=("host latency", "transfer", "decode step", "verify step", "any work"),
        usual=(1.0, 7.5),
        why="How long a packet waits for its interrupt: tens of microseconds on each message of a step over TCP, or an "
        "interrupt for each packet. Held too long, sent buffers are missing: 510 us made UDP 0.8 of 6 Gb/s.",
        confirm="`ethtool -C CARD adaptive-rx off rx-usecs 0` for one run; ping's times and softirq time",
        sources=(
            "https://git.zx2c4.com/linux-dev/commit/?id=417a3ae4b14909439bb49790f90201f450399845",
            NAPI,
        ),
    ),
    Rule(
        name="interface-queues",
        sees=(f"{CARD}/channels/*", f"{CARD}/rings/*"),
        moves=("network", "cpu time"),
        binds=CARRIED,
        shows=LOST,
        usual=(1.0, 4.0),
        why="Each queue is served by one core: with one of them that core is the limit, whatever the link could carry. "
        "Short rings overrun in bursts; long ones keep a small message behind large ones.",
        confirm="`ethtool -l CARD`, `ethtool -g CARD`; `mpstat -P ALL 1`: a core full of softirq; rx_missed_errors",
        sources=("https://docs.kernel.org/networking/scaling.html", ETHTOOL),
    ),
    Rule(
        name="send-queue",
        sees=(f"{CARD}/tx_queue_len",),
        moves=("network",),
        binds=(Condition(facts=f"{CARD}/statistics/tx_dropped", sign="grew", says="packets did not fit the queue"),),
        usual=(1.0, 1.2),
        beside=("kernel/sysctl/net/core/default_qdisc",),
        why="How many packets wait in the kernel where the queue goes by number: a short one drops bursts, a long one "
        "delays whatever comes behind them. fq, fq_codel and noqueue do not go by it.",
        confirm="`tc -s qdisc show dev CARD`: dropped and backlog during the run",
        sources=("https://man7.org/linux/man-pages/man8/tc-pfifo.8.html",),
    ),
    Rule(
        name="flow-control",
        sees=(
            f"{CARD}/pause/*",
            f"{CARD}/priorities/pfc",
            f"{CARD}/priorities/prio_tc",
            f"{CARD}/priorities/bandwidth",
        ),
        moves=("network", "collective"),
        phases=("decode step", "verify step", "prefill", "transfer", "start-up", "any work"),
        binds=CARRIED,
        shows=LOST,
        usual=(1.1, 10.0),
        why="Whether a full buffer stops the sender or loses packets. RoCE sends a whole window again for one lost "
        "packet and falls to 0.x GB/s; pauses of a whole link let one slow receiver stop everybody.",
        confirm="`dcb pfc show dev CARD` or `mlnx_qos -i CARD` on hosts, and the switch's own side; out_of_sequence",
        sources=("https://github.com/NVIDIA/nccl/issues/378", "https://github.com/NVIDIA/nccl/issues/306"),
    ),
    Rule(
        name="network-pauses",
        sees=(f"{CARD}/priorities/pfc_sent", f"{CARD}/priorities/pfc_received", f"{CARD}/hw_counters/*pause*"),
        moves=("network", "collective"),
        way="less helps",
        phases=("decode step", "verify step", "prefill", "transfer", "start-up", "any work"),
        beside=(f"{CARD}/priorities/pfc",),
        why="Pauses that a card sends say that this host takes in too slowly: PCIe, memory or relaxed ordering; those "
        "that it was sent say that the network is full, or another host slow.",
        confirm="`ethtool -S CARD | grep prio`: which card of which host began to send them",
        sources=("https://github.com/NVIDIA/nccl/issues/173",),
    ),
    Rule(
        name="interface-driver",
        sees=(f"{CARD}/driver", f"{CARD}/driver_version", f"{CARD}/firmware", f"{CARD}/private_flags/*"),
        moves=("network", "collective", "availability"),
        binds=CARRIED,
        breaks="seldom",
        usual=(1.0, 2.0),
        why="Which code moves packets, and what it was told: a generic driver, another firmware or another kind of "
        "receive queue gives the same link another rate at small sizes.",
        confirm="`ethtool -i CARD`, `ethtool --show-priv-flags CARD`; the other version for one run",
        sources=("https://docs.kernel.org/networking/device_drivers/ethernet/mellanox/mlx5/index.html",),
    ),
    Rule(
        name="packet-loss",
        sees=(
            f"{CARD}/statistics/*errors",
            f"{CARD}/statistics/tx_dropped",
            f"{CARD}/statistics/collisions",
            f"{CARD}/hw_counters/*",
            f"{CARD}/carrier_changes",
        ),
        moves=("network", "collective"),
        way="less helps",
        breaks="seldom",
        usual=(1.05, 10.0),
        beside=(f"{CARD}/rings/rx", f"{CARD}/channels/combined"),
        why="Each packet that is lost is sent again after a round trip at best and 200 ms at worst, while everybody "
        "waits for that step. Missed means a ring too short or a core too late, CRC a cable.",
        confirm="`ip -s -s link show CARD` and `ethtool -S CARD` before and after; `nstat -az TcpRetransSegs`",
        sources=(STATISTICS,),
    ),
    Rule(
        name="stack-overrun",
        sees=(f"{STACK}/softnet/dropped", f"{STACK}/udp/*", f"{STACK}/tcp/prune_called", f"{STACK}/tcp/backlog_drop"),
        moves=("network", "cpu time"),
        way="less helps",
        usual=(1.05, 10.0),
        beside=("kernel/sysctl/net/core/netdev_max_backlog", "kernel/sysctl/net/core/rmem_max"),
        why="Packets reached the host and were dropped there: the queue of a core, a socket's buffer or TCP's memory "
        "was full, as whoever should have read them came too late.",
        confirm="`nstat -az UdpRcvbufErrors TcpExtPruneCalled TcpExtTCPBacklogDrop`; /proc/net/softnet_stat by core",
        sources=("https://docs.kernel.org/networking/snmp_counter.html", NAPI),
    ),
    Rule(
        name="turned-away",
        sees=(f"{STACK}/tcp/listen_overflows", f"{STACK}/tcp/listen_drops"),
        moves=("network", "availability"),
        way="less helps",
        phases=("host latency", "any work"),
        breaks="seldom",
        usual=(1.05, 10.0),
        beside=("kernel/sysctl/net/core/somaxconn",),
        why="New clients found no place in a server's backlog, which accepts too slowly: their first packet is sent "
        "again after 1 s, then 3 s, and that is their time to the first token.",
        confirm="`ss -ltn`: Recv-Q against Send-Q of the server's port; clients that keep their connections",
        sources=("https://docs.kernel.org/networking/snmp_counter.html",),
    ),
    Rule(
        name="one-subnet",
        sees=(
            "network/routes/shared_subnets",
            "network/routes/unsteered_subnets",
            "network/routes/rules_ipv4",
            "network/routes/rules_ipv4_by_source",
            "network/routes/rules_ipv6",
            "network/routes/rules_ipv6_by_source",
            "network/ipv4_all/*",
            f"{CARD}/rp_filter",
            f"{CARD}/arp_ignore",
            f"{CARD}/arp_announce",
        ),
        moves=("network", "collective", "availability"),
        breaks="seldom",
        usual=(1.2, 8.0),
        beside=("network/routes/default_interface",),
        why="Several cards in one subnet look alike to the kernel: all leaves by the first of them, another one "
        "answers for its address, and strict filtering drops what comes by the rest. Rules by source, arp_ignore and "
        "arp_announce keep them apart.",
        confirm="`ip route get PEER from ADDRESS` for each card names that card; `ip -s link` shows which ones carry",
        sources=("https://github.com/NVIDIA/nccl/issues/1269", "https://github.com/NVIDIA/nccl/issues/601", IP),
    ),
    Rule(
        name="way-out",
        sees=("network/routes/default_interface",),
        moves=("network", "availability"),
        breaks="seldom",
        usual=(1.0, 10.0),
        beside=("process/*/env/NCCL_SOCKET_IFNAME", "process/*/env/GLOO_SOCKET_IFNAME"),
        why="Clients, downloads and whatever asks for an address of this host go by another card than before: a slower "
        "one, a tunnel, or one from which the other ranks cannot be reached.",
        confirm="`ip route get PEER`; name the card to NCCL and Gloo",
        sources=("https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",),
    ),
    Rule(
        name="bond",
        sees=("network/bonds/*", "network/bonds/*/*", f"{CARD}/master", f"{CARD}/lower"),
        moves=("network", "collective"),
        breaks="seldom",
        usual=(1.0, 2.0),
        why="How cards are joined and over which of them a flow goes: by layer 2 all to one peer shares one card, "
        "active-backup uses one of all, and a card that left the group takes its share along.",
        confirm="cat /proc/net/bonding/BOND; `ip -s link` of its cards during the run",
        sources=("https://docs.kernel.org/networking/bonding.html",),
    ),
    Rule(
        name="interface-nearness",
        sees=(f"{CARD}/numa_node",),
        moves=("page placement", "network"),
        binds=CARRIED,
        usual=(1.0, 1.4),
        why="Interrupts, buffers and threads on the other socket cross the sockets' link for each packet.",
        confirm="`numactl --cpunodebind=NODE --membind=NODE` with the card's node, and its interrupts there",
        sources=("https://docs.kernel.org/networking/scaling.html",),
    ),
)
