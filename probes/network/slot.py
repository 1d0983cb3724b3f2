"""Where a card sits, whichever class of device it is shown as."""

from collections.abc import Mapping

from probes.kit.facts import Gap, Seen, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex

PCI = "/sys/bus/pci/devices"
NOT_TOLD: Seen[Mapping[str, "int | str"]] = Gap("unsupported", "no PCI device")
_ADDRESS = lazy_regex(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def pci_address_of(host: Host, folder: str, driver: Seen[Mapping[str, int | str]] = NOT_TOLD) -> Seen[str]:
    """folder: of the device in its class. driver: what ethtool tells, for what lies on a bus above PCI: virtio."""
    link = then(host.link(f"{folder}/device"), lambda path: _address(path.rpartition("/")[2]))
    if not isinstance(link, Gap) or link.code != "unsupported":
        return link
    return then(driver, lambda told: _address(str(told["bus_info"])))


def _address(name: str) -> Seen[str]:
    return name if _ADDRESS.fullmatch(name) else Gap("unsupported", f"{name or 'it'} is no PCI device")


def numa_node_of(host: Host, slot: Seen[str]) -> Seen[int]:
    node = then(slot, lambda address: host.number(f"{PCI}/{address}/numa_node"))
    return then(node, lambda number: number if number >= 0 else Gap("unsupported", "firmware does not tell"))
