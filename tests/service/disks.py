"""A small disk of a test's own."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A tmpfs of this size at the folder, which is made; the test is skipped where none may be mounted."""
    if os.geteuid():
        pytest.skip("mounting a small tmpfs needs root")
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this root may not mount a tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


class Filler:
    """A file that takes all the room that is left, and gives it back."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "filler"

    def fill(self) -> None:
        with self._path.open("ab", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                self._fill_by(file.fileno(), size)

    def _fill_by(self, fd: int, size: int) -> None:
        try:
            while True:
                os.write(fd, b"x" * size)
        except OSError:
            return

    def give_back(self) -> None:
        self._path.unlink()
