"""One port of an RDMA device: its link, its addresses, and what went wrong on it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from probes.kit.facts import Gap, Map, Redacted, Section, Seen, config, counter, identity, seen_or, state, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex

_AT = "/sys/class/infiniband/*/ports/*"
_STATE = ("network/rdma/*/ports/*/state", "network/rdma/*/ports/*/phys_state")
_NETDEV = ("network/interfaces/*/operstate", "network/interfaces/*/carrier")
MOST_GIDS = 16
MOST_PKEYS = 128
MOST_COUNTERS = 256
_MTUS = (4096, 2048, 1024, 512, 256)
_HEADERS = 96  # what rdma/ib_addr.h takes off an Ethernet MTU: GRH, UDP, BTH, XRC, atomic, ICRC
_CONGESTION = lazy_regex(r"cnp|ecn|adp|slow_restart|pause", re.IGNORECASE)
_ERROR = lazy_regex(
    r"err|retr|retx|nak|out_of_|drop|discard|duplicate|timeout|missing|exceeded|invalid|unreach|icrc|bad|lost|full",
    re.IGNORECASE,
)
_KINDS = ("hw_errors", "hw_congestion", "hw_counters")
_AT_EACH_END = lazy_regex(r"flush", re.IGNORECASE)  # a queue that is taken down flushes what it holds


class Gid(Section):
    """An address of the port. NCCL_IB_GID_INDEX counts these."""

    value: Seen[Redacted] = config(
        "The address by which peers reach it: made of a MAC or an IP address", f"{_AT}/gids/*", private=True
    )
    type: Seen[str] = config(
        "RoCE v1 cannot be routed and is not marked by switches: an index that means another type is another network",
        f"{_AT}/gid_attrs/types/*",
    )
    netdev: Seen[str] = config("The interface that has this address", f"{_AT}/gid_attrs/ndevs/*")


def _count(name: str, why: str, unit: str = "", *, trouble: bool = True) -> Any:
    return counter(why, f"{_AT}/counters/{name}", unit, trouble=trouble)


class Counters(Section):
    """What the InfiniBand specification counts. Older adapters stop at the end of 32 bits."""

    port_rcv_data: Seen[int] = counter(
        "What came in by RDMA: whether this port had a part in the run",
        f"{_AT}/counters/port_rcv_data, in words of 4 bytes",
        "B",
    )
    port_xmit_data: Seen[int] = counter(
        "What went out by RDMA", f"{_AT}/counters/port_xmit_data, in words of 4 bytes", "B"
    )
    port_rcv_packets: Seen[int] = _count("port_rcv_packets", "Packets that came in by RDMA", "packets", trouble=False)
    port_xmit_packets: Seen[int] = _count("port_xmit_packets", "Packets that went out", "packets", trouble=False)
    port_xmit_wait: Seen[int] = _count(
        "port_xmit_wait", "Ticks with data to send and no credit: the network is congested", "ticks", trouble=False
    )
    symbol_error: Seen[int] = _count("symbol_error", "Damaged symbols: a cable, a transceiver, dirt")
    link_error_recovery: Seen[int] = _count(
        "link_error_recovery", "The link was trained anew and came back, while everybody waited"
    )
    link_downed: Seen[int] = _count("link_downed", "The link was lost altogether")
    port_rcv_errors: Seen[int] = _count("port_rcv_errors", "Packets that came in broken")
    port_rcv_remote_physical_errors: Seen[int] = _count(
        "port_rcv_remote_physical_errors", "Packets that a switch on the way had marked as broken"
    )
    port_rcv_switch_relay_errors: Seen[int] = _count(
        "port_rcv_switch_relay_errors", "Packets that could not be passed on: multicast that came back", trouble=False
    )
    port_rcv_constraint_errors: Seen[int] = _count(
        "port_rcv_constraint_errors", "Packets of a partition that this port is not in"
    )
    port_xmit_discards: Seen[int] = _count("port_xmit_discards", "Packets given up on: the port was down or congested")
    port_xmit_constraint_errors: Seen[int] = _count(
        "port_xmit_constraint_errors", "Packets that were not sent for their partition"
    )
    local_link_integrity_errors: Seen[int] = _count(
        "local_link_integrity_errors", "More errors at once than the link's limit"
    )
    excessive_buffer_overrun_errors: Seen[int] = _count(
        "excessive_buffer_overrun_errors", "Credits were not kept to: buffers overran time and again"
    )
    VL15_dropped: Seen[int] = _count("VL15_dropped", "Packets of management that were dropped", trouble=False)


def _hardware(why: str, which: str, **more: Any) -> Any:
    return counter(why, f"{_AT}/hw_counters, {which}", **more)


class Port(Section):
    link_layer: Seen[str] = config(
        "InfiniBand, or Ethernet: RoCE, which may lose packets; some adapters can be either", f"{_AT}/link_layer"
    )
    phys_state: Seen[str] = state(
        "Polling and Disabled mean no cable, or none that works", f"{_AT}/phys_state", settled="always", follows=_NETDEV
    )
    rate: Seen[int] = state(
        "A lane that is missing, or a switch of an older generation: a ring runs at the pace of its slowest port",
        f"{_AT}/rate",
        "Mb/s",
        settled="always",
        follows=(*_STATE, "network/interfaces/*/speed"),
    )
    width_speed: Seen[str] = state(
        "How many lanes, and how fast each is: 2X of 4X is half",
        f"{_AT}/rate, in brackets",
        settled="always",
        follows=(*_STATE, "network/rdma/*/ports/*/rate"),
    )
    active_mtu: Seen[int] = state(
        "Each packet carries 1 to 4 KiB: an interface with 1500 allows 1024, which costs 5 %",
        f"mtu of the interface that has {_AT}/gids/0; of InfiniBand only verbs tell it (ibv_devinfo)",
        "bytes",
        settled="always",
        follows=("network/interfaces/*/mtu",),
    )
    lid: Seen[int] = state(
        "Its address in the subnet, which the subnet manager gives out", f"{_AT}/lid", settled="always", context=True
    )
    sm_lid: Seen[int] = state(
        "Which subnet manager routes: another one routes in another way",
        f"{_AT}/sm_lid",
        settled="always",
        context=True,
    )
    lid_mask_count: Seen[int] = config("How many paths the subnet manager lays to it", f"{_AT}/lid_mask_count")
    cap_mask: Seen[str] = state("What the port says that it can do", f"{_AT}/cap_mask", settled="always", context=True)
    pkeys: Seen[tuple[str, ...]] = config(
        "Partitions that it belongs to: one that is missing, and peers cannot be reached", f"{_AT}/pkeys/*"
    )
    traffic_class: Seen[str] = config(
        "Puts all its RoCE into one priority: another than the lossless one, and packets are lost",
        "/sys/class/infiniband/*/tc/*/traffic_class, of NVIDIA's own driver",
    )
    netdev: Seen[str] = identity("The interface above the same port", f"{_AT}/gid_attrs/ndevs/0")
    gids: Seen[Map[Gid]] = config(
        "Its addresses, by index: an index that is gone fails each connection", f"{_AT}/gids", follows=_NETDEV
    )
    counters: Counters = Counters()
    hw_errors: Seen[Map[Seen[int]]] = _hardware(
        "What the adapter sent again or gave up: out_of_sequence, packet_seq_err, local_ack_timeout_err ...",
        "what tells of errors and of repetition",
        trouble=True,
    )
    hw_congestion: Seen[Map[Seen[int]]] = _hardware(
        "How often congestion was told and answered: np_cnp_sent, rp_cnp_handled, roce_adp_retrans ...",
        "what tells of congestion",
        trouble=True,
    )
    hw_counters: Seen[Map[Seen[int]]] = _hardware(
        "What the adapter did: reads, writes, connections", "the others", context=True
    )
    state: Seen[str] = state(
        "NCCL passes over a port that is not ACTIVE: what it carried goes by the others, or by TCP",
        f"{_AT}/state",
        settled="always",
        follows=(*_NETDEV, "network/rdma/*/ports/*/phys_state"),
    )


def read_port(host: Host, device: str, port: str) -> Port:
    """device: its folder."""
    folder = f"{device}/ports/{port}"
    netdev = _netdev(host, folder)
    rate = host.line(f"{folder}/rate")
    layer = host.line(f"{folder}/link_layer")
    return Port(
        link_layer=layer,
        state=then(host.line(f"{folder}/state"), word),
        phys_state=then(host.line(f"{folder}/phys_state"), word),
        rate=then(rate, megabits),
        width_speed=then(rate, _width_speed),
        active_mtu=then(layer, lambda it: _mtu(host, it, netdev)),
        lid=host.number(f"{folder}/lid"),
        sm_lid=host.number(f"{folder}/sm_lid"),
        lid_mask_count=host.number(f"{folder}/lid_mask_count"),
        cap_mask=host.line(f"{folder}/cap_mask"),
        pkeys=_pkeys(host, folder),
        traffic_class=host.line(f"{device}/tc/{port}/traffic_class"),
        netdev=netdev,
        gids=then(host.names(f"{folder}/gids"), lambda names: Map(dict(_gids(host, folder, names)))),
        counters=Counters(**dict(_counters(host, f"{folder}/counters"))),
        **_hw_counters(host, f"{folder}/hw_counters"),
    )


def word(numbered: str) -> str:
    """`4: ACTIVE` -> ACTIVE."""
    return numbered.rpartition(":")[2].strip()


def megabits(rate: str) -> Seen[int]:
    """`400 Gb/sec (4X NDR)` -> 400000; `2.5 Gb/sec (1X SDR)` -> 2500."""
    found = re.match(r"(\d+)(?:\.(\d))? Gb/sec\b", rate)
    if found is None:
        raise ValueError(f"no rate: {rate!r}")
    return int(found[1]) * 1000 + int(found[2] or 0) * 100


def _width_speed(rate: str) -> Seen[str]:
    found = re.search(r"\((.+)\)", rate)
    return found[1] if found else Gap("unsupported", "its driver does not tell")


def _netdev(host: Host, folder: str) -> Seen[str]:
    """An entry of the table that is empty is refused."""
    return host.line(f"{folder}/gid_attrs/ndevs/0")


def _mtu(host: Host, layer: str, netdev: Seen[str]) -> Seen[int]:
    if layer != "Ethernet":
        return Gap("not_observable", "only verbs tell it: ibv_devinfo")
    above = then(netdev, lambda name: host.number(f"/sys/class/net/{name}/mtu"))
    return then(above, lambda mtu: next((size for size in _MTUS if size <= mtu - _HEADERS), _MTUS[-1]))


def _gids(host: Host, folder: str, names: tuple[str, ...]) -> Iterator[tuple[str, Gid]]:
    """By index, of the first MOST_GIDS; those of all zeros are none."""
    for index in sorted((name for name in names if name.isdecimal()), key=int)[:MOST_GIDS]:
        value = host.line(f"{folder}/gids/{index}")
        if isinstance(value, Gap) or value.strip("0:"):
            attributes = f"{folder}/gid_attrs"
            yield (
                index,
                Gid(
                    value=then(value, host.redactor.redacted),
                    type=host.line(f"{attributes}/types/{index}"),
                    netdev=host.line(f"{attributes}/ndevs/{index}"),
                ),
            )


def _pkeys(host: Host, folder: str) -> Seen[tuple[str, ...]]:
    """Up to the first free place of the table."""
    found: list[str] = []
    for index in range(MOST_PKEYS):
        key = host.line(f"{folder}/pkeys/{index}")
        if isinstance(key, Gap) and not index:
            return key
        if isinstance(key, Gap) or not key.removeprefix("0x").strip("0"):
            break
        found.append(key)
    return tuple(found)


def _counters(host: Host, folder: str) -> Iterator[tuple[str, Seen[int]]]:
    for name in Counters.__facts__:
        count = then(host.line(f"{folder}/{name}"), _counted)
        yield name, then(count, lambda words: words * 4) if name.endswith("_data") else count


def _counted(text: str) -> Seen[int]:
    """`N/A (no PMA)` is what the kernel writes for a counter that the adapter does not keep."""
    if text.startswith("N/A"):
        return Gap("unsupported", text)
    if not re.fullmatch("[0-9]{1,20}", text):
        raise ValueError(f"no count: {text!r}")
    return int(text)


def _hw_counters(host: Host, folder: str) -> Mapping[str, Seen[Map[Seen[int]]]]:
    """`lifespan` is how long the driver keeps what it read, in ms."""
    names = host.names(folder)
    kept = [name for name in seen_or(names, ()) if name != "lifespan"][:MOST_COUNTERS]
    counts = {name: host.number(f"{folder}/{name}") for name in kept}
    return {kind: names if isinstance(names, Gap) else _of_kind(kind, counts) for kind in _KINDS}


def _of_kind(kind: str, counts: Mapping[str, Seen[int]]) -> Map[Seen[int]]:
    return Map({name: count for name, count in counts.items() if _kind_of(name) == kind})


def _kind_of(name: str) -> str:
    if _CONGESTION.search(name):
        return "hw_congestion"
    return "hw_errors" if _ERROR.search(name) and not _AT_EACH_END.search(name) else "hw_counters"
