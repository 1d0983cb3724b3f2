"""Runs that the store did not take wait in files beside it: when it is well again each is taken in, once."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from fingerprint.runs.opener import is_alive
from fingerprint.runs.record import Opened
from fingerprint.store import Store, StoreError
from fingerprint.store.errors import Unreadable, Unusable
from fingerprint.store.foreign import read
from fingerprint.store.spill import file_name, folders
from probes.kit.host import Host

WRITER = "fingerprintd"
TOLD_SECONDS = 3600.0


class Refused(NamedTuple):
    """A file that holds no run which can be taken in. at: when it was tried, on the monotonic clock."""

    says: str
    at: float


class Spills:
    """Usable by any thread. Another's files are left alone: a run of the command line tells its user where it is."""

    def __init__(self, store: Path, host: Host, environ: Mapping[str, str] = os.environ) -> None:
        self._host = host
        self._folders = tuple(dict.fromkeys(folders(store, environ)))
        self._lock, self._taking = threading.Lock(), threading.Lock()
        self._waiting: dict[Path, None] = {}
        self._refused: dict[Path, Refused] = {}

    @property
    def troubles(self) -> list[str]:
        """What could not be taken in, for an hour, or until somebody took it away."""
        told = tuple(self._refused.items())
        return [it.says for path, it in told if time.monotonic() - it.at < TOLD_SECONDS and path.exists()]

    def ended(self, run_id: str) -> None:
        """A run of this service: is it in such a file?"""
        self._wait_for(folder / file_name(WRITER, run_id) for folder in self._folders)

    def remove(self, run_id: str) -> None:
        """Of a run that was refused: whoever asked was told that there is none."""
        with self._lock:
            gone = [path for path in self._waiting if path.name == file_name(WRITER, run_id)]
            for path in gone:
                del self._waiting[path]
                path.unlink(missing_ok=True)

    def find(self) -> None:
        """Those of services that ran before this one."""
        self._wait_for(filter(self._is_left, self._lying()))

    def take_in(self, store: Callable[[], Store]) -> None:
        """Tries what waits. A store that takes nothing is tried another time."""
        with self._taking:
            for path in self._there():
                try:
                    self._take(path, store())
                except Unusable:
                    return
                except Unreadable:
                    continue
                with self._lock:
                    self._waiting.pop(path, None)

    def _there(self) -> tuple[Path, ...]:
        with self._lock:
            self._waiting = dict.fromkeys(filter(_is_ours, self._waiting))
            return tuple(self._waiting)

    def _take(self, path: Path, store: Store) -> None:
        try:
            [*runs] = store.import_file(path).runs
            path.unlink()
        except (Unusable, Unreadable):
            raise
        except (StoreError, OSError, ValueError, TypeError) as error:
            self._set_aside(path, str(error))
        else:
            _say(f"took {', '.join(map(str, runs)) or 'nothing new'} in from {path}, which is gone")

    def _wait_for(self, paths: Iterable[Path]) -> None:
        found = dict.fromkeys(filter(_is_ours, paths))
        with self._lock:
            self._waiting.update(found)

    def _lying(self) -> Iterator[Path]:
        for folder in self._folders:
            with suppress(OSError):
                yield from filter(_is_ours, sorted(folder.glob(file_name(WRITER, "*"))))

    def _is_left(self, path: Path) -> bool:
        """Whether the service that wrote it is gone."""
        try:
            opened = read(path).runs[0].records[0]
        except Unreadable:
            return True  # perhaps it can be later
        except StoreError as error:
            self._set_aside(path, str(error))
            return False
        return isinstance(opened, Opened) and not is_alive(self._host, opened.opener)

    def _set_aside(self, path: Path, why: str) -> None:
        """Where nobody tries it again: what is broken once is so for good."""
        lies = path.with_name(f"{path.name}.broken")
        try:
            path.rename(lies)
        except OSError:
            lies = path
        says = f"a run that the store did not take cannot be taken in any more, and is left in {lies} ({why})"
        self._refused[lies] = Refused(says, time.monotonic())
        _say(says)


def _is_ours(path: Path) -> bool:
    try:
        seen = os.lstat(path)
    except OSError:
        return False
    return S_ISREG(seen.st_mode) and seen.st_uid == os.geteuid()


def _say(sentence: str) -> None:
    sys.stderr.write(f"fingerprintd: {sentence}\n")
    sys.stderr.flush()
