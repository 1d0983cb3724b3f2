"""Where a run's records go when its store cannot take them: JSON lines, in the first folder that has room."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from fingerprint.store.bundle import RECORDS, Head, Line

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Line).decode


def folders(store: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Where a spill file may lie, best first. tempfile.gettempdir would raise where it can write nowhere."""
    yield store.parent
    for variable in ("XDG_RUNTIME_DIR", "TMPDIR"):
        if chosen := environ.get(variable):
            yield Path(chosen)
    yield Path("/tmp")  # noqa: S108  # the file is made with O_EXCL and for its owner alone
    yield Path("/var/tmp")  # noqa: S108
    with suppress(OSError):  # a working directory may be removed
        yield Path.cwd()


def file_name(writer: str, run_id: str) -> str:
    return f"{writer}-{run_id}.jsonl"


class Spill:
    """path: the file, None as long as no folder took it. lost: lines that found no room anywhere."""

    def __init__(self, run_id: str, places: Iterable[Path], writer: str) -> None:
        self.path: Path | None = None
        self.lost = 0
        self._run_id = run_id
        self._name = file_name(writer, run_id)
        self._places = iter(places)
        self._fd = -1

    def write(self, line: Line, *, durable: bool = False) -> None:
        """Adds one line. Raises ValueError, TypeError or RecursionError for what would not load again, nothing else."""
        text = _encode(line) + b"\n"
        _decode(text)
        while self._fd >= 0 or self._move_on():
            if self._wrote(text, durable):
                return
        self.lost += 1

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _wrote(self, text: bytes, durable: bool) -> bool:
        try:
            _write(self._fd, text)
            if durable:
                os.fsync(self._fd)
        except OSError:
            self.close()
            return False
        return True

    def _move_on(self) -> bool:
        """Takes what was written so far to the next folder that has room for it."""
        so_far = self._whole_lines()
        for folder in self._places:
            path = folder / self._name
            if self._begin(path, so_far):
                if self.path is not None:
                    self.path.unlink(missing_ok=True)
                self.path = path
                return True
        return False

    def _begin(self, path: Path, so_far: bytes) -> bool:
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        try:
            _write(self._fd, so_far)
        except OSError:
            self.close()
            path.unlink(missing_ok=True)
            return False
        return True

    def _whole_lines(self) -> bytes:
        """What the last folder took, without a line that its full disk cut."""
        if self.path is None:
            return _encode(Head(RECORDS, self._run_id)) + b"\n"
        data = self.path.read_bytes()
        return data[: data.rfind(b"\n") + 1]


def _write(fd: int, data: bytes) -> None:
    """A disk that fills up takes a part first, and refuses the rest."""
    while data:
        data = data[os.write(fd, data) :]
