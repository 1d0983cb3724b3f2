"""Which interfaces there are, and which of them matter."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from probes.kit.facts import Seen, seen_or, then
from probes.kit.host import Host
from probes.network.ipv4 import way_out

NET = "/sys/class/net"
LOOPBACK = "lo"
MOST = 4096
_LOWER = "lower_"


class Found(NamedTuple):
    """holds: of each interface, what its folder holds. kept: those that matter. others: the rest."""

    holds: Mapping[str, Sequence[str]]
    kept: tuple[str, ...]
    others: tuple[str, ...]

    def beneath(self, name: str) -> tuple[str, ...]:
        """Those that matter right below it: of a bridge its card, and not its containers."""
        return tuple(lower for lower in _lower(self.holds[name]) if lower in self.kept)


def find(host: Host) -> Seen[Found]:
    return then(host.names(NET), lambda names: _found(host, names[:MOST]))


def _found(host: Host, names: Sequence[str]) -> Found:
    """What is no folder is no interface: bonding_masters."""
    told = ((name, seen_or(host.names(f"{NET}/{name}"), ())) for name in names)
    holds = {name: entries for name, entries in told if entries}
    always = (LOOPBACK, way_out(host))
    kept = {name for name, entries in holds.items() if "device" in entries or name in always}
    while above := {name for name in holds if name not in kept and kept & {*_lower(holds[name])}}:
        kept |= above
    return Found(holds, tuple(sorted(kept)), tuple(sorted(holds.keys() - kept)))


def _lower(entries: Sequence[str]) -> Sequence[str]:
    return tuple(entry.removeprefix(_LOWER) for entry in entries if entry.startswith(_LOWER))
