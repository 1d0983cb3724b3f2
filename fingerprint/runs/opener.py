"""Which process holds a run open, and whether it still does."""

import os

from fingerprint.runs.record import Opener
from probes.kit.facts import Seen, seen_or, then
from probes.kit.host import Host
from probes.kit.processes import stat


def opener(host: Host) -> Opener:
    """This process."""
    return Opener(os.getpid(), seen_or(_started(host, os.getpid()), 0), _boot_id(host))


def is_alive(host: Host, who: Opener) -> bool:
    """Whether that very process still runs here: a pid is reused, so its start time and the boot must be the same."""
    return _boot_id(host) == who.boot_id and seen_or(_started(host, who.pid), -1) == who.start_ticks


def _started(host: Host, pid: int) -> Seen[int]:
    return then(stat(host, pid), lambda seen: seen.started)


def _boot_id(host: Host) -> str:
    return seen_or(host.line("/proc/sys/kernel/random/boot_id"), "")
