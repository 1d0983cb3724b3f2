"""The links between a device and the CPU, and which of them carries least."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from probes.kit.facts import Gap, Seen, then
from probes.kit.lanes import SPEEDS, carries
from probes.pcie.sections import Bridge, Card, Gpu, Narrowest

GONE = Gap("absent", "a bridge above it was not there any more")
Told = Mapping[str, Gpu | Card | Bridge]


class Link(NamedTuple):
    hop: str
    speed: int
    width: int
    bandwidth: int


def narrowest(links: tuple[tuple[str, str], ...], told: Told) -> Narrowest:
    """links: the ends of each, from the root port down. told: by address. Unknown as soon as one of them is."""
    found = list(_links(links, told))
    gap = next((link for link in found if isinstance(link, Gap)), None)
    if gap is not None:
        return _unknown(gap)
    least = min((link for link in found if isinstance(link, Link)), key=lambda link: link.bandwidth)
    return Narrowest(hop=least.hop, speed=least.speed, width=least.width, bandwidth=least.bandwidth)


def _unknown(gap: Gap) -> Narrowest:
    return Narrowest(hop=gap, speed=gap, width=gap, bandwidth=gap)


def _links(links: tuple[tuple[str, str], ...], told: Told) -> Iterator[Seen[Link]]:
    for upper, lower in links:
        above, device = told.get(upper), told.get(lower)
        if above is None or device is None:
            yield GONE
        else:
            speed = _could(above, device) if isinstance(device, Gpu) else device.current_link_speed
            yield _link(lower, speed, device.current_link_width)


def _could(upper: Gpu | Card | Bridge, lower: Gpu) -> Seen[int]:
    return then(upper.max_link_speed, lambda above: then(lower.max_link_speed, lambda below: min(above, below)))


def _link(hop: str, speed: Seen[int], width: Seen[int]) -> Seen[Link]:
    def made(mts: int, lanes: int) -> Seen[Link]:
        return then(carries(SPEEDS.index(mts), lanes), lambda bandwidth: Link(hop, mts, lanes, bandwidth))

    return then(speed, lambda mts: then(width, lambda lanes: made(mts, lanes)))
