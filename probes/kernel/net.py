"""The parameters of /proc/sys/net that collectives over sockets and servers feel.

They are those of the reader's network namespace: a container has its own.
"""

from probes.kit.facts import Section, Seen, telemetry
from probes.kit.host import Host
from probes.kit.knobs import number_tuple, read_each, sysctl


class Core(Section):
    """/proc/sys/net/core."""

    somaxconn: Seen[int] = sysctl(
        "net.core.somaxconn", "Caps every server's backlog: bursts of new clients wait for a retransmitted SYN"
    )
    netdev_max_backlog: Seen[int] = sysctl(
        "net.core.netdev_max_backlog",
        "Packets queued for one core: beyond it they are dropped and sent again",
        "packets",
    )
    netdev_budget: Seen[int] = sysctl(
        "net.core.netdev_budget",
        "Packets taken from the card in one turn: throughput against the latency of the rest",
        "packets",
    )
    netdev_budget_usecs: Seen[int] = sysctl(
        "net.core.netdev_budget_usecs", "How long one turn may last: at its end the work moves to ksoftirqd", "us"
    )
    dev_weight: Seen[int] = sysctl(
        "net.core.dev_weight", "Packets of one backlog queue in a turn: how fairly cards share a core", "packets"
    )
    gro_normal_batch: Seen[int] = sysctl(
        "net.core.gro_normal_batch", "Packets gathered before the stack sees them: small messages wait", "packets"
    )
    busy_poll: Seen[int] = sysctl(
        "net.core.busy_poll", "Poll() spins on the card for this long: lower latency, a core at 100 %", "us"
    )
    busy_read: Seen[int] = sysctl(
        "net.core.busy_read", "Blocking reads spin on the card for this long before they sleep", "us"
    )
    rmem_max: Seen[int] = sysctl(
        "net.core.rmem_max",
        "Largest receive buffer a program may ask for by itself: UDP loss, tuned sockets cut short",
        "bytes",
    )
    rmem_default: Seen[int] = sysctl("net.core.rmem_default", "Receive buffer of sockets other than TCP", "bytes")
    wmem_max: Seen[int] = sysctl(
        "net.core.wmem_max", "Largest send buffer a program may ask for: bandwidth over a long path", "bytes"
    )
    wmem_default: Seen[int] = sysctl("net.core.wmem_default", "Send buffer of sockets other than TCP", "bytes")
    optmem_max: Seen[int] = sysctl(
        "net.core.optmem_max", "Control memory of a socket: zero-copy sends fall back to copies beyond it", "bytes"
    )
    default_qdisc: Seen[str] = sysctl(
        "net.core.default_qdisc", "Queueing of cards that come up later: fq paces flows, pfifo_fast lets bursts out"
    )
    rps_sock_flow_entries: Seen[int] = sysctl(
        "net.core.rps_sock_flow_entries",
        "0 leaves packets on the interrupt's core instead of the reader's: cache misses",
    )
    bpf_jit_enable: Seen[int] = sysctl(
        "net.core.bpf_jit_enable", "0 interprets seccomp and filter programs: each system call of a container pays"
    )
    bpf_jit_harden: Seen[int] = sysctl(
        "net.core.bpf_jit_harden", "Blinds the constants of compiled BPF programs, which lengthens them"
    )


class Ipv4(Section):
    """/proc/sys/net/ipv4; the tcp_ ones hold for IPv6 too."""

    tcp_congestion_control: Seen[str] = sysctl(
        "net.ipv4.tcp_congestion_control",
        "How a flow reacts to loss and delay: cubic backs off where bbr keeps its rate",
    )
    tcp_rmem: Seen[tuple[int, ...]] = sysctl(
        "net.ipv4.tcp_rmem",
        "Receive buffer least, first and most: the most bounds a flow's bandwidth times delay",
        "bytes",
    )
    tcp_wmem: Seen[tuple[int, ...]] = sysctl(
        "net.ipv4.tcp_wmem", "Send buffer least, first and most: a small most idles a 100 Gb/s link", "bytes"
    )
    tcp_mem: Seen[tuple[int, ...]] = sysctl(
        "net.ipv4.tcp_mem",
        "Memory of all TCP at which buffers stop growing, shrink, and are refused",
        "pages",
        follows=("memory/total", "kernel/boot_id"),
    )
    tcp_moderate_rcvbuf: Seen[int] = sysctl(
        "net.ipv4.tcp_moderate_rcvbuf", "0 leaves every flow at its first receive buffer"
    )
    tcp_slow_start_after_idle: Seen[int] = sysctl(
        "net.ipv4.tcp_slow_start_after_idle",
        "Restarts a pausing connection slowly: each step after a pause pays round trips",
    )
    tcp_window_scaling: Seen[int] = sysctl("net.ipv4.tcp_window_scaling", "Off, a flow holds 64 KiB in flight at most")
    tcp_timestamps: Seen[int] = sysctl(
        "net.ipv4.tcp_timestamps", "Round-trip measurement and wrap protection, for 12 bytes of each packet"
    )
    tcp_sack: Seen[int] = sysctl("net.ipv4.tcp_sack", "Off, one lost packet sends a whole window again")
    tcp_mtu_probing: Seen[int] = sysctl(
        "net.ipv4.tcp_mtu_probing", "Finds the path's packet size where ICMP is filtered: else a tunnel stalls"
    )
    tcp_autocorking: Seen[int] = sysctl(
        "net.ipv4.tcp_autocorking", "Holds small writes back while the card is busy: token streams come in lumps"
    )
    tcp_notsent_lowat: Seen[int] = sysctl(
        "net.ipv4.tcp_notsent_lowat",
        "Unsent data a socket takes: how far a server runs ahead of a slow client",
        "bytes",
    )
    tcp_limit_output_bytes: Seen[int] = sysctl(
        "net.ipv4.tcp_limit_output_bytes",
        "Data of one flow in the card's queue: throughput of a single connection",
        "bytes",
    )
    tcp_min_tso_segs: Seen[int] = sysctl(
        "net.ipv4.tcp_min_tso_segs", "Least packets handed to the card at once: CPU per byte of a paced flow", "packets"
    )
    tcp_ecn: Seen[int] = sysctl(
        "net.ipv4.tcp_ecn", "Whether switches may signal congestion without loss; some paths drop such packets"
    )
    tcp_fastopen: Seen[int] = sysctl(
        "net.ipv4.tcp_fastopen", "Data in the first packet: a round trip for each new connection"
    )
    tcp_tw_reuse: Seen[int] = sysctl(
        "net.ipv4.tcp_tw_reuse", "Whether a benchmark client may use a closed port again at once"
    )
    tcp_fin_timeout: Seen[int] = sysctl(
        "net.ipv4.tcp_fin_timeout", "How long half-closed connections hold their memory and port", "s"
    )
    tcp_max_syn_backlog: Seen[int] = sysctl(
        "net.ipv4.tcp_max_syn_backlog", "Handshakes in progress: above it new clients are dropped or get cookies"
    )
    tcp_syncookies: Seen[int] = sysctl(
        "net.ipv4.tcp_syncookies", "Under a burst, connections without window scaling instead of none"
    )
    tcp_max_tw_buckets: Seen[int] = sysctl(
        "net.ipv4.tcp_max_tw_buckets", "Closed connections that are remembered: above it they are forgotten at once"
    )
    tcp_retries2: Seen[int] = sysctl(
        "net.ipv4.tcp_retries2", "How long a collective hangs on a dead peer before its socket fails"
    )
    tcp_keepalive_time: Seen[int] = sysctl(
        "net.ipv4.tcp_keepalive_time", "Idle time until a vanished peer is noticed: orphaned requests occupy slots", "s"
    )
    tcp_no_metrics_save: Seen[int] = sysctl(
        "net.ipv4.tcp_no_metrics_save",
        "0 lets a connection begin with what an earlier one to the same peer had measured",
    )
    ip_local_port_range: Seen[tuple[int, ...]] = sysctl(
        "net.ipv4.ip_local_port_range", "Ports for outgoing connections: a load generator runs out of them"
    )
    neigh_gc_thresh3: Seen[int] = sysctl(
        "net.ipv4.neigh.default.gc_thresh3", "Most neighbours: in a large cluster peers become unreachable above it"
    )


class Netfilter(Section):
    """Connection tracking, which NAT and Kubernetes services bring in."""

    nf_conntrack_max: Seen[int] = sysctl(
        "net.netfilter.nf_conntrack_max", "Connections that are tracked: above it new ones are dropped silently"
    )
    nf_conntrack_count: Seen[int] = telemetry(
        "Connections tracked now, against nf_conntrack_max", "/proc/sys/net/netfilter/nf_conntrack_count"
    )


class Net(Section):
    """/proc/sys/net."""

    core: Core = Core()
    ipv4: Ipv4 = Ipv4()
    netfilter: Netfilter = Netfilter()


def read_net(host: Host) -> Net:
    ipv4 = "/proc/sys/net/ipv4"
    return Net(
        core=read_each(Core, host.number, default_qdisc=host.line("/proc/sys/net/core/default_qdisc")),
        ipv4=read_each(
            Ipv4,
            host.number,
            tcp_congestion_control=host.line(f"{ipv4}/tcp_congestion_control"),
            tcp_rmem=number_tuple(host, f"{ipv4}/tcp_rmem"),
            tcp_wmem=number_tuple(host, f"{ipv4}/tcp_wmem"),
            tcp_mem=number_tuple(host, f"{ipv4}/tcp_mem"),
            ip_local_port_range=number_tuple(host, f"{ipv4}/ip_local_port_range"),
        ),
        netfilter=read_each(Netfilter, host.number),
    )
