"""A question that the kernel may never answer, asked by a forked child that can be given up.

What touches a network or FUSE file system whose server is gone stands still for as long as the server is. Of the
reader that would be the end of a whole section.
"""

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from typing import TypeVar

import msgspec

from probes.kit.facts import Gap, Seen

R = TypeVar("R")

REAP_SECONDS = 0.1
_left_behind: set[int] = set()


def asked_apart(read: Callable[[], Seen[R]], kind: type[R], seconds: float) -> Seen[R]:
    """What `read` tells, a value of `kind`, or `timed_out` after so many seconds. For a process of one thread. Raises
    OSError where there can be no child."""
    _left_behind.difference_update({pid for pid in _left_behind if _reaped(pid)})
    ours, theirs = os.pipe()
    with open(ours, "rb", buffering=0) as answer:
        pid = os.fork()
        if not pid:
            _answer(theirs, read)
        os.close(theirs)
        told = _read(answer, time.monotonic() + seconds)
    _end(pid)
    if told is None:
        return Gap("timed_out", f"no answer within {seconds:g} s")
    return _decoded(told, kind)


def _read(answer: FileIO, deadline: float) -> bytes | None:
    """To its end; None where that does not come in time."""
    told = b""
    while select.select([answer], [], [], max(0, deadline - time.monotonic()))[0]:
        chunk = answer.read(1 << 16)
        if not chunk:
            return told
        told += chunk
    return None


def _answer(theirs: int, read: Callable[[], Seen[R]]) -> None:
    """Never returns. It holds no other descriptor: who is left behind keeps nobody waiting for the end of a pipe."""
    try:
        os.closerange(0, theirs)
        os.closerange(theirs + 1, os.sysconf("SC_OPEN_MAX"))
        seen = read()
        _write(theirs, msgspec.json.encode((seen, None) if isinstance(seen, Gap) else (None, seen)))
    finally:
        os._exit(0)


def _write(theirs: int, told: bytes) -> None:
    while told:
        told = told[os.write(theirs, told) :]


def _decoded(told: bytes, kind: type[R]) -> Seen[R]:
    try:
        gap, value = msgspec.json.decode(told, type=tuple[Gap | None, kind | None])  # type: ignore[valid-type]
    except msgspec.DecodeError:
        gap, value = None, None
    return value or gap or Gap("failed", "the child that was asked ended without an answer")


def _end(pid: int) -> None:
    """Killed, and waited for 0.1 s at most: in state D it is left behind, and reaped at a later question."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + REAP_SECONDS
    while not _reaped(pid):
        if time.monotonic() > deadline:
            _left_behind.add(pid)
            return
        time.sleep(0.001)


def _reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:  # somebody else did
        return True
