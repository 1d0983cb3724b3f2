"""A wall clock that a test sets, for processes that are started with it: nobody can set the host's for a test."""

import hashlib
import os
import subprocess
import time
from pathlib import Path

from tests.nvml.build import FLAGS, compiler

SOURCE = Path(__file__).with_name("set.c")


class SetClock:
    """Of all that is started with `environ`, and of their children."""

    def __init__(self, folder: Path, library: Path) -> None:
        self._file = folder / "clock"
        self.off = 0
        self.set(0)
        self.environ = {"LD_PRELOAD": str(library), "FINGERPRINT_TEST_CLOCK": str(self._file)}

    @property
    def now(self) -> float:
        """Seconds since 1970, as they see it."""
        return time.time() + self.off

    def set(self, off: int) -> None:
        """To so many seconds before or after the host's."""
        self.off = off
        fd = os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o600)
        os.pwrite(fd, off.to_bytes(8, "little", signed=True), 0)
        os.close(fd)


def library(folder: Path) -> Path:
    """The compiled clock in `folder`; what is there already is taken if it is of this very source."""
    made = folder / f"set-clock-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}.so"
    if not made.exists():
        half_made = folder / f"{made.name}.{os.getpid()}"
        subprocess.run([*compiler(), *FLAGS, str(SOURCE), "-o", str(half_made)], check=True)
        half_made.rename(made)
    return made
