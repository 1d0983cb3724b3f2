"""A file without a name, with and without memfd_create(2)."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from probes.kit.unnamed import unnamed_file


def refused(what: str) -> int:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


@pytest.mark.parametrize("there", [os.memfd_create, refused, None])
def test_it_keeps_what_is_written_and_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: Callable[[str], int] | None
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if there is None:
        monkeypatch.delattr(os, "memfd_create")
    else:
        monkeypatch.setattr(os, "memfd_create", there)
    fd = unnamed_file("answers")
    try:
        os.write(fd, b"told")
        assert (os.pread(fd, 9, 0), os.get_inheritable(fd)) == (b"told", False)
    finally:
        os.close(fd)
    assert list(tmp_path.iterdir()) == []
