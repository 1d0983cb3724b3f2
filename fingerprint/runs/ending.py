"""Telling a sampler in the background that its run is over."""

import os
import signal
import time

from fingerprint.runs.opener import is_alive
from fingerprint.runs.record import Opener
from probes.kit.host import Host

SECONDS = 60.0
"""For its last sample, and a snapshot within a budget that is a setting."""


def end_of(host: Host, opener: Opener, seconds: float = SECONDS) -> bool:
    """Asks that very process to end and waits for it. False where it went on for so long.

    Raises ProcessLookupError where it has ended before, PermissionError where it is another user's.
    """
    if not is_alive(host, opener):
        raise ProcessLookupError
    os.kill(opener.pid, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while is_alive(host, opener):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
    return True
