"""Which interfaces IP leaves by: of /proc/net/route and /proc/net/ipv6_route, without any address.

IFACE DESTINATION GATEWAY FLAGS REFCNT USE METRIC MASK MTU WINDOW IRTT, of the main table; and of IPv6, of all tables
DESTINATION LENGTH SOURCE LENGTH NEXT-HOP METRIC REFCNT USE FLAGS IFACE, all in hexadecimal.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from probes.kit.facts import Seen, seen_or, then

Answer = Mapping[str, tuple[str, ...]]

_UP, _VIA_GATEWAY = 0x1, 0x2  # RTF_UP, RTF_GATEWAY
_ANY, _ONE_HOST = ("00000000", "00"), ("FFFFFFFF", "80")
_OF_EVERY_LINK = ("fe8", "ff")


class _Route(NamedTuple):
    """length: of the subnet, as the table tells it."""

    interface: str
    destination: str
    length: str
    flags: int
    metric: int


def routes(text: Callable[[str], Seen[str]]) -> Seen[Answer]:
    """`default`: the interface that the preferred default route leaves by, of IPv6 only where IPv4 has none. `shared`
    and `shared6`: for each directly connected subnet with several interfaces their names, joined by a blank.

    A kernel without IPv6 has no table of it."""
    more = seen_or(then(text("/proc/net/ipv6_route"), lambda table: tuple(_ipv6(table))), ())
    return then(text("/proc/net/route"), lambda table: _told(tuple(_ipv4(table)), more))


def _told(ipv4: Iterable[_Route], ipv6: Iterable[_Route]) -> Answer:
    default = _default(ipv4) or _default(ipv6)
    return {"default": default, "shared": _shared(ipv4), "shared6": _shared(ipv6)}


def _default(table: Iterable[_Route]) -> tuple[str, ...]:
    return tuple(
        name for _, name in sorted((route.metric, route.interface) for route in table if route.length in _ANY)[:1]
    )


def _shared(table: Iterable[_Route]) -> tuple[str, ...]:
    subnets: dict[tuple[str, str], set[str]] = defaultdict(set)
    for route in table:
        if not route.flags & _VIA_GATEWAY and route.length not in (*_ANY, *_ONE_HOST):
            subnets[route.destination, route.length].add(route.interface)
    return tuple(sorted({" ".join(sorted(names)) for names in subnets.values() if len(names) > 1}))


def _ipv4(text: str) -> Iterator[_Route]:
    """Raises ValueError for what is no such table."""
    for line in text.splitlines()[1:]:
        name, destination, _gateway, flags, _count, _use, metric, mask = line.split()[:8]
        if int(flags, 16) & _UP:
            yield _Route(name, destination, mask, int(flags, 16), int(metric))


def _ipv6(text: str) -> Iterator[_Route]:
    """Without those that every link has."""
    for line in text.splitlines():
        destination, length, _source, _length, _hop, metric, _count, _use, flags, name = line.split()
        if int(flags, 16) & _UP and not destination.startswith(_OF_EVERY_LINK):
            yield _Route(name, destination, length, int(flags, 16), int(metric, 16))
