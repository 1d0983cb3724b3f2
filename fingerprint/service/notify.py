"""What the service manager is told, by its own protocol (sd_notify(3)): one datagram of lines.

Nothing here raises: without a service manager nobody listens.
"""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress

_SOCKET, _WATCHDOG, _OF = "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"


def ready(says: str) -> None:
    _tell("READY=1", f"STATUS={says}")


def status(says: str) -> None:
    _tell(f"STATUS={says}")


def alive() -> None:
    _tell("WATCHDOG=1")


def reloading() -> None:
    """A unit of Type=notify-reload waits for `ready` after this; one of Type=notify takes no notice."""
    _tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")


def stopping() -> None:
    _tell("STOPPING=1")


def watchdog_seconds(environ: Mapping[str, str] = os.environ) -> float | None:
    """Within which `alive` must be said; None where nobody waits for it. Half of it is a good distance."""
    limit, of = environ.get(_WATCHDOG, ""), environ.get(_OF, str(os.getpid()))
    return int(limit) / 1e6 if limit.isdecimal() and int(limit) and of == str(os.getpid()) else None


def _tell(*lines: str) -> None:
    address = os.environ.get(_SOCKET, "")
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
        to.setblocking(False)
        to.sendto("\n".join(" ".join(line.split("\n")) for line in lines).encode(), _named(address))


def _named(address: str) -> str:
    """`@` begins a name in the abstract namespace."""
    return "\0" + address[1:] if address.startswith("@") else address
