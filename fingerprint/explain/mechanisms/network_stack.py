"""Packets, sockets and connections: what /proc/sys/net decides. RDMA passes none of it.

Where the buffers and queues of a host ran over is counted, of all its connections together: what came to a limit shows
there, and what did not is no suspect.
"""

from fingerprint.explain.mechanisms.graph import Condition, Rule

NET = "https://docs.kernel.org/admin-guide/sysctl/net.html"
IP = "https://docs.kernel.org/networking/ip-sysctl.html"
CORE = "kernel/sysctl/net/core"
IPV4 = "kernel/sysctl/net/ipv4"
STACK = "network/stack"
LOST = (
    Condition(facts=f"{STACK}/tcp/retrans_segs", sign="grew", says="segments were sent again"),
    Condition(facts=f"{STACK}/tcp/timeouts", sign="grew", says="flows stood until a timer sent again"),
)

RULES = (
    Rule(
        name="packet-intake",
        sees=(
            f"{CORE}/netdev_max_backlog",
            f"{CORE}/netdev_budget",
            f"{CORE}/netdev_budget_usecs",
            f"{CORE}/dev_weight",
            f"{CORE}/gro_normal_batch",
        ),
        moves=("network", "cpu time"),
        binds=(
            Condition(
                facts="pressure/cpu_time/softirq", sign="grew", says="cores were at work on packets or timers", least=2
            ),
        ),
        shows=(
            Condition(facts=f"{STACK}/softnet/dropped", sign="grew", says="packets found their core's queue full"),
            Condition(facts=f"{STACK}/softnet/time_squeeze", sign="grew", says="turns ended with packets left"),
        ),
        usual=(1.0, 1.2),
        why="How many packets a core takes in one turn and how many may wait for it: larger turns carry more, hold up "
        "what else the core does, and at the end of a turn the work moves to a thread that competes with the server's.",
        confirm="/proc/net/softnet_stat before and after: the second column counts drops, the third turns cut short.",
        sources=(NET, "https://docs.kernel.org/networking/napi.html"),
    ),
    Rule(
        name="busy-polling",
        sees=(f"{CORE}/busy_poll", f"{CORE}/busy_read"),
        moves=("network", "cpu time"),
        usual=(1.0, 1.2),
        why="A thread that waits for the network spins on the card instead of sleeping: microseconds less for each "
        "message, for a core that is at 100 % meanwhile and missing elsewhere.",
        confirm="`sysctl -w net.core.busy_poll=0 net.core.busy_read=0` and compare latency and CPU time.",
        sources=(NET, "https://docs.kernel.org/networking/napi.html"),
    ),
    Rule(
        name="flow-steering",
        sees=(f"{CORE}/rps_sock_flow_entries",),
        moves=("network", "cpu time"),
        usual=(1.0, 1.3),
        why="With entries, packets are worked on by the core whose thread reads them; with none by the core that took "
        "the interrupt, so that data come through another core's cache. Entries need rps_flow_cnt of the queues, too.",
        confirm="`sysctl -w net.core.rps_sock_flow_entries=32768` with rps_flow_cnt set, and compare softirq time by "
        "core.",
        sources=("https://docs.kernel.org/networking/scaling.html",),
    ),
    Rule(
        name="socket-buffers",
        sees=(
            f"{CORE}/rmem_max",
            f"{CORE}/rmem_default",
            f"{CORE}/wmem_max",
            f"{CORE}/wmem_default",
        ),
        moves=("network",),
        shows=(Condition(facts=f"{STACK}/udp/*", sign="grew", says="datagrams found a buffer full"),),
        usual=(1.0, 2.0),
        why="They cap what a program may ask for by itself (NCCL_BUFFSIZE is none of it) and what sockets other than "
        "TCP begin with: UDP and tuned sockets are cut short. TCP that was left to size itself goes by tcp_rmem and "
        "tcp_wmem.",
        confirm="`ss -tmn` shows the buffers in force; `nstat -az UdpRcvbufErrors` before and after.",
        sources=(NET,),
    ),
    Rule(
        name="zero-copy-sends",
        sees=(f"{CORE}/optmem_max",),
        moves=("network", "cpu time"),
        way="more helps",
        phases=("transfer", "any work"),
        why="Notices of zero-copy sends are kept in this memory: beyond it they fail, and programs copy instead. Few "
        "programs send so; the default was raised to 128 KiB.",
        confirm="`strace -c -e sendmsg` for ENOBUFS; `sysctl -w net.core.optmem_max=131072`.",
        sources=("https://docs.kernel.org/networking/msg_zerocopy.html", NET),
    ),
    Rule(
        name="tcp-buffers",
        sees=(
            f"{IPV4}/tcp_rmem",
            f"{IPV4}/tcp_wmem",
        ),
        moves=("network",),
        usual=(1.05, 10.0),
        beside=("process/*/env/NCCL_SOCKET_NTHREADS", "process/*/env/NCCL_NSOCKS_PERTHREAD"),
        why="A flow carries no more than its buffer for each round trip: 6 MB at 1 ms are 48 Gb/s. On one host, and "
        "over a few flows in one rack, it is rarely met.",
        confirm="`iperf3 -P 1` against `-P 8`: several flows that are faster together were bound by it.",
        sources=(IP,),
    ),
    Rule(
        name="tcp-window-growth",
        sees=(f"{IPV4}/tcp_window_scaling", f"{IPV4}/tcp_moderate_rcvbuf"),
        moves=("network",),
        way="more helps",
        beside=(f"{IPV4}/tcp_rmem",),
        why="Without scaling a flow holds 64 KiB in flight, 0.5 Gb/s at a round trip of 1 ms; without moderation it "
        "stays at the first receive buffer, 128 KiB. Both are on unless somebody switched them off; connections that "
        "stand keep what they agreed on.",
        confirm="`ss -tin`: wscale and rcv_space of a connection in both runs.",
        sources=(IP,),
    ),
    Rule(
        name="tcp-memory",
        sees=(f"{IPV4}/tcp_mem",),
        moves=("network",),
        way="more helps",
        binds=(Condition(facts=f"{STACK}/tcp/prune_called", sign="grew", says="sockets were cut down for memory"),),
        beside=("memory/total",),
        why="Where all sockets together hold more than the second of its numbers, windows shrink; above the third, "
        "packets are dropped. It takes gigabytes to get there.",
        confirm="`cat /proc/net/sockstat` during the run: mem against the three numbers; `nstat -az "
        "TcpExtPruneCalled`.",
        sources=(IP,),
    ),
    Rule(
        name="congestion-control",
        sees=(
            f"{IPV4}/tcp_congestion_control",
            f"{IPV4}/tcp_no_metrics_save",
        ),
        moves=("network",),
        usual=(1.02, 3.0),
        why="How fast a connection sends at first and after a loss: cubic backs off where bbr keeps its rate, and what "
        "an earlier connection had measured lets the next begin slow or fast.",
        confirm="`ss -tin` shows cwnd, ssthresh and the algorithm of a connection; set the other value for one run.",
        sources=(IP,),
    ),
    Rule(
        name="slow-start-after-pause",
        sees=(f"{IPV4}/tcp_slow_start_after_idle",),
        moves=("network", "collective"),
        way="less helps",
        phases=("transfer", "decode step", "verify step", "host latency", "any work"),
        beside=("process/*/env/NCCL_NET", "process/*/env/NCCL_IB_DISABLE"),
        why="With 1 a connection that paused for some 200 ms begins with ten packets again: each step of an exchange "
        "over sockets pays round trips until it is up to speed, between hosts of one rack tenths of a ms. RDMA knows "
        "none of it.",
        confirm="`sysctl -w net.ipv4.tcp_slow_start_after_idle=0`, then the same run; `ss -tin` for cwnd.",
        sources=(IP,),
    ),
    Rule(
        name="congestion-marks",
        sees=(f"{IPV4}/tcp_ecn",),
        moves=("network",),
        breaks="seldom",
        why="Whether switches may mark packets instead of dropping them: queues stay short where they do. Some paths "
        "drop what asks for it, and the connection is tried again without, after 1 s.",
        confirm="`nstat -az | grep -i ecn` before and after; `ss -tin` says ecn of a connection that has it.",
        sources=(IP,),
    ),
    Rule(
        name="default-queueing",
        sees=(f"{CORE}/default_qdisc",),
        moves=("network",),
        beside=(f"{IPV4}/tcp_congestion_control",),
        why="How interfaces that come up later queue what they send: fq paces each flow, fq_codel drops early, "
        "pfifo_fast lets bursts out. With several queues of the card (mq) each gets one of this kind.",
        confirm="`tc -s qdisc show dev DEVICE` in both runs: the kind in force, drops and overlimits.",
        sources=(NET,),
    ),
    Rule(
        name="loss-recovery",
        sees=(f"{IPV4}/tcp_sack", f"{IPV4}/tcp_timestamps"),
        moves=("network",),
        binds=LOST,
        usual=(1.02, 3.0),
        why="What one lost packet costs: itself or a whole window again. Without loss only the 12 bytes of a time "
        "stamp are left.",
        confirm="`nstat -az TcpRetransSegs` before and after: without retransmissions it is not the cause.",
        sources=(IP,),
    ),
    Rule(
        name="path-size-probing",
        sees=(f"{IPV4}/tcp_mtu_probing",),
        moves=("network", "availability"),
        way="more helps",
        phases=("transfer", "start-up", "host latency", "any work"),
        binds=LOST,
        breaks="seldom",
        beside=("network/interfaces/*/mtu",),
        why="Where a tunnel takes smaller packets than its ends believe, and nobody tells them, large ones vanish: "
        "handshakes work and the first megabyte hangs. Probing finds the size after some seconds.",
        confirm="`ping -M do -s 8972 PEER` finds the size; `nstat -az TcpExtTCPMTUPSuccess` before and after.",
        sources=(IP,),
    ),
    Rule(
        name="small-writes",
        sees=(
            f"{IPV4}/tcp_autocorking",
            f"{IPV4}/tcp_notsent_lowat",
            f"{IPV4}/tcp_limit_output_bytes",
            f"{IPV4}/tcp_min_tso_segs",
        ),
        moves=("network",),
        phases=("host latency", "transfer", "any work"),
        usual=(1.0, 1.5),
        why="What lies between a write and the card: small ones are held back to be sent together, so that streamed "
        "tokens come in lumps, and how much of one flow may queue decides on latency against throughput.",
        confirm="Compare the gaps between tokens at a client on the same host with those at a remote one.",
        sources=(IP,),
    ),
    Rule(
        name="connection-intake",
        sees=(f"{CORE}/somaxconn", f"{IPV4}/tcp_max_syn_backlog", f"{IPV4}/tcp_syncookies"),
        moves=("network", "availability"),
        phases=("host latency", "any work"),
        binds=(Condition(facts=f"{STACK}/tcp/listen_*", sign="grew", says="new clients found no place"),),
        breaks="seldom",
        why="A burst of new clients that does not fit waits for its first packet to be sent again, 1 s and then 3 s; "
        "with cookies they get in, without window scaling. Clients that keep their connections notice nothing.",
        confirm="`nstat -az TcpExtListenOverflows TcpExtListenDrops` before and after; `ss -ltn` shows the queues.",
        sources=(IP, NET),
    ),
    Rule(
        name="connection-turnover",
        sees=(
            f"{IPV4}/tcp_tw_reuse",
            f"{IPV4}/tcp_fin_timeout",
            f"{IPV4}/tcp_max_tw_buckets",
            f"{IPV4}/ip_local_port_range",
        ),
        moves=("network", "availability"),
        phases=("host latency", "any work"),
        breaks="seldom",
        why="A client that opens a connection for each request uses up its 28,232 ports within a minute at 470 "
        "requests a second, and waits or fails from then on.",
        confirm="`ss -tan state time-wait | wc -l` at the client; let it keep its connections.",
        sources=(IP,),
    ),
    Rule(
        name="data-in-first-packet",
        sees=(f"{IPV4}/tcp_fastopen",),
        moves=("network",),
        phases=("host latency", "any work"),
        why="A client that asks for it saves one round trip for each new connection. Few clients of engines ask, and "
        "those that keep their connections have nothing to save.",
        confirm="`nstat -az TcpExtTCPFastOpenActive TcpExtTCPFastOpenPassive` before and after.",
        sources=(IP,),
    ),
    Rule(
        name="dead-peers",
        sees=(f"{IPV4}/tcp_retries2", f"{IPV4}/tcp_keepalive_time"),
        moves=("network", "availability"),
        way="less helps",
        phases=("host latency", "any work"),
        breaks="seldom",
        why="How long a connection to a peer that vanished is held, a quarter of an hour and two hours by default: "
        "collectives hang and orphaned requests occupy slots meanwhile. Of no account while all peers live.",
        confirm="`ss -tno state established` shows connections that only retransmit.",
        sources=(IP,),
    ),
    Rule(
        name="neighbour-table",
        sees=(f"{IPV4}/neigh_gc_thresh3",),
        moves=("network", "availability"),
        way="more helps",
        breaks="seldom",
        why="In a network of more neighbours than that, some cannot be reached until others are forgotten: connections "
        "stall by chance. 1,024 by default.",
        confirm="`ip neigh | wc -l`, and `dmesg | grep 'neighbour: arp_cache'` for its overflow.",
        sources=(IP,),
    ),
    Rule(
        name="connection-tracking",
        sees=("kernel/sysctl/net/netfilter/nf_conntrack_max",),
        moves=("network", "availability"),
        way="more helps",
        phases=("host latency", "start-up", "transfer", "any work"),
        binds=(
            Condition(
                facts="kernel/sysctl/net/netfilter/nf_conntrack_count",
                sign="reached",
                says="as many connections were tracked as may be",
            ),
        ),
        breaks="often",
        why="Where the table is full new connections are dropped without an answer, and clients try again after 1 s.",
        confirm="`dmesg | grep 'nf_conntrack: table full'`; `conntrack -S` counts drops.",
        sources=("https://docs.kernel.org/networking/nf_conntrack-sysctl.html",),
    ),
)
