"""What is mounted where, as a process sees it: /proc/PID/mountinfo (proc_pid_mountinfo(5))."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from probes.kit.facts import Seen, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex

REMOTE = (
    r"(?:nfs4?|cifs|smb3?|smbfs|ceph|fuse(?:\.(?!lxcfs)\S+)?|9p|virtiofs|lustre|gpfs|mmfs|beegfs|beegfs_nodev|afs|wekafs"
    r"|orangefs|glusterfs|panfs|ocfs2|gfs2|autofs)"
)
"""Types of file systems that a server or another program answers for, which may be gone."""
_SPECIAL = lazy_regex(r"[ \t\n\\]")
_ESCAPED = lazy_regex(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """device: `MAJOR:MINOR`. options: of the mount and of its file system, `rsize=1048576`."""

    number: int
    below: int
    device: str
    point: str
    type: str
    source: str
    options: tuple[str, ...]


def is_remote(mount: Mount) -> bool:
    return re.fullmatch(REMOTE, mount.type) is not None


def remote(host: Host, pid: int) -> Seen[Mapping[str, Mount]]:
    """By mount point, of those that may not answer."""
    found = host.matching(f"/proc/{pid}/mountinfo", rf"^\d+ \d+ \S+ \S+ \S+ [^\n]* - {REMOTE} [^\n]*$")
    return then(found, lambda lines: {mount.point: mount for mount in map(_mount, lines)})


def holding(host: Host, pid: int, paths: Iterable[str]) -> Seen[Mapping[str, Mount]]:
    """The mount that each path lies on, without links. Of others nothing is kept in a recording."""
    wanted = sorted(set(paths))
    points = sorted({re.escape(_escaped(point)) for path in wanted for point in upwards(path)})
    lines = host.matching(f"/proc/{pid}/mountinfo", rf"^\d+ \d+ \S+ \S+ (?:{'|'.join(points)}) [^\n]* - [^\n]*$")
    return then(lines, lambda found: dict(_each(wanted, [*map(_mount, found)])))


def upwards(path: str) -> Iterator[str]:
    """The root first, the path itself last."""
    yield "/"
    for end, letter in enumerate(path):
        if letter == "/" and end:
            yield path[:end]
    if path != "/":
        yield path


def _each(paths: Iterable[str], mounts: list[Mount]) -> Iterator[tuple[str, Mount]]:
    for path in paths:
        if (found := _holding(path, mounts)) is not None:
            yield path, found


def _holding(path: str, mounts: list[Mount]) -> Mount | None:
    """Of two on one point the later one hides the other, and one above hides what was mounted beneath it before."""
    found: Mount | None = None
    for point in upwards(path):
        for mount in mounts:
            if mount.point == point and (found is None or mount.below == found.number):
                found = mount
    return found


def _mount(line: str) -> Mount:
    first = line.split(" ")
    middle = first.index("-", 6)
    kind, source, options = first[middle + 1], first[middle + 2], first[-1]
    return Mount(
        int(first[0]), int(first[1]), first[2], _plain(first[4]), kind, _plain(source),
        tuple(dict.fromkeys((*first[5].split(","), *options.split(",")))),
    )  # fmt: skip


def _escaped(path: str) -> str:
    return _SPECIAL.sub(lambda found: f"\\{ord(found[0]):03o}", path)


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)
