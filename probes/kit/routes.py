"""Which interfaces IPv4 leaves by: of /proc/net/route, the main table, without any address.

IFACE DESTINATION GATEWAY FLAGS REFCNT USE METRIC MASK MTU WINDOW IRTT, addresses in the order of the machine's bytes.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_UP, _VIA_GATEWAY = 0x1, 0x2  # RTF_UP, RTF_GATEWAY
_ANY, _ONE_HOST = "00000000", "FFFFFFFF"


class _Route(NamedTuple):
    interface: str
    subnet: tuple[str, str]
    flags: int
    metric: int


def routes_in(text: str) -> Mapping[str, tuple[str, ...]]:
    """`default`: the interface that the preferred default route leaves by, empty where there is none. `shared`: for
    each directly connected subnet with several interfaces their names, joined by a blank."""
    routes = [route for route in _routes(text) if route.flags & _UP]
    defaults = [(route.metric, route.interface) for route in routes if route.subnet[1] == _ANY]
    subnets: dict[tuple[str, str], set[str]] = defaultdict(set)
    for route in routes:
        if not route.flags & _VIA_GATEWAY and route.subnet[1] not in (_ANY, _ONE_HOST):
            subnets[route.subnet].add(route.interface)
    shared = sorted(" ".join(sorted(names)) for names in subnets.values() if len(names) > 1)
    return {"default": tuple(name for _, name in sorted(defaults)[:1]), "shared": tuple(shared)}


def _routes(text: str) -> Iterator[_Route]:
    """Raises ValueError for what is no such table."""
    for line in text.splitlines()[1:]:
        name, destination, _gateway, flags, _count, _use, metric, mask = line.split()[:8]
        yield _Route(name, (destination, mask), int(flags, 16), int(metric))
