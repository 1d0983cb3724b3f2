"""Limits of its control groups that no other area reads."""

from collections.abc import Iterable, Mapping

from probes.container import sections
from probes.kit.cgroups import Groups, groups, memberships
from probes.kit.facts import Gap, Map, Seen, then
from probes.kit.host import Host

_THROTTLES = {"rbps": "read_bps", "wbps": "write_bps", "riops": "read_iops", "wiops": "write_iops"}
_HIGHEST = 1 << 62  # v1 writes "no limit" as 2^63 less a page


def cgroup(host: Host, pid: int) -> sections.Groups:
    joined = memberships(host, pid)
    memory, io = (groups(host, joined, name) for name in ("memory", _io(joined)))
    return sections.Groups(
        version=then(memory, lambda at: at.version),
        io_max=then(io, lambda at: _io_max(host, at)),
        hugetlb_max=then(groups(host, joined, "hugetlb"), lambda at: _hugetlb_max(host, at)),
    )


def _io(joined: Seen[Mapping[str, str]]) -> str:
    """The controller of disks is called otherwise in v1."""
    return "io" if isinstance(joined, Gap) or not any("blkio" in name.split(",") for name in joined) else "blkio"


def _io_max(host: Host, at: Groups) -> Seen[Map[Seen[str]]]:
    """Of its own group and its ancestors, by device: what the innermost says that says anything of it."""
    if at.version == 1:
        return _throttles(host, at)
    return then(_throughout(host, at, "io.max"), lambda limits: Map(dict(limits)))


def _throttles(host: Host, at: Groups) -> Seen[Map[Seen[str]]]:
    """In the words of io.max."""
    told: dict[str, list[str]] = {}
    for word, name in _THROTTLES.items():
        limits = _throughout(host, at, f"blkio.throttle.{name}_device")
        if isinstance(limits, Gap):
            return limits
        for device, limit in limits.items():
            told.setdefault(device, []).append(f"{word}={limit}")
    return Map({device: " ".join(words) for device, words in told.items()})


def _throughout(host: Host, at: Groups, name: str) -> Seen[Mapping[str, str]]:
    """Device -> limit. The topmost group has no such file."""
    limits: dict[str, str] = {}
    for folder in reversed(at.folders):
        text = host.text(f"{folder}/{name}")
        if not isinstance(text, Gap):
            limits.update(_devices(text))
        elif text.code not in ("absent", "not_read"):
            return text
    return limits


def _devices(text: str) -> Iterable[tuple[str, str]]:
    return ((device, limit) for device, _, limit in (line.partition(" ") for line in text.splitlines()))


def _hugetlb_max(host: Host, at: Groups) -> Seen[Map[Seen[str]]]:
    suffix = ".max" if at.version == 2 else ".limit_in_bytes"
    names = then(host.names(at.folders[0]), lambda found: tuple(name for name in found if _is_limit(name, suffix)))
    return then(
        names, lambda found: Map({name.split(".")[1]: _bound(host, f"{at.folders[0]}/{name}") for name in found})
    )


def _is_limit(name: str, suffix: str) -> bool:
    """hugetlb.2MB.max, not hugetlb.2MB.rsvd.max."""
    return name.startswith("hugetlb.") and name.endswith(suffix) and name.count(".") == 1 + suffix.count(".")


def _bound(host: Host, path: str) -> Seen[str]:
    return then(host.line(path), lambda text: "max" if text.isdecimal() and int(text) >= _HIGHEST else text)
