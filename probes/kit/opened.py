"""Which files a process holds open."""

import os
import re

MOST = 65536


def opened(folder: str, pattern: str) -> dict[str, int]:
    """folder: /proc/PID/fd. What is open under a name that the expression matches, and how often. Raises OSError."""
    wanted = re.compile(pattern)
    found: dict[str, int] = {}
    for fd in os.listdir(folder)[:MOST]:
        try:
            name = os.readlink(f"{folder}/{fd}")
        except FileNotFoundError:  # closed meanwhile
            continue
        if wanted.match(name):
            found[name] = found.get(name, 0) + 1
    return found
