"""What crossed an interface, and what did not come through."""

from typing import Any

from probes.kit.facts import Section, Seen, counter
from probes.kit.host import Host
from probes.network.found import NET

_AT = f"{NET}/*/statistics"


def _count(name: str, why: str, unit: str = "packets", *, trouble: bool = True) -> Any:
    return counter(why, f"{_AT}/{name}", unit, trouble=trouble)


class Statistics(Section):
    rx_bytes: Seen[int] = _count(
        "rx_bytes", "What came in: whether this card had a part in the run", "B", trouble=False
    )
    tx_bytes: Seen[int] = _count("tx_bytes", "What went out: whether this card had a part in it", "B", trouble=False)
    rx_packets: Seen[int] = _count("rx_packets", "Packets taken in: each costs the CPU", trouble=False)
    tx_packets: Seen[int] = _count("tx_packets", "Packets handed out, joined ones counted once", trouble=False)
    rx_errors: Seen[int] = _count("rx_errors", "Packets that came in broken, of every kind: sent again by the peer")
    tx_errors: Seen[int] = _count("tx_errors", "Packets that could not be sent")
    rx_dropped: Seen[int] = _count(
        "rx_dropped", "Packets that nobody wanted, or for which there was no room in the kernel", trouble=False
    )
    tx_dropped: Seen[int] = _count("tx_dropped", "Packets that were dropped on their way out: a full queue")
    rx_missed_errors: Seen[int] = _count(
        "rx_missed_errors", "Packets for which the card had no buffer left: rings too short, or a core too late"
    )
    rx_over_errors: Seen[int] = _count("rx_over_errors", "Packets that did not fit a buffer of the ring")
    rx_crc_errors: Seen[int] = _count("rx_crc_errors", "Packets that a cable or a transceiver damaged")
    rx_fifo_errors: Seen[int] = _count("rx_fifo_errors", "Packets that overran the card's own memory")
    rx_nohandler: Seen[int] = _count(
        "rx_nohandler", "Packets on the idle card of a bond, of which nobody takes any", trouble=False
    )
    tx_carrier_errors: Seen[int] = _count("tx_carrier_errors", "Packets lost as the link went away")
    collisions: Seen[int] = _count("collisions", "Two talked at once: half duplex, a negotiation that failed")


def read_statistics(host: Host, folder: str, source: str) -> Seen[int]:
    return host.number(f"{folder}/statistics/{source.rpartition('/')[2]}")
