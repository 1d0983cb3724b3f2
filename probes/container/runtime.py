"""Which container a process is in, of which image, since when."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from probes.kit.answering import answering, unanswered
from probes.kit.cgroups import Groups, groups, memberships
from probes.kit.facts import Gap, Seen, then
from probes.kit.host import Host
from probes.kit.processes import stat

NONE, UNKNOWN = "none", "unknown"
IN_NONE = Gap("absent", "in no container")
NOT_TOLD = Gap("not_observable", "only the runtime's own files, outside of the container, tell it")
MOST = 1024  # processes of a container that are asked when they started
_ID = "[0-9a-f]{64}"

# How runtimes call the control group of a container: docker/ID, docker-ID.scope, libpod-ID.scope and so on.
_GROUPS: Mapping[str, str] = {
    "docker": rf"[/-]docker[-/]({_ID})|/docker/({_ID})|/docker-({_ID})",
    "podman": rf"libpod-({_ID})",
    "cri-o": rf"crio-({_ID})",
    "containerd": rf"(?:cri-containerd|nerdctl)-({_ID})",
    "kubernetes": rf"/kubepods[^\n]*/({_ID})",
    "lxc": r"/lxc(?:\.payload)?[./]([^/\n]+)",
    "systemd-nspawn": r"/machine-([^/\n]+)\.scope|/systemd-nspawn@([^/\n]+)\.service",
}
# Files of a container that its runtime mounts into it, from a folder that bears its id; seen from inside as well.
_MOUNTS: Mapping[str, str] = {
    "docker": rf"/docker/containers/({_ID})/",
    "podman": rf"/overlay-containers/({_ID})/userdata/",
    "containerd": rf"/io\.containerd\.[^ ]*/sandboxes/({_ID})/",
}
_LEFT: Mapping[str, str] = {
    "/.dockerenv": "docker",
    "/run/.containerenv": "podman",
    "/.singularity.d": "apptainer",
}


_BEARING = rf"^\d+ \d+ \S+ (\S*/(?:containers|overlay-containers|sandboxes)/{_ID}/\S*) "
# Where runtimes keep what they know of a container, outside of it: files that hold its environment too, of which
# nothing but the image is looked for. Podman writes it into the container itself.
_KEPT: Mapping[str, str] = {
    "docker": "/var/lib/docker/containers/{}/config.v2.json",
    "containerd": "/run/containerd/io.containerd.runtime.v2.task/k8s.io/{}/config.json",
    "kubernetes": "/run/containerd/io.containerd.runtime.v2.task/k8s.io/{}/config.json",
    "cri-o": "/run/containers/storage/overlay-containers/{}/userdata/config.json",
}
_INSIDE = "/run/.containerenv"
_NAME = (
    r'"Image": ?"((?!sha256:)[^"]+)"|"io\.kubernetes\.cri\.image-name": ?"([^"]+)"'
    r'|"io\.kubernetes\.cri-o\.ImageName": ?"([^"]+)"|^image="(.+)"'
)
_DIGEST = r'"Image": ?"(sha256:[0-9a-f]{64})"|"io\.kubernetes\.cri-o\.ImageRef": ?"([^"]+)"|^imageid="(.+)"'


class Identified(NamedTuple):
    runtime: Seen[str]
    id: Seen[str]
    image: Seen[str]
    image_id: Seen[str]
    started: Seen[int]


def identified(host: Host, pid: int, separate: Seen[tuple[str, ...]], root_type: Seen[str]) -> Identified:
    joined = memberships(host, pid)
    if isinstance(joined, Gap):
        return Identified(joined, joined, joined, joined, joined)
    apart = () if isinstance(separate, Gap) else separate
    runtime, own = _named_by(host, pid, joined)
    if not runtime and (root_type == "overlay" or "mnt" in apart):
        runtime = _left(host, pid, image=root_type == "overlay")
    if not runtime and (silent := unanswered(answering(host, pid), "/")):
        return Identified(silent, silent, silent, silent, silent)
    if not runtime and {"mnt", "pid"} <= set(apart):
        runtime = UNKNOWN
    if not runtime:
        return Identified(NONE, IN_NONE, IN_NONE, IN_NONE, IN_NONE)
    return Identified(
        runtime=runtime,
        id=own or Gap("not_observable", "neither its cgroup nor its mounts bear it"),
        image=_image(host, pid, runtime, own, _NAME),
        image_id=_image(host, pid, runtime, own, _DIGEST),
        started=_started(host, joined, own),
    )


def _named_by(host: Host, pid: int, joined: Mapping[str, str]) -> tuple[str, str]:
    """Runtime and id, empty where neither control groups nor mounts bear them."""
    mounted = host.matching(f"/proc/{pid}/mountinfo", _BEARING)
    roots = () if isinstance(mounted, Gap) else mounted
    told = next(_named("\n".join(joined.values()), _GROUPS), None) or next(_named("\n".join(roots), _MOUNTS), None)
    return told or ("", "")


def _left(host: Host, pid: int, *, image: bool) -> str:
    """The runtime by what it leaves in a root. What an image left in the root of a machine made of it tells nothing,
    not even of a process with mounts of its own there (PrivateTmp of systemd). image: whether its root is one itself.
    """
    files = answering(host, pid)
    return next((runtime for path, runtime in _LEFT.items() if _is_there(host, files, path, image)), "")


def _is_there(host: Host, files: Host, path: str, image: bool) -> bool:
    there = files.stat(path)
    return not isinstance(there, Gap) and (image or there != host.stat(path))


def _named(text: str, patterns: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for runtime, pattern in patterns.items():
        if match := re.search(pattern, text):
            yield runtime, match[match.lastindex or 0]


def _image(host: Host, pid: int, runtime: str, own: str, pattern: str) -> Seen[str]:
    kept = _KEPT.get(runtime, "")
    outside = kept and own
    found = host.matching(kept.format(own), pattern) if outside else answering(host, pid).matching(_INSIDE, pattern)
    if isinstance(found, Gap) and found.code != "absent":
        return found
    return found[0] if found and not isinstance(found, Gap) else NOT_TOLD


def _started(host: Host, joined: Mapping[str, str], own: str) -> Seen[int]:
    """Of the oldest process of the group that bears the id, and of those around the process itself."""
    at = groups(host, joined, "pids")
    return then(at, lambda found: _oldest(host, _members(host, found, own)))


def _members(host: Host, at: Groups, own: str) -> list[int]:
    folders = {at.folders[0], *(folder for folder in at.folders if own and own in folder.rpartition("/")[2])}
    listed = (host.text(f"{folder}/cgroup.procs") for folder in sorted(folders))
    return [int(pid) for text in listed if not isinstance(text, Gap) for pid in text.split()]


def _oldest(host: Host, pids: list[int]) -> Seen[int]:
    """A pid that our namespace has no number for is listed as 0."""
    seen = [stat(host, pid) for pid in sorted(set(pids) - {0})[:MOST]]
    started = [one.started for one in seen if not isinstance(one, Gap)]
    return min(started) if started else Gap("not_observable", "none of its processes can be seen from here")
