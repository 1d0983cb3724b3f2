"""Which files a process holds open."""

import os
import re

MOST = 65536


def opened(folder: str, pattern: str) -> tuple[str, ...]:
    """folder: /proc/PID/fd. The names that the expression matches, sorted. Raises OSError."""
    wanted = re.compile(pattern)
    return tuple(sorted({name for name in _names(folder) if wanted.match(name)}))


def _names(folder: str) -> list[str]:
    return [_name(f"{folder}/{fd}") for fd in os.listdir(folder)[:MOST]]


def _name(path: str) -> str:
    try:
        return os.readlink(os.fsencode(path)).decode("utf-8", "backslashreplace")
    except FileNotFoundError:  # closed meanwhile
        return ""
