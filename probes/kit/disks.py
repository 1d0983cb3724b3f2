"""By what name a block device is told: its place, where the kernel numbers devices anew at each boot."""

from probes.kit.facts import Gap, Seen, seen_or, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex

BLOCKS = "/sys/block"
_NVME = lazy_regex(r"/(?P<slot>[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/nvme/nvme\d+/nvme\d+(?P<space>n\d+)")


def key_of(host: Host, target: str) -> str:
    """target: of a link to the device or a partition of it. Of a namespace of an NVMe controller
    `nvme-0000:01:00.0-n1`, since controllers are numbered in the order in which they answer; of a mapped volume the
    mapping's name; of all others the kernel's name."""
    if match := _NVME.search(target):
        return f"nvme-{match['slot']}-{match['space']}"
    name = target.rpartition("/")[2]
    return seen_or(host.line(f"{BLOCKS}/{name}/dm/name"), name) if name.startswith("dm-") else name


def disk_of(host: Host, device: str) -> Seen[str]:
    """The disk, by its key, of a file system on it or on one of its partitions. device: `MAJOR:MINOR`."""
    folder = f"/sys/dev/block/{device}"
    target = host.link(folder)
    if isinstance(target, Gap):
        return Gap("unsupported", "no block device: memory, a network, or several file systems in one")
    whole = then(host.number(f"{folder}/partition"), lambda _: target.rpartition("/")[0])
    return key_of(host, target if isinstance(whole, Gap) else whole)
