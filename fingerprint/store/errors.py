"""What a store that cannot be used says: one sentence that names the file and the remedy."""

import os
from pathlib import Path

from fingerprint.trouble import Trouble


class StoreError(Trouble):
    """The store, a reference or a file to import is of no use as it is; the text says why and what to do."""


class Unusable(StoreError):
    """The file itself cannot be read or written now, or not by this release."""


class UnusableNow(Unusable):
    """It may be over without anybody mending the store: no space is left, or another process holds it."""


class Unreadable(StoreError):
    """A file to import cannot be read now; what it holds nobody knows."""


class NoStore(StoreError):
    """There is nothing to read yet: the file is missing or was never filled."""


# Parts of sqlite3_errstr(3)'s texts: Python 3.10 does not hand out the codes.
_SENTENCES = (
    ("not a database", "{path} is no SQLite database, so no store: move it, or let FINGERPRINT_STORE name another"),
    ("decompressing", "{path} is damaged: move it away (a new one is made) or put back a copy"),
    ("malformed", "{path} is damaged: move it away (a new one is made) and try `sqlite3 {path} .recover` on a copy"),
    ("is full", "no space is left for {path}: free some, or let FINGERPRINT_STORE name one on another disk"),
    ("readonly", "{path} cannot be written by this user (read-only): let FINGERPRINT_STORE name a file that can"),
    ("locked", "{path} is locked by another process: see who holds it with `fuser {path}` and try again"),
    ("unable to open", "{path} cannot be opened: check the permissions of the file and of its folder"),
    ("disk I/O", "the disk of {path} reports errors: see `dmesg`, or let FINGERPRINT_STORE name a file elsewhere"),
    ("FOREIGN KEY", "what was to be added to {path} belongs to a run that was removed meanwhile: start a new run"),
)  # fmt: skip
_PASSING = ("is full", "locked", "disk I/O")


class Damaged(Exception):
    """A row is missing, or not what was written."""


def unreadable(error: Exception, path: Path) -> Unusable:
    """The sentence for what stands in a row of the store at `path`."""
    return Unusable(f"{path} holds what this release cannot read ({error}): upgrade fingerprint, or put back a copy")


def explained(error: Exception, path: Path) -> Unusable:
    """The sentence for an error of SQLite or of the kernel about the store at `path`."""
    text = str(error)
    if "disk I/O" in text and _is_full(path):
        text = "disk is full"
    for part, sentence in _SENTENCES:
        if part.lower() in text.lower():
            return (UnusableNow if part in _PASSING else Unusable)(sentence.format(path=path))
    return Unusable(f"{path} cannot be used ({text}): let FINGERPRINT_STORE name another file")


def _is_full(path: Path) -> bool:
    """SQLite calls it an I/O error when the memory it shares beside a WAL finds no room."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < 1 << 20
