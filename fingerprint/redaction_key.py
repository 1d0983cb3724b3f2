"""The key under which private values are digested: one per user, or one shared by `redaction.key_file`.

It lies in the state folder, never in the store: a store that is handed on does not carry it.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from fingerprint.folders import state_folder
from fingerprint.settings import Settings

LEAST_BYTES = 16


class RedactionKey(NamedTuple):
    """secret: for Redactor. trouble: why the key dies with this process; empty when it stays."""

    secret: bytes
    trouble: str = ""


class _Unusable(Exception):
    """What is wrong with a key file, and the remedy."""


def redaction_key(settings: Settings, environ: Mapping[str, str]) -> RedactionKey:
    """The key in force. The user's own is made on first use; a shared one must be there."""
    try:
        if settings.redaction.key_file:
            return RedactionKey(_shared(Path(os.path.expanduser(settings.redaction.key_file))))
        return RedactionKey(_own(environ))
    except _Unusable as unusable:
        words = str(unusable)
    except OSError as error:
        words = f"redaction key {error.filename} cannot be used ({error.strerror}): check who may read and write there"
    return RedactionKey(os.urandom(32), f"{words}; until then private values compare with no other run")


def _shared(path: Path) -> bytes:
    """The owner's group may read a shared key."""
    try:
        return _read(path, at_most=0o640)
    except FileNotFoundError as error:
        raise _Unusable(f"redaction.key_file {path} does not exist: copy it from where it is shared") from error


def _own(environ: Mapping[str, str]) -> bytes:
    folder = state_folder(environ)
    if folder is None:
        raise _Unusable("no place for the redaction key: set HOME or XDG_STATE_HOME")
    path = folder / "redaction.key"
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _create(path)
    return _read(path, at_most=0o600)


def _create(path: Path) -> None:
    """Whole or not at all: of several that create it at once, one wins and all read the winner's."""
    draft = path.with_name(f"{path.name}.{os.urandom(8).hex()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, os.urandom(32).hex().encode() + b"\n")
        os.fsync(fd)
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        os.close(fd)
        os.unlink(draft)


def _read(path: Path, *, at_most: int) -> bytes:
    """The file's content without surrounding white space. at_most: what its group and others may do with it."""
    with open(path, "rb", opener=_without_waiting) as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise _Unusable(f"redaction key {path} is no regular file: copy the key there")
        mode = stat.S_IMODE(info.st_mode)
        if mode & 0o077 & ~at_most:
            raise _Unusable(f"redaction key {path} is open to others (mode {mode:o}): chmod {at_most:o} {path}")
        secret = file.read(4096).strip()
    if len(secret) < LEAST_BYTES:
        raise _Unusable(f"redaction key {path} holds fewer than {LEAST_BYTES} bytes: delete it, or copy the right one")
    return secret


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
