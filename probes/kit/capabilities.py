"""The capabilities of this thread (capabilities(7)), and doing without some of them for a while."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from probes.kit.parse import fields

# Bits of include/uapi/linux/capability.h.
DAC_OVERRIDE, DAC_READ_SEARCH, SETGID, SETUID = 1 << 1, 1 << 2, 1 << 6, 1 << 7
OF_FILES = DAC_OVERRIDE | DAC_READ_SEARCH
"""With either, permissions keep nobody from reading."""
TO_SWITCH = SETGID | SETUID
_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3
_WORDS = 6  # effective, permitted and inheritable: of the lower 32 capabilities, then of the others


def effective() -> int:
    """0 where /proc does not tell."""
    try:
        with open("/proc/thread-self/status", encoding="utf-8", errors="replace") as file:
            return int(fields(file.read())["CapEff"], 16)
    except (OSError, KeyError):
        return 0


@contextmanager
def without(some: int) -> Iterator[None]:
    """some: of the lower 32. They stay permitted, and come back. Raises OSError."""
    import ctypes  # only who is not root and has some of its rights needs it

    sets = (ctypes.c_uint32 * _WORDS)()
    _call("capget", sets)
    before = sets[0]
    sets[0] = before & ~some
    _call("capset", sets)
    try:
        yield
    finally:
        sets[0] = before
        _call("capset", sets)


def _call(name: str, sets: Any) -> None:
    import ctypes

    header = (ctypes.c_uint32 * 2)(_VERSION)  # and 0: this thread
    if getattr(ctypes.CDLL(None, use_errno=True), name)(header, sets) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
