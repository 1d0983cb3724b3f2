"""One block device, by what sysfs tells of it. Nothing of this asks the disk, which may sleep."""

from collections.abc import Sequence

from probes.block.sections import Counters, Disk
from probes.kit.disks import BLOCKS, key_of
from probes.kit.facts import Gap, Redacted, Seen, then
from probes.kit.host import Host
from probes.kit.parse import selected

SECTOR = 512
_LEAST = 11  # numbers in `stat`
_OF_MEMBERS = ("dm-", "md")
_KNOBS = ("read_ahead_kb", "nr_requests", "max_sectors_kb", "nomerges", "rq_affinity", "wbt_lat_usec")
_NO_SERIAL = Gap("absent", "its driver tells none")


def disk(host: Host, name: str) -> Disk:
    """name: the kernel's."""
    folder = f"{BLOCKS}/{name}"
    device = f"{folder}/device"
    return Disk(
        name=name,
        model=_first(host, f"{device}/model", f"{device}/name"),
        firmware=_first(host, f"{device}/firmware_rev", f"{device}/rev"),
        serial=_serial(host, _first(host, f"{device}/serial", f"{folder}/serial")),
        size=then(host.number(f"{folder}/size"), lambda sectors: sectors * SECTOR),
        transport=host.line(f"{device}/transport"),
        numa_node=_numa_node(host, device),
        rotational=then(host.number(f"{folder}/queue/rotational"), bool),
        members=_members(host, name, folder),
        raid_level=host.line(f"{folder}/md/level"),
        degraded=host.number(f"{folder}/md/degraded"),
        sync_action=host.line(f"{folder}/md/sync_action"),
        scheduler=then(host.line(f"{folder}/queue/scheduler"), _scheduler),
        write_cache=host.line(f"{folder}/queue/write_cache"),
        counters=_counters(host.text(f"{folder}/stat")),
        **{knob: host.number(f"{folder}/queue/{knob}") for knob in _KNOBS},
    )


def _first(host: Host, *paths: str) -> Seen[str]:
    """What the first of the files that is there holds; NVMe and SCSI name them differently."""
    told = [host.line(path) for path in paths]
    return next((one for one in told if not isinstance(one, Gap)), told[-1])


def _serial(host: Host, told: Seen[str]) -> Seen[Redacted]:
    return then(told, lambda serial: host.redactor.redacted(serial) if serial else _NO_SERIAL)


def _numa_node(host: Host, device: str) -> Seen[int]:
    """An NVMe namespace's device is the controller, whose device is the PCI function."""
    deeper = host.number(f"{device}/device/numa_node")
    return host.number(f"{device}/numa_node") if isinstance(deeper, Gap) else deeper


def _members(host: Host, name: str, folder: str) -> Seen[tuple[str, ...]]:
    if not name.startswith(_OF_MEMBERS):
        return Gap("unsupported", "neither an array nor a mapped volume")
    return then(
        host.names(f"{folder}/slaves"), lambda slaves: tuple(sorted({_member(host, folder, it) for it in slaves}))
    )


def _member(host: Host, folder: str, name: str) -> str:
    target = host.link(f"{folder}/slaves/{name}")
    return name if isinstance(target, Gap) else key_of(host, target)


def _scheduler(text: str) -> str:
    """`[none] mq-deadline`; a device without queues of its own says `none` and nothing else."""
    return selected(text) if "[" in text else text


def _counters(text: Seen[str]) -> Counters:
    """Documentation/block/stat.rst; since Linux 4.18 four more numbers follow, since 5.5 two more."""
    told = then(text, _numbers)
    if isinstance(told, Gap):
        return Counters(**dict.fromkeys(Counters.__facts__, told))
    return Counters(
        reads=told[0],
        read_bytes=told[2] * SECTOR,
        read_time=told[3],
        writes=told[4],
        written_bytes=told[6] * SECTOR,
        write_time=told[7],
        busy_time=told[9],
    )


def _numbers(text: str) -> Sequence[int]:
    found = [int(word) for word in text.split()]
    if len(found) < _LEAST:
        raise ValueError(f"{len(found)} numbers in place of {_LEAST} or more")
    return found
