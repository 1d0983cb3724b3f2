"""What of a process's surroundings is its own."""

from probes.kit.facts import Gap, Seen, then
from probes.kit.host import Host
from probes.kit.processes import stat

NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")


def namespaces(host: Host, pid: int) -> Seen[tuple[str, ...]]:
    """The separate ones, by their names in /proc/PID/ns."""
    theirs = host.link(f"/proc/{pid}/ns/mnt")
    return then(theirs, lambda _: tuple(name for name in NAMESPACES if _is_separate(host, pid, name)))


def _is_separate(host: Host, pid: int, name: str) -> bool:
    """Of the host's where process 1 lets itself be read, else of our own."""
    own, first = (host.link(f"/proc/{who}/ns/{name}") for who in (pid, 1))
    whole = host.link(f"/proc/self/ns/{name}") if isinstance(first, Gap) else first
    return not isinstance(own, Gap) and not isinstance(whole, Gap) and own != whole


def as_its_parent(host: Host, pid: int) -> bool:
    """Whether its files, pids and control groups are those of the process that started it."""
    parent = then(stat(host, pid), lambda seen: seen.parent)
    return not isinstance(parent, Gap) and _stands(host, pid) == _stands(host, parent)


def _stands(host: Host, pid: int) -> tuple[Seen[str], ...]:
    links = (host.link(f"/proc/{pid}/{name}") for name in ("ns/mnt", "ns/pid", "ns/net", "root"))
    return (*links, host.text(f"/proc/{pid}/cgroup"))
