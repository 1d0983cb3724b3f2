"""How a driver has set its card, as ethtool(8) shows it."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from probes.kit.facts import Gap, Map, Section, Seen, config, state, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex
from probes.network.found import NET

S = TypeVar("S", bound=Section)
Told = Mapping[str, "int | str"]
Ask = Callable[[str], Seen[Told]]
"""What is asked of one card's driver, by a word of kit/ethtool.py."""
FEATURES = (
    "rx-checksum", "tx-checksum-ipv4", "tx-checksum-ipv6", "tx-checksum-ip-generic", "tx-scatter-gather",
    "tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-udp-segmentation", "tx-generic-segmentation", "tx-gso-partial",
    "tx-udp_tnl-segmentation", "rx-gro", "rx-gro-hw", "rx-gro-list", "rx-udp-gro-forwarding", "rx-lro", "rx-hashing",
    "rx-ntuple-filter", "rx-vlan-hw-parse", "tx-vlan-hw-insert", "tx-nocache-copy", "hw-tc-offload",
    "tls-hw-tx-offload", "tls-hw-rx-offload", "loopback",
)  # fmt: skip
_FEC = ("none", "auto", "off", "rs", "baser", "llrs")  # ETHTOOL_FEC_*_BIT
_TOLD = lazy_regex(
    r"(?!.*(?:xdp|xsk|cqe_compress|tls|ptp))(?:.*(?:drop|discard|miss|err|crc|fcs|no_?buf|out_of_buf|pause|ecn|cnp|link_down|"
    r"timeout|wred|overrun|jabber|oversize)).*",
    re.IGNORECASE,
)
_OF_A_QUEUE = lazy_regex(r"(?:[rt]x|ch|queue|q)[-_]?(?:queue[-_]?)?\d+[-_:.]|\[\d+\]|^\d+:", re.IGNORECASE)
_TIMES = lazy_regex(r"duration|transition|storm", re.IGNORECASE)
MOST = 256


def _ring(why: str, name: str, **more: Any) -> Any:
    return config(why, f"ethtool -g CARD; ETHTOOL_GRINGPARAM.{name}", "packets", **more)


class Rings(Section):
    """Packets that the card may hold for the host, and the host for the card."""

    rx: Seen[int] = _ring(
        "Short, a burst overruns it while a core is busy: lost packets are sent again",
        "rx_pending",
        restore="ethtool -G {key} rx {value}",
    )
    tx: Seen[int] = _ring(
        "Short, senders wait for room; long, a small message waits behind large ones",
        "tx_pending",
        restore="ethtool -G {key} tx {value}",
    )
    rx_max: Seen[int] = _ring("What its ring for receiving could be", "rx_max_pending", context=True)
    tx_max: Seen[int] = _ring("What its ring for sending could be", "tx_max_pending", context=True)


def _queues(why: str, name: str, **more: Any) -> Any:
    return config(why, f"ethtool -l CARD; ETHTOOL_GCHANNELS.{name}", "queues", **more)


class Channels(Section):
    """Queues, each served by one core."""

    combined: Seen[int] = _queues(
        "One queue is one core, which a fast card fills: 10 to 30 Gb/s",
        "combined_count",
        restore="ethtool -L {key} combined {value}",
    )
    rx: Seen[int] = _queues("Queues that receive only", "rx_count", restore="ethtool -L {key} rx {value}")
    tx: Seen[int] = _queues("Queues that send only", "tx_count", restore="ethtool -L {key} tx {value}")
    combined_max: Seen[int] = _queues("What it could have of them", "max_combined", context=True)


def _coalesced(why: str, name: str, unit: str, **more: Any) -> Any:
    return config(why, f"ethtool -c CARD; ETHTOOL_GCOALESCE.{name}", unit, **more)


class Coalesce(Section):
    """When the card interrupts for what it has received or sent."""

    rx_usecs: Seen[int] = _coalesced(
        "Each message waits as long for its interrupt; with 0 each packet interrupts a core",
        "rx_coalesce_usecs",
        "us",
        restore="ethtool -C {key} rx-usecs {value}",
    )
    rx_frames: Seen[int] = _coalesced(
        "Packets after which it interrupts at once",
        "rx_max_coalesced_frames",
        "packets",
        restore="ethtool -C {key} rx-frames {value}",
    )
    tx_usecs: Seen[int] = _coalesced(
        "How long sent buffers are held: small windows and pools run dry",
        "tx_coalesce_usecs",
        "us",
        restore="ethtool -C {key} tx-usecs {value}",
    )
    tx_frames: Seen[int] = _coalesced(
        "Sent packets after which it tells at once",
        "tx_max_coalesced_frames",
        "packets",
        restore="ethtool -C {key} tx-frames {value}",
    )
    adaptive_rx: Seen[bool] = _coalesced(
        "The driver moves the delay with the load: latency changes with what came before",
        "use_adaptive_rx_coalesce",
        "",
    )
    adaptive_tx: Seen[bool] = _coalesced("As for receiving, of what was sent", "use_adaptive_tx_coalesce", "")


def _paused(why: str, name: str) -> Any:
    return state(
        why,
        f"ethtool -a CARD; ETHTOOL_GPAUSEPARAM.{name}",
        settled="always",
        follows=("network/interfaces/*/operstate",),
    )


class Pause(Section):
    """Flow control of the whole link."""

    autoneg: Seen[bool] = _paused("Whether the peer decides as well", "autoneg")
    rx: Seen[bool] = _paused("The switch may stop this card: one slow receiver stops all its senders", "rx_pause")
    tx: Seen[bool] = _paused("This card may stop the switch instead of losing packets", "tx_pause")


def _section(cls: type[S], told: Seen[Told], flags: tuple[str, ...] = ()) -> S:
    return cls(**{name: _value(told, name, is_flag=name in flags) for name in cls.__facts__})


def _value(told: Seen[Told], name: str, *, is_flag: bool) -> Seen[Any]:
    return then(told, lambda it: bool(it[name]) if is_flag else it[name])


def asking(host: Host, name: str) -> Ask:
    """Asks the driver of one card. One that sleeps would be woken by any question."""
    status = host.line(f"{NET}/{name}/device/power/runtime_status")
    asleep = Gap("asleep", "a question to its driver would wake it")
    return (lambda _: asleep) if status == "suspended" else partial(host.ethtool, name)


def read_rings(ask: Ask) -> Rings:
    return _section(Rings, ask("rings"))


def read_channels(ask: Ask) -> Channels:
    return _section(Channels, ask("channels"))


def read_coalesce(ask: Ask) -> Coalesce:
    return _section(Coalesce, ask("coalesce"), ("adaptive_rx", "adaptive_tx"))


def read_pause(ask: Ask) -> Pause:
    return _section(Pause, ask("pause"), ("autoneg", "rx", "tx"))


def offloads_of(ask: Ask) -> Seen[Map[Seen[bool]]]:
    return then(ask("features"), lambda it: Map({name: bool(it[name]) for name in FEATURES if name in it}))


def flags_of(ask: Ask) -> Seen[Map[Seen[bool]]]:
    return then(ask("private_flags"), lambda it: Map({flag: bool(on) for flag, on in it.items()}))


def hw_counters(ask: Ask) -> Seen[Map[Seen[int]]]:
    """Of the whole card, not of each queue, and none that counts time."""
    return then(ask("statistics"), _of_trouble)


def _of_trouble(told: Told) -> Map[Seen[int]]:
    names = [name for name in told if _TOLD.match(name) and not _OF_A_QUEUE.search(name) and not _TIMES.search(name)]
    return Map({name: int(told[name]) for name in names[:MOST]})


def fec_of(ask: Ask) -> Seen[str]:
    return then(ask("fec"), lambda it: _fec(int(it["active"])))


def _fec(active: int) -> Seen[str]:
    words = " ".join(word for at, word in enumerate(_FEC) if active >> at & 1)
    return words or Gap("unsupported", "its driver does not tell")
