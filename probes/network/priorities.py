"""Lossless Ethernet: which priorities are paused by themselves, and how congestion marks are answered."""

from collections.abc import Iterator
from typing import Any

from probes.kit.facts import Gap, Map, Section, Seen, counter, seen_or, state, then
from probes.kit.host import Host

_PFC, _ETS = (f"dcb {what} show dev CARD; netlink, DCB_CMD_IEEE_GET" for what in ("pfc", "ets"))
_PARTS = ("roce_np", "roce_rp")


def _told(why: str, source: str) -> Any:
    return state(why, source, settled="always", follows=("network/interfaces/*/operstate",))


class Priorities(Section):
    """Of IEEE 802.1Q, as the card has them in force; the switch's own side nothing on the host tells."""

    pfc: Seen[tuple[int, ...]] = _told(
        "RoCE loses packets where its priority is not among these, and each loss sends a window again",
        f"{_PFC}, pfc_en",
    )
    prio_tc: Seen[tuple[int, ...]] = _told(
        "The class of each priority: RoCE beside TCP in one class", f"{_ETS}, prio_tc"
    )
    bandwidth: Seen[tuple[int, ...]] = _told(
        "What each class is granted when the link is full, in %", f"{_ETS}, tc_tx_bw"
    )
    pfc_sent: Seen[int] = counter(
        "Pauses that this card sent: the host took in too slowly what came", f"{_PFC}, requests", trouble=True
    )
    pfc_received: Seen[int] = counter(
        "Pauses that this card was sent: the network was full, or a receiver slow",
        f"{_PFC}, indications",
        trouble=True,
    )


def read_priorities(host: Host, name: str) -> Priorities:
    told = host.netlink("priorities", name)

    def of(part: str) -> Seen[tuple[int, ...]]:
        return then(told, lambda it: it.get(part, Gap("unsupported", "its driver does not tell")))

    return Priorities(
        pfc=of("pfc"),
        prio_tc=of(f"{_ETS}, prio_tc"),
        bandwidth=of("bandwidth"),
        pfc_sent=then(of("pfc_sent"), sum),
        pfc_received=then(of("pfc_received"), sum),
    )


def read_ecn(host: Host, folder: str) -> Seen[Map[Seen[int]]]:
    """By the names of the files: roce_np.cnp_dscp, roce_rp.rpg_ai_rate, roce_np.enable.3."""
    return then(host.names(f"{folder}/ecn"), lambda parts: Map(dict(_ecn(host, f"{folder}/ecn", parts))))


def _ecn(host: Host, folder: str, parts: tuple[str, ...]) -> Iterator[tuple[str, Seen[int]]]:
    """`enable` is a folder with a file for each priority."""
    for part in (part for part in _PARTS if part in parts):
        names = (name for name in seen_or(host.names(f"{folder}/{part}"), ()) if name != "enable")
        each = (f"enable/{priority}" for priority in seen_or(host.names(f"{folder}/{part}/enable"), ()))
        for file in (*names, *each):
            yield f"{part}.{file.replace('/', '.')}", host.number(f"{folder}/{part}/{file}")
