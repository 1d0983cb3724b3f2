"""A file system whose server never answers: FUSE, of which nobody reads the requests."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MNT_DETACH = 2
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def standing_still(folder: Path, *, ended: bool = False) -> Iterator[Path]:
    """Mounted on the folder, which is made. The test is skipped where FUSE cannot be had. ended: the server is no more,
    so that each request fails at once."""
    folder.mkdir(exist_ok=True)
    try:
        device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        pytest.skip(f"no FUSE: {error.strerror}")
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
    if _libc.mount(b"server:/models", os.fsencode(folder), b"fuse", 0, options.encode()):
        os.close(device)
        pytest.skip(f"FUSE may not be mounted: {os.strerror(ctypes.get_errno())}")
    try:
        if ended:
            os.close(device)
        yield folder
    finally:
        _libc.umount2(os.fsencode(folder), MNT_DETACH)
        if not ended:
            os.close(device)
