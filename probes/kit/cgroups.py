"""Control groups, v1 and v2 alike: where a process stands, as two or more areas ask."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from probes.kit.facts import Gap, Seen, then
from probes.kit.host import Host

UNIFIED = "unified"  # the v2 hierarchy, which /proc/PID/cgroup leaves unnamed


class Groups(NamedTuple):
    """The group of a process in one hierarchy: folders from its own up to the topmost that is visible."""

    version: int
    folders: tuple[str, ...]


class Mount(NamedTuple):
    controllers: frozenset[str]
    root: str
    point: str


def memberships(host: Host, pid: int) -> Seen[Mapping[str, str]]:
    """Hierarchy -> path of the process in it, from /proc/PID/cgroup."""
    return then(host.text(f"/proc/{pid}/cgroup"), _memberships)


def _memberships(text: str) -> Mapping[str, str]:
    lines = (line.split(":", 2) for line in text.splitlines())
    return {controllers or UNIFIED: path for _, controllers, path in lines}


def groups(host: Host, joined: Seen[Mapping[str, str]], controller: str) -> Seen[Groups]:
    """Where the controller governs the process: its v1 hierarchy if it has one, else v2."""
    return then(joined, lambda paths: _groups(host, paths, controller))


def _groups(host: Host, paths: Mapping[str, str], controller: str) -> Seen[Groups]:
    hierarchy = next((name for name in paths if controller in name.split(",")), UNIFIED)
    if hierarchy not in paths:
        return Gap("absent", f"no cgroup hierarchy has the controller {controller}")
    wanted = UNIFIED if hierarchy == UNIFIED else controller
    mount = next((mount for mount in _mounts(host) if wanted in mount.controllers), None)
    if mount is None:
        return Gap("not_observable", f"the cgroup hierarchy of {controller} is not mounted here")
    root = mount.root.rstrip("/")
    if not (paths[hierarchy] + "/").startswith(root + "/") or "/.." in paths[hierarchy]:
        return Gap("not_observable", "the process's cgroup lies outside of what is mounted here")
    below = [part for part in paths[hierarchy][len(root) :].split("/") if part]
    folders = ["/".join((mount.point, *below[:depth])) for depth in range(len(below), -1, -1)]
    return Groups(2 if wanted == UNIFIED else 1, tuple(folders))


@lru_cache(maxsize=4)
def _mounts(host: Host) -> Sequence[Mount]:
    """The cgroup file systems; they are mounted once a boot, and a table of thousands of mounts is slow to read."""
    table = host.text("/proc/self/mountinfo")
    found = () if isinstance(table, Gap) else map(_mount, table.splitlines())
    return tuple(mount for mount in found if mount)


def _mount(line: str) -> Mount | None:
    before, _, after = line.partition(" - ")
    kind, _, options = after.partition(" ")
    if kind not in ("cgroup", "cgroup2"):
        return None
    root, point = before.split()[3:5]
    controllers = {UNIFIED} if kind == "cgroup2" else set(options.split()[-1].split(","))
    return Mount(frozenset(controllers), root, point)
