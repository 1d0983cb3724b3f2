"""A bare fork: a process of our own that holds nothing of the caller's but what it is given."""

import os
import signal
from collections.abc import Callable, Iterable


def fork_bare(keep: Iterable[int], body: Callable[[], None]) -> int:
    """The pid of a child that runs `body` and ends.

    It keeps the descriptors `keep`; of 0-2 those that are not kept become /dev/null and all others are
    closed, so that it never holds a stream or lock of the caller's open. No exit handler of the caller runs in it.
    """
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.set_wakeup_fd(-1)
        _shed(frozenset(keep))
        body()
    finally:
        os._exit(0)


def _shed(keep: frozenset[int]) -> None:
    null = os.open("/dev/null", os.O_RDWR)
    for stream in {0, 1, 2} - keep:
        os.dup2(null, stream)
    first = 3
    for kept in sorted(fd for fd in keep if fd > 2):
        os.closerange(first, kept)
        first = kept + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
