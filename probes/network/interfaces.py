"""One network interface: its link, its driver, and how it is set."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from probes.kit.facts import Gap, Map, Section, Seen, config, counter, identity, state, then
from probes.kit.host import Host
from probes.kit.knobs import read_each
from probes.network.driver import (
    FEATURES,
    Channels,
    Coalesce,
    Pause,
    Rings,
    asking,
    fec_of,
    flags_of,
    hw_counters,
    offloads_of,
    read_channels,
    read_coalesce,
    read_pause,
    read_rings,
)
from probes.network.found import NET, Found
from probes.network.ipv4 import CONF, conf
from probes.network.priorities import Priorities, read_ecn, read_priorities
from probes.network.slot import numa_node_of, pci_address_of
from probes.network.statistics import Statistics, read_statistics

_AT = f"{NET}/*"
_UP = ("network/interfaces/*/operstate",)
_DRIVER_WORDS = {"driver": "driver", "driver_version": "version", "firmware": "fw_version"}
_DRIVER = ("kernel/release", "kernel/modules/mlx*/**", "kernel/modules/bnxt_*/**")


class Interface(Section):
    """Paths: network/interfaces/eth0/mtu, network/interfaces/eth0/rings/rx ..."""

    kind: Seen[str] = identity(
        "Hardware, or what is laid over it: each layer adds work and has an MTU of its own",
        f"{_AT}/type and DEVTYPE of {_AT}/uevent",
    )
    operstate: Seen[str] = state(
        "down and lowerlayerdown carry nothing: what used this card goes elsewhere",
        f"{_AT}/operstate",
        settled="always",
    )
    carrier: Seen[bool] = state("Whether the cable has a signal", f"{_AT}/carrier", settled="always", follows=_UP)
    carrier_changes: Seen[int] = counter(
        "Each loss of the link stops whatever is under way for seconds", f"{_AT}/carrier_changes", trouble=True
    )
    speed: Seen[int] = state(
        "A cable or switch port that came up slower: 10 of 100 Gb/s are a tenth",
        f"{_AT}/speed",
        "Mb/s",
        settled="always",
        follows=_UP,
    )
    duplex: Seen[str] = state(
        "half is a negotiation that failed: collisions, and a fraction of the bandwidth",
        f"{_AT}/duplex",
        settled="always",
        follows=_UP,
    )
    fec: Seen[str] = state(
        "Forward correction of errors adds some 100 ns a hop; none on a long cable loses packets",
        "ethtool --show-fec CARD; ETHTOOL_GFECPARAM.active_fec",
        settled="always",
        follows=_UP,
    )
    mtu: Seen[int] = config(
        "Small packets cost CPU per byte, and decide the MTU of RDMA above: 1500 against 4200 were 5 %",
        f"{_AT}/mtu",
        "bytes",
        restore="ip link set {key} mtu {value}",
    )
    tx_queue_len: Seen[int] = config(
        "Packets that wait in the kernel: bursts are dropped, or queue for milliseconds",
        f"{_AT}/tx_queue_len",
        "packets",
        restore="ip link set {key} txqueuelen {value}",
    )
    threaded: Seen[int] = config(
        "Packets are taken in by threads that the scheduler places, or in interrupts",
        f"{_AT}/threaded",
        restore=f"echo {{value}} > {NET}/{{key}}/threaded",
    )
    gro_flush_timeout: Seen[int] = config(
        "How long packets are held back to be joined: throughput against the latency of each message",
        f"{_AT}/gro_flush_timeout",
        "ns",
        restore=f"echo {{value}} > {NET}/{{key}}/gro_flush_timeout",
    )
    napi_defer_hard_irqs: Seen[int] = config(
        "How often the card is polled in vain before its interrupt is enabled again",
        f"{_AT}/napi_defer_hard_irqs",
        restore=f"echo {{value}} > {NET}/{{key}}/napi_defer_hard_irqs",
    )
    master: Seen[str] = config("The bond or bridge that it is a part of", f"{_AT}/master")
    lower: Seen[tuple[str, ...]] = config("The cards that it lies over", f"{_AT}/lower_*")
    driver: Seen[str] = config(
        "Which code moves its packets", "ethtool -i CARD; ETHTOOL_GDRVINFO.driver", follows=_DRIVER
    )
    driver_version: Seen[str] = config(
        "A vendor's own build in place of the kernel's", "ethtool -i CARD; ETHTOOL_GDRVINFO.version", follows=_DRIVER
    )
    firmware: Seen[str] = config(
        "Congestion control, packet order and offloads run in it", "ethtool -i CARD; ETHTOOL_GDRVINFO.fw_version"
    )
    pci_address: Seen[str] = identity(
        "Its slot: how many lanes it has, and how near to which GPU",
        f"{_AT}/device; of what lies on another bus, ETHTOOL_GDRVINFO.bus_info",
        context=True,
    )
    numa_node: Seen[int] = identity(
        "Buffers and threads on the other socket cross the sockets' link for each packet",
        "/sys/bus/pci/devices/*/numa_node",
    )
    offloads: Seen[Map[Seen[bool]]] = config(
        "What the card or the kernel does once for many packets: off, each packet costs the CPU again",
        f"ethtool -k CARD; ETHTOOL_GFEATURES, of these: {', '.join(FEATURES)}",
    )
    private_flags: Seen[Map[Seen[bool]]] = config(
        "The driver's own switches: striding queues, compressed completions, extra statistics",
        "ethtool --show-priv-flags CARD; ETHTOOL_GPFLAGS",
    )
    rings: Rings = Rings()
    channels: Channels = Channels()
    coalesce: Coalesce = Coalesce()
    pause: Pause = Pause()
    priorities: Priorities = Priorities()
    ecn: Seen[Map[Seen[int]]] = config(
        "How the card answers congestion marks of RoCE: off or too sharp, flows stall or starve each other",
        f"{_AT}/ecn, of NVIDIA's own driver; the kernel's shows it in debugfs to root alone",
    )
    rp_filter: Seen[int] = conf("rp_filter", "Strict, it drops what comes by another card of the same subnet")
    arp_ignore: Seen[int] = conf("arp_ignore", "Below 1, another card answers for this one's address")
    arp_announce: Seen[int] = conf("arp_announce", "Below 2, a card asks with another one's address")
    statistics: Statistics = Statistics()
    hw_counters: Seen[Map[Seen[int]]] = counter(
        "What the card dropped, paused or marked: rx_out_of_buffer, rx_discards_phy, rx_prio3_pause ...",
        "ethtool -S CARD; ETHTOOL_GSTATS, what tells of drops, errors, pauses and congestion",
        trouble=True,
    )


def read_interface(host: Host, found: Found, name: str) -> Interface:
    folder = f"{NET}/{name}"
    ask = asking(host, name)
    driver = ask("driver")
    slot = pci_address_of(host, folder, driver)
    return Interface(
        **_link(host, folder),
        **_settings(host, folder),
        **_driver(driver),
        kind=_kind(host, folder),
        fec=fec_of(ask),
        master=then(host.link(f"{folder}/master"), lambda path: path.rpartition("/")[2]),
        lower=found.beneath(name),
        pci_address=slot,
        numa_node=numa_node_of(host, slot),
        offloads=offloads_of(ask),
        private_flags=flags_of(ask),
        rings=read_rings(ask),
        channels=read_channels(ask),
        coalesce=read_coalesce(ask),
        pause=read_pause(ask),
        priorities=read_priorities(host, name),
        ecn=read_ecn(host, folder),
        statistics=read_each(Statistics, lambda source: read_statistics(host, folder, source)),
        hw_counters=hw_counters(ask),
    )


def _link(host: Host, folder: str) -> Mapping[str, Any]:
    """While it is down the kernel refuses carrier, speed and duplex: it has none then."""
    return {
        "operstate": host.line(f"{folder}/operstate"),
        "carrier": then(host.number(f"{folder}/carrier"), bool),
        "carrier_changes": host.number(f"{folder}/carrier_changes"),
        "speed": then(host.line(f"{folder}/speed"), _speed),
        "duplex": then(host.line(f"{folder}/duplex"), _known),
    }


def _settings(host: Host, folder: str) -> Mapping[str, Any]:
    name = folder.rpartition("/")[2]
    files = ("mtu", "tx_queue_len", "threaded", "gro_flush_timeout", "napi_defer_hard_irqs")
    parameters = ("rp_filter", "arp_ignore", "arp_announce")
    return {
        **{file: host.number(f"{folder}/{file}") for file in files},
        **{parameter: host.number(f"{CONF}/{name}/{parameter}") for parameter in parameters},
    }


def _driver(told: Seen[Mapping[str, int | str]]) -> Mapping[str, Any]:
    return {fact: then(told, partial(_word_of, name)) for fact, name in _DRIVER_WORDS.items()}


def _word_of(name: str, told: Mapping[str, int | str]) -> Seen[str]:
    word = str(told[name])
    return word if word not in ("", "N/A") else Gap("unsupported", "its driver does not tell")


def _speed(line: str) -> Seen[int]:
    """-1, and 4294967295 of older kernels, is what a driver says that does not know."""
    speed = int(line)
    return speed if 0 < speed < 0xFFFFFFFF else Gap("unsupported", "its driver does not know")


def _known(word: str) -> Seen[str]:
    return word if word != "unknown" else Gap("unsupported", "its driver does not know")


_TYPES = {1: "ethernet", 32: "infiniband", 772: "loopback"}  # ARPHRD_*


def _kind(host: Host, folder: str) -> Seen[str]:
    """bond, vlan, bridge, wlan ... as the kernel calls it, else the type of its link."""
    told = host.matching(f"{folder}/uevent", r"^DEVTYPE=(\S+)")
    plain = then(host.number(f"{folder}/type"), lambda number: _TYPES.get(number, f"type {number}"))
    return then(told, lambda words: words[0] if words else plain)
