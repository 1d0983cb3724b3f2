"""A folder for as long as a process lives; what killed ones left of theirs is cleared away."""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from stat import S_ISDIR

PREFIX, HELD = "fingerprintd-", "held"
LONGEST, NAMES = 107, len("/fingerprintd-12345678/reader.sock")
"""Bytes of a socket's path, and those of ours below the folder of temporary ones."""
SHORT = "/tmp"  # noqa: S108  # what is made in it is this user's alone


class OwnFolder:
    """path: of the folder, which is this user's alone. A file in it is locked until `close`, or until the end of the
    process however it comes."""

    def __init__(self) -> None:
        above = _above()
        for left in sorted(Path(above).glob(f"{PREFIX}*")):
            if _is_left(left):
                shutil.rmtree(left, ignore_errors=True)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=above))
        made = self.path / "made"
        self._lock = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        made.rename(self.path / HELD)  # whoever finds it by this name finds it locked

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _above() -> str:
    """The folder of temporary ones, unless no socket can be listened on that far down."""
    usual = tempfile.gettempdir()
    return usual if len(os.fsencode(usual)) + NAMES <= LONGEST else SHORT


def _is_left(folder: Path) -> bool:
    """Whether it is this user's, and nobody holds it."""
    try:
        seen = os.lstat(folder)
        if not S_ISDIR(seen.st_mode) or seen.st_uid != os.geteuid():
            return False
        held = os.open(folder / HELD, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(held)
    return True
