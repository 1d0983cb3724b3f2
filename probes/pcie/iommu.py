"""Which IOMMU stands between devices and memory, and whether it translates."""

from collections.abc import Iterable

from probes.kit.facts import Gap, Seen, then
from probes.kit.host import Host
from probes.pcie.sections import Iommu
from probes.pcie.tree import DEVICES

UNITS = "/sys/class/iommu"
GROUPS = "/sys/kernel/iommu_groups"
NONE = Gap("absent", "no IOMMU stands before it")


class Groups:
    """The groups of devices, each looked at once."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._types: dict[str, Seen[str]] = {}

    def group_of(self, address: str) -> Seen[str]:
        found = then(self._host.link(f"{DEVICES}/{address}/iommu_group"), lambda link: link.rpartition("/")[2])
        return NONE if isinstance(found, Gap) and found.code == "absent" else found

    def type_of(self, group: Seen[str]) -> Seen[str]:
        return then(group, self._type)

    def _type(self, group: str) -> Seen[str]:
        if group not in self._types:
            self._types[group] = self._host.line(f"{GROUPS}/{group}/type")
        return self._types[group]


def read_iommu(host: Host, types: Iterable[Seen[str]]) -> Iommu:
    units = host.names(UNITS)
    return Iommu(mode=mode(units, frozenset(types)), units=units)


def mode(units: Seen[tuple[str, ...]], types: frozenset[Seen[str]]) -> Seen[str]:
    """units: the IOMMUs that the kernel uses. types: of the groups of devices, or why these have none."""
    known = {kind for kind in types if isinstance(kind, str)}
    unknown = next((kind for kind in types if isinstance(kind, Gap) and kind != NONE), None)
    if unknown is not None:
        return unknown
    if not known:
        return then(units, lambda names: NONE_THERE if names else "none")
    if known <= {"identity"}:
        return "passthrough"
    return "mixed" if "identity" in known or NONE in types else "translated"


NONE_THERE = Gap("not_observable", "the kernel uses an IOMMU, and no device told here is behind it")
