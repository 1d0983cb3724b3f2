"""What the kernel's stack sent again, could not keep, or did not get to: the counters that nstat(8) shows."""

from collections.abc import Mapping
from typing import Any

from probes.kit.facts import Gap, Section, Seen, counter, then
from probes.kit.host import Host

SNMP, NETSTAT, SOFTNET = "/proc/net/snmp", "/proc/net/netstat", "/proc/net/softnet_stat"
Table = Mapping[str, int]


def _count(why: str, source: str, unit: str = "", *, trouble: bool = False) -> Any:
    return counter(why, source, unit, trouble=trouble)


class Tcp(Section):
    """Of all connections of this namespace, the loopback's included."""

    out_segs: Seen[int] = _count("How much was sent at all, against what was sent again", f"{SNMP}, Tcp OutSegs")
    retrans_segs: Seen[int] = _count(
        "Segments sent again: each held its flow up for a round trip at least", f"{SNMP}, Tcp RetransSegs"
    )
    timeouts: Seen[int] = _count(
        "Retransmissions that waited for the timer: 200 ms at least, in which the flow stood",
        f"{NETSTAT}, TcpExt TCPTimeouts",
    )
    estab_resets: Seen[int] = _count("Connections that ended in a reset", f"{SNMP}, Tcp EstabResets")
    listen_overflows: Seen[int] = _count(
        "New clients for whom a server's backlog had no place: they try again after 1 s",
        f"{NETSTAT}, TcpExt ListenOverflows",
        trouble=True,
    )
    listen_drops: Seen[int] = _count(
        "First packets of new clients that were dropped, for want of a place or of memory",
        f"{NETSTAT}, TcpExt ListenDrops",
        trouble=True,
    )
    prune_called: Seen[int] = _count(
        "Sockets whose buffer was cut down for want of memory", f"{NETSTAT}, TcpExt PruneCalled", trouble=True
    )
    backlog_drop: Seen[int] = _count(
        "Packets dropped as the reader of a socket was too slow", f"{NETSTAT}, TcpExt TCPBacklogDrop", trouble=True
    )


class Udp(Section):
    rcvbuf_errors: Seen[int] = _count(
        "Datagrams that found the receiver's buffer full: lost for good", f"{SNMP}, Udp RcvbufErrors", trouble=True
    )
    sndbuf_errors: Seen[int] = _count(
        "Datagrams that found no room to be sent from", f"{SNMP}, Udp SndbufErrors", trouble=True
    )


class Softnet(Section):
    """Of all CPUs of the host."""

    dropped: Seen[int] = _count(
        "Packets that found the queue of their core full: netdev_max_backlog", f"{SOFTNET}, second", trouble=True
    )
    time_squeeze: Seen[int] = _count(
        "Turns that ended with packets left: netdev_budget, or a core that others keep busy", f"{SOFTNET}, third"
    )


class Stack(Section):
    tcp: Tcp = Tcp()
    udp: Udp = Udp()
    softnet: Softnet = Softnet()


def read_stack(host: Host) -> Stack:
    tables = {path: then(host.text(path), counts_of) for path in (SNMP, NETSTAT)}
    return Stack(
        tcp=_section(Tcp, tables),
        udp=_section(Udp, tables),
        softnet=_softnet(then(host.text(SOFTNET), turns)),
    )


def _section(cls: Any, tables: Mapping[str, Seen[Table]]) -> Any:
    """By the sources of its facts: PATH, PROTOCOL NAME."""
    return cls(**{name: _of(tables, *fact.source.split(", ")) for name, fact in cls.__facts__.items()})


def _of(tables: Mapping[str, Seen[Table]], path: str, name: str) -> Seen[int]:
    absent = Gap("unsupported", f"this kernel does not tell {name}")
    return then(tables[path], lambda table: table.get(name, absent))


def counts_of(text: str) -> Table:
    """Pairs of lines, names and then numbers: `Tcp: InSegs OutSegs`, `Tcp: 7 9` -> `Tcp InSegs`: 7."""
    lines = [line.split() for line in text.splitlines()]
    table: dict[str, int] = {}
    for names, numbers in zip(lines[::2], lines[1::2], strict=True):
        if not names or names[0] != numbers[0]:
            raise ValueError(f"no names for {' '.join(numbers[:2])!r}")
        pairs = zip(names[1:], numbers[1:], strict=True)
        table |= {f"{names[0].rstrip(':')} {name}": int(number) for name, number in pairs}
    return table


def turns(text: str) -> tuple[int, int]:
    """Dropped packets and turns cut short, of all CPUs, of which each has a line of hexadecimal numbers."""
    rows = [line.split() for line in text.splitlines()]
    return sum(int(row[1], 16) for row in rows), sum(int(row[2], 16) for row in rows)


def _softnet(told: Seen[tuple[int, int]]) -> Softnet:
    return Softnet(dropped=then(told, lambda it: it[0]), time_squeeze=then(told, lambda it: it[1]))
