"""The links between a device and the CPU: the most that each could carry, and which of them carries least."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from probes.kit.facts import Gap, Seen, then
from probes.kit.lanes import SPEEDS, carries
from probes.pcie.reading import AT_THE_OTHER_END, SLOWS_AT_REST, Facts
from probes.pcie.sections import Bridge, Card, Gpu, Narrowest
from probes.pcie.tree import Place

GONE = Gap("absent", "a bridge above it was not there any more")
HIDDEN = Gap("not_observable", "what is above it is not shown, as in a guest")
Told = Mapping[str, Gpu | Card | Bridge]


class Link(NamedTuple):
    hop: str
    speed: int
    width: int
    bandwidth: int


def usable(place: Place, address: str, told: Told) -> Facts:
    """The most of the link that ends at an address: at a device, or at a bridge on the way to one."""
    ends = (*place.bridges, address)
    at, lower = ends.index(address), told[address]
    if isinstance(lower, Bridge) and at % 2 == 0:
        return dict.fromkeys(("usable_link_speed", "usable_link_width"), AT_THE_OTHER_END)
    upper = told.get(ends[at - 1], GONE) if at else HIDDEN
    speed, width = (upper, upper) if isinstance(upper, Gap) else (upper.max_link_speed, upper.max_link_width)
    return {
        "usable_link_speed": _both(lower.max_link_speed, speed),
        "usable_link_width": _both(lower.max_link_width, width),
    }


def _both(one: Seen[int], other: Seen[int]) -> Seen[int]:
    return then(one, lambda a: then(other, lambda b: min(a, b)))


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
            could = _both(above.max_link_speed, device.max_link_speed)
            slows = isinstance(device, Gpu) or device.current_link_speed == SLOWS_AT_REST
            speed = could if slows else device.current_link_speed
            yield _link(lower, speed, device.current_link_width)


def _link(hop: str, speed: Seen[int], width: Seen[int]) -> Seen[Link]:
    def made(mts: int, lanes: int) -> Seen[Link]:
        return then(carries(SPEEDS.index(mts), lanes), lambda bandwidth: Link(hop, mts, lanes, bandwidth))

    return then(speed, lambda mts: then(width, lambda lanes: made(mts, lanes)))
