"""What is around the GPUs, read once for all: a container, the persistence daemon, and who sets limits at boot."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from probes.kit.facts import Gap, Seen, seen_or
from probes.kit.host import Host

DAEMON = "/run/nvidia-persistenced"
DAEMON_NAME = "nvidia-persiste"  # comm has 15 characters
INITIAL_PIDS = "pid:[4026531836]"  # PROC_PID_INIT_INO of include/linux/proc_ns.h
# Docker's, Podman's, Apptainer's; and of a pod, which shares the host's pids where it watches the host.
CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv", "/.singularity.d", "/run/secrets/kubernetes.io")

BOOT_FOLDERS = ("/etc/systemd/system", "/etc/cron.d", "/etc/udev/rules.d", "/etc/init.d")
"""The administrator's own: what packages install sets nothing of the kind."""
BOOT_FILES = ("/etc/crontab", "/etc/rc.local", "/etc/rc.d/rc.local")
BOOT_CAP = 200
SETS = (
    r"nvidia-smi\b[^\n]*?[ \t](-pl|--power-limit|-lgc|--lock-gpu-clocks|-lmc|--lock-memory-clocks"
    r"|-ac|--applications-clocks|-pm|--persistence-mode)(?=[ \t=])"
)
"""A line that sets power, clocks or persistence; its group is the option."""
STARTS = r"^Exec\w+=[^\n]*?((?<=[=@:+!\s-])/(?:usr/local|opt|etc|srv|root|home)/[\w./+-]+)"
"""A line of a unit that starts a program of the administrator's; its group is the path."""


class Machine(NamedTuple):
    """contained      whether this is read inside a container
    host_pids      whether pids of the host, which NVML tells, mean the same here
    daemon_socket  whether clients can reach nvidia-persistenced
    daemon         whether nvidia-persistenced runs; a gap where that cannot be seen
    at_boot        files that set power, clocks or persistence, with the option: `/etc/systemd/system/a.service: -pl`
    """

    contained: bool
    host_pids: bool
    daemon_socket: bool
    daemon: Seen[bool]
    at_boot: Seen[tuple[str, ...]]


def read_machine(host: Host) -> Machine:
    pids = host.link("/proc/self/ns/pid")
    host_pids = pids == INITIAL_PIDS
    contained = any(_exists(host, file) for file in CONTAINER_FILES) or not (host_pids or isinstance(pids, Gap))
    socket = _exists(host, f"{DAEMON}/socket") or _exists(host, f"/var{DAEMON}/socket")
    at_boot = Gap("not_observable", "a container shows its own files") if contained else tuple(_at_boot(host))
    return Machine(contained, host_pids, socket, _daemon(host, socket, contained), at_boot)


def _exists(host: Host, path: str) -> bool:
    return not isinstance(host.stat(path), Gap)


def _daemon(host: Host, socket: bool, contained: bool) -> Seen[bool]:
    """By the process that its pid file names; a container has at most the socket."""
    if contained:
        return socket or Gap("not_observable", "the daemon runs outside of the container")
    pid = host.number(f"{DAEMON}/nvidia-persistenced.pid")
    if isinstance(pid, Gap):
        return socket
    return host.line(f"/proc/{pid}/comm") == DAEMON_NAME


def _at_boot(host: Host) -> Iterator[str]:
    """Follows a unit to the script that it starts, and no further."""
    for file in islice(_boot_files(host), BOOT_CAP):
        scripts = seen_or(host.matching(file, STARTS), ()) if file.endswith(".service") else ()
        for place in dict.fromkeys((file, *scripts)):
            yield from (f"{place}: {option}" for option in sorted({*seen_or(host.matching(place, SETS), ())}))


def _boot_files(host: Host) -> Iterator[str]:
    yield from BOOT_FILES
    for folder in BOOT_FOLDERS:
        names = seen_or(host.names(folder), ())
        yield from (f"{folder}/{name}" for name in names if not name.endswith((".wants", ".requires", ".d")))
