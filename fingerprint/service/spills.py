"""Runs that the store did not take wait in files beside it: when it is well again each is taken in, once."""

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

from fingerprint.runs.opener import is_alive
from fingerprint.runs.record import Opened
from fingerprint.store import Store, StoreError
from fingerprint.store.errors import Unusable
from fingerprint.store.foreign import read
from fingerprint.store.spill import folders
from probes.kit.host import Host


class Spills:
    """Usable by any thread. Another's files are left alone: a run of the command line tells its user where it is."""

    def __init__(self, store: Path, host: Host, environ: Mapping[str, str] = os.environ) -> None:
        self._host = host
        self._folders = tuple(dict.fromkeys(folders(store, environ)))
        self._lock = threading.Lock()
        self._waiting: dict[Path, None] = {}
        self._broken: dict[Path, str] = {}

    @property
    def troubles(self) -> list[str]:
        """What cannot be taken in, for as long as it lies there."""
        return [f"{path} is left as it is: {why}" for path, why in tuple(self._broken.items()) if path.exists()]

    def ended(self, run_id: str) -> None:
        """A run of this service: is it in such a file?"""
        self._wait_for(folder / f"fingerprint-{run_id}.jsonl" for folder in self._folders)

    def forget(self, run_id: str) -> None:
        """Of a run that was refused: its file is left to whoever was told of it."""
        with self._lock:
            self._waiting = {path: None for path in self._waiting if run_id not in path.name}

    def find(self) -> None:
        """Those of services that ran before this one."""
        self._wait_for(filter(self._is_left, self._lying()))

    def take_in(self, store: Callable[[], Store]) -> None:
        """Tries what waits. A store that takes nothing is tried another time."""
        with self._lock:
            waiting = tuple(self._waiting)
        for path in waiting:
            try:
                [*runs] = store().import_file(path).runs
                path.unlink()
            except Unusable:
                return
            except (StoreError, OSError) as error:
                self._leave(path, str(error))
            else:
                _say(f"took {', '.join(map(str, runs)) or 'nothing new'} in from {path}, which is gone")
            with self._lock:
                self._waiting.pop(path, None)

    def _wait_for(self, paths: Iterable[Path]) -> None:
        found = dict.fromkeys(filter(_is_ours, paths))
        with self._lock:
            self._waiting.update(found)

    def _lying(self) -> Iterator[Path]:
        for folder in self._folders:
            with suppress(OSError):
                yield from filter(_is_ours, sorted(folder.glob("fingerprint-*.jsonl")))

    def _is_left(self, path: Path) -> bool:
        """Whether a service wrote it, which is gone."""
        try:
            opened = read(path).runs[0].records[0]
        except StoreError as error:
            self._leave(path, str(error))
            return False
        return isinstance(opened, Opened) and opened.service and not is_alive(self._host, opened.opener)

    def _leave(self, path: Path, why: str) -> None:
        self._broken[path] = why
        _say(f"{path} is left as it is: {why}")


def _is_ours(path: Path) -> bool:
    try:
        seen = os.lstat(path)
    except OSError:
        return False
    return S_ISREG(seen.st_mode) and seen.st_uid == os.geteuid()


def _say(sentence: str) -> None:
    sys.stderr.write(f"fingerprintd: {sentence}\n")
    sys.stderr.flush()
