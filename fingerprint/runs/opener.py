"""Which process holds a run open, and whether it still does."""

import os

from fingerprint.runs.record import Opener
from probes.kit.facts import Gap, seen_or, then
from probes.kit.host import Host
from probes.kit.processes import stat


def opener(host: Host) -> Opener:
    """This process."""
    started = then(stat(host, os.getpid()), lambda seen: seen.started)
    return Opener(os.getpid(), seen_or(started, 0), _boot_id(host))


def is_alive(host: Host, who: Opener) -> bool:
    """Whether that very process still runs here: a pid is reused, so its start time and the boot must be the same. In a
    container whose first process waits for nobody it may stay as a zombie when it has ended."""
    seen = stat(host, who.pid)
    runs = not isinstance(seen, Gap) and not seen.dead and seen.started == who.start_ticks
    return runs and _boot_id(host) == who.boot_id


def _boot_id(host: Host) -> str:
    return seen_or(host.line("/proc/sys/kernel/random/boot_id"), "")
