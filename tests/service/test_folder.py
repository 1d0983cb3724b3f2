"""A killed fingerprintd leaves a folder, which the next one clears away; no other's."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fingerprint.service.folder import OwnFolder
from tests.waiting import until


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Not far down, where no socket could be listened on."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(folder)


def test_the_folder_of_a_killed_process_is_cleared_away_and_that_of_a_living_one_is_not(temporary: Path) -> None:
    code = "import time; from fingerprint.service.folder import OwnFolder; kept = OwnFolder(); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code]) as other:
        [left] = until(lambda: [held.parent for held in temporary.glob("*/held")])
        mine = OwnFolder()
        assert left.exists()
        other.send_signal(signal.SIGKILL)
        other.wait()
    (left / "reader.sock").touch()
    another = OwnFolder()
    assert sorted(temporary.iterdir()) == sorted((mine.path, another.path))
    mine.close()
    another.close()
    assert list(temporary.iterdir()) == []


def test_what_only_looks_like_one_is_left_alone(temporary: Path) -> None:
    (temporary / "elsewhere").mkdir()
    (temporary / "elsewhere/held").touch()
    (temporary / "fingerprintd-link").symlink_to(temporary / "elsewhere")
    (temporary / "fingerprintd-new").mkdir()
    (temporary / "fingerprintd-file").touch()
    if os.geteuid() == 0:
        (temporary / "fingerprintd-of-another").mkdir()
        (temporary / "fingerprintd-of-another/held").touch()
        os.chown(temporary / "fingerprintd-of-another", 65534, 65534)
    before = sorted(temporary.rglob("*"))
    OwnFolder().close()
    assert sorted(temporary.rglob("*")) == before


def test_a_socket_can_be_listened_on_in_it_however_far_down_temporary_files_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("deep" * 20)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    mine = OwnFolder()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(mine.path / "reader.sock"))
    mine.close()
    assert not mine.path.exists()
