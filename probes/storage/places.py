"""The file system that a place lies on: its mount, its options that decide on speed, and the disk below it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from probes.kit.answering import PATIENCE, stuck_at
from probes.kit.disks import disk_of
from probes.kit.facts import Gap, Map, Redacted, Seen, then
from probes.kit.filepaths import real
from probes.kit.host import Host
from probes.kit.mounts import Mount as Mounted
from probes.kit.mounts import holding, is_remote
from probes.storage.sections import Mount

_LOCAL = Gap("unsupported", "no other program answers for this file system")
# Of mounts, ext4, XFS, btrfs, NFS, SMB, Ceph, 9p, virtiofs, FUSE, overlay. None whose value is a path.
MATTERING = frozenset(
    "ro noatime relatime strictatime lazytime sync dirsync dax discard barrier nobarrier data journal_checksum commit"
    " delalloc nodelalloc stripe dioread_nolock dioread_lock inode64 largeio swalloc allocsize logbsize logbufs sunit"
    " swidth compress compress-force ssd nossd autodefrag nodatacow nodatasum space_cache thread_pool max_inline vers"
    " rsize wsize nconnect max_connect proto hard soft softerr softreval timeo retrans ac noac acregmin acregmax"
    " acdirmin acdirmax actimeo lookupcache local_lock nolock sec fsc async cache cache_mode posix max_channels"
    " multichannel rasize caps_max readdir_max_bytes trans msize access max_read blksize default_permissions"
    " writeback_cache volatile metacopy index xino redirect_dir size nr_inodes huge mpol".split()
)


class Where(NamedTuple):
    """path: without links, as far as it was resolved. gap: why it was not."""

    path: str
    gap: Gap | None


def where(files: Host, path: str) -> Where:
    """files: of the process, as kit/answering.py gives them."""
    there = real(files, path)
    return Where(stuck_at(files, path) or path, there) if isinstance(there, Gap) else Where(there, None)


def mounts(host: Host, pid: int, files: Host, places: Iterable[Where]) -> Mapping[str, Mount]:
    """By the path of the place."""
    known = {place.path: place for place in places}
    found = holding(host, pid, known)
    if isinstance(found, Gap):
        return dict.fromkeys(known, _without(found))
    nothing = _without(Gap("not_observable", "nothing is mounted there"))
    return {path: _mount(host, files, known[path], found[path]) if path in found else nothing for path in known}


def _without(why: Gap) -> Mount:
    return Mount(**dict.fromkeys(Mount.__facts__, why))


def _mount(host: Host, files: Host, place: Where, mounted: Mounted) -> Mount:
    remote = is_remote(mounted)
    space = place.gap or files.space(place.path, PATIENCE if remote else 0.0)
    silent = isinstance(space, Gap) and space.code == "timed_out"
    return Mount(
        type=mounted.type,
        source=_source(files, mounted),
        options=Map(dict(_options(mounted))),
        device=disk_of(host, mounted.device),
        read_ahead_kb=host.number(f"/sys/class/bdi/{mounted.device}/read_ahead_kb"),
        answers=not silent if remote else _LOCAL,
        free=then(space, lambda told: told.free),
        free_files=then(space, lambda told: told.files_free),
    )


def _source(files: Host, mounted: Mounted) -> Seen[Redacted]:
    """A device's name is told by `device`, and is another one after a boot."""
    if not is_remote(mounted):
        return Gap("unsupported", "no server")
    return files.redactor.redacted(mounted.source)


def _options(mounted: Mounted) -> Iterable[tuple[str, Seen[str]]]:
    told = (option.partition("=") for option in mounted.options)
    return ((name, value or "on") for name, _, value in told if name in MATTERING)
