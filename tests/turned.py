"""Settings of this machine's kernel, turned for a while, one test at a time.

Tests run side by side. Whoever turns a setting holds the lock alone; whoever compares two readings of the
machine shares it, so that no other test's turning shows up as a change.
"""

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from probes.kit.parse import selected

LOCK = Path(tempfile.gettempdir()) / "fingerprint-tests-kernel-settings.lock"


@contextmanager
def turning() -> Iterator[None]:
    """While this lasts nobody else turns or compares settings."""
    with LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def standing() -> Iterator[None]:
    """While this lasts nobody turns a setting."""
    with LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


@contextmanager
def turned(path: str, value: str) -> Iterator[None]:
    """One setting at `value`, then as it was."""
    kept = setting(path)
    try:
        Path(path).write_text(value)
        yield
    finally:
        Path(path).write_text(kept)


@contextmanager
def kept(*paths: str) -> Iterator[None]:
    """Settings of which the kernel zeroes one when another is written (dirty_bytes, dirty_ratio), then as they were.

    Zeros first, since writing one may zero its counterpart, or be refused.
    """
    before = {path: setting(path) for path in paths}
    try:
        yield
    finally:
        for path, value in sorted(before.items(), key=lambda pair: pair[1] != "0"):
            with suppress(OSError):
                Path(path).write_text(value)
        assert {path: setting(path) for path in paths} == before


def setting(path: str) -> str:
    """What a file holds in the form in which it is written: of a choice the word in force."""
    text = Path(path).read_text().strip()
    return selected(text) if "[" in text else text
