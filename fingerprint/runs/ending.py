"""Telling a sampler in the background that its run is over."""

import os
import select
import signal

from fingerprint.runs.opener import is_alive
from fingerprint.runs.record import Opener
from probes.kit.host import Host

SECONDS = 60.0
"""Its last sample, and a snapshot within a budget that is a setting."""


def end_of(host: Host, opener: Opener, seconds: float = SECONDS) -> bool:
    """Asks that very process to end and waits for it. False where it went on for so long.

    A pid may be another process's by the time that it is signalled; what is held open is not. Raises ProcessLookupError
    where it has ended before, PermissionError where it is another user's.
    """
    held = os.pidfd_open(opener.pid)
    try:
        if not is_alive(host, opener):
            raise ProcessLookupError
        signal.pidfd_send_signal(held, signal.SIGTERM)
        poll = select.poll()
        poll.register(held, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(held)
