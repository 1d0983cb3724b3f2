"""The file systems of a container that its speed hangs on: its root, and the memory that its processes share."""

from typing import NamedTuple

from probes.kit.answering import answering
from probes.kit.facts import Gap, Seen, then
from probes.kit.host import Host

SHM = "/dev/shm"  # noqa: S108  # the kernel's name for it
_LAST_ON_ROOT = r"^\d+ \d+ \S+ \S+ / [^\n]* - (\S+) "


class Mounts(NamedTuple):
    root_type: Seen[str]
    shm_size: Seen[int]
    shm_used: Seen[int]


def mounts(host: Host, pid: int) -> Mounts:
    """What was mounted last on / hides the others."""
    roots = host.matching(f"/proc/{pid}/mountinfo", _LAST_ON_ROOT)
    space = answering(host, pid).space(SHM)
    return Mounts(
        root_type=then(roots, lambda found: found[-1] if found else Gap("not_observable", "nothing is mounted on /")),
        shm_size=then(space, lambda told: told.size),
        shm_used=then(space, lambda told: told.size - told.free),
    )
