"""What a probe found on a bus, as tests ask for it."""

import msgspec

from fingerprint.sections import decoder_of
from probes.kit.facts import Gap, Map
from probes.kit.host import Host
from probes.kit.probe import HOST
from probes.pcie import pcie
from probes.pcie.sections import Bridge, Card, Gpu, Pcie

KERNEL_WORDS = {
    "current_link_speed": "16.0 GT/s PCIe\n",
    "current_link_width": "8\n",
    "max_link_speed": "32.0 GT/s PCIe\n",
    "max_link_width": "16\n",
}


def read(host: Host) -> Pcie:
    """As one that came through a strict decode."""
    return decoder_of(Pcie)(msgspec.json.encode(pcie.read(host, HOST)))


def gpus(found: Pcie) -> dict[str, Gpu]:
    assert isinstance(found.gpus, Map)
    return dict(found.gpus.items)


def cards(found: Pcie) -> dict[str, Card]:
    assert isinstance(found.cards, Map)
    return dict(found.cards.items)


def bridges(found: Pcie) -> dict[str, Bridge]:
    assert isinstance(found.bridges, Map)
    return dict(found.bridges.items)


def code(seen: object) -> str:
    assert isinstance(seen, Gap), seen
    return seen.code


class Elsewhere(Host):
    """A live host in a tree: what is not there is absent."""

    def _missing(self, gap: Gap) -> Gap:
        return gap
