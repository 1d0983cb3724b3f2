"""One key per user, made once and whole; a key that cannot be trusted is replaced for this process, and said so."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fingerprint.redaction_key import redaction_key
from fingerprint.settings import Redaction, Settings


def shared(path: Path) -> Settings:
    return Settings(redaction=Redaction(key_file=str(path)))


def test_the_key_is_made_on_first_use_for_its_owner_alone_and_then_stays(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    first = redaction_key(Settings(), environ)
    file = tmp_path / "fingerprint/redaction.key"
    assert first.trouble == ""
    assert len(first.secret) == 64
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert redaction_key(Settings(), environ) == first
    assert [path.name for path in file.parent.iterdir()] == ["redaction.key"]


def test_those_who_make_it_at_once_get_the_same_key(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: redaction_key(Settings(), environ), range(16)))
    assert len(keys) == 1


def test_a_key_open_to_others_is_not_used(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    first = redaction_key(Settings(), environ)
    file = tmp_path / "fingerprint/redaction.key"
    file.chmod(0o644)
    other = redaction_key(Settings(), environ)
    assert f"{file} is open to others (mode 644): chmod 600 {file}" in other.trouble
    assert other.secret != first.secret


def test_a_shared_key_may_be_read_by_its_group(tmp_path: Path) -> None:
    file = tmp_path / "team.key"
    file.write_bytes(b"0123456789abcdef0123456789abcdef\n")
    file.chmod(0o640)
    assert redaction_key(shared(file), {}) == (b"0123456789abcdef0123456789abcdef", "")
    file.chmod(0o660)
    assert f"is open to others (mode 660): chmod 640 {file}; until then" in redaction_key(shared(file), {}).trouble


def test_a_shared_key_that_is_missing_or_short_is_told_and_never_made(tmp_path: Path) -> None:
    file = tmp_path / "team.key"
    assert f"{file} does not exist" in redaction_key(shared(file), {}).trouble
    assert not file.exists()
    file.write_bytes(b"short")
    file.chmod(0o600)
    assert "fewer than 16 bytes" in redaction_key(shared(file), {}).trouble


def test_without_a_place_for_it_the_key_lives_as_long_as_the_process(tmp_path: Path, unknown_user: None) -> None:
    first, second = redaction_key(Settings(), {}), redaction_key(Settings(), {})
    assert "set HOME or XDG_STATE_HOME" in first.trouble
    assert first.secret != second.secret
    (tmp_path / "file").touch()
    blocked = redaction_key(Settings(), {"XDG_STATE_HOME": str(tmp_path / "file")})
    assert "Not a directory" in blocked.trouble


def test_a_key_that_is_no_file_is_told_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "team.key", 0o600)
    assert "team.key is no regular file" in redaction_key(shared(tmp_path / "team.key"), {}).trouble
    assert "Is a directory" in redaction_key(shared(tmp_path), {}).trouble


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_key_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    file = tmp_path / "team.key"
    file.touch(0o000)
    assert "Permission denied" in redaction_key(shared(file), {}).trouble
