"""Files that somebody else wrote, as text: bounded, whatever they hold."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from fingerprint.gzipped import MAGIC, inflated
from probes.kit.lazy import lazy_regex

FILE_CAP = 32 << 20
"""Bytes that are read of one file, and that a compressed one may hold. A bug report of eight GPUs has some 5 MB."""
FOLDER_CAP = 256 << 20
MOST_FILES, DEEPEST = 2000, 8
_ANSI = lazy_regex(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]{0,300}(?:\x07|\x1b\\)|[()][A-Za-z0-9]|[=>])")
_PACKED = (
    (257, b"ustar", "an archive of tar: name the folder that it is unpacked to"),
    (0, b"PK\x03\x04", "an archive of zip: name the folder that it is unpacked to"),
    (0, b"7z\xbc\xaf\x27\x1c", "an archive of 7-Zip: name the folder that it is unpacked to"),
    (0, b"\xfd7zXZ\x00", "packed by xz: unpack it first (xz -d)"),
    (0, b"BZh", "packed by bzip2: unpack it first (bzip2 -d)"),
    (0, b"\x28\xb5\x2f\xfd", "packed by zstd: unpack it first (zstd -d)"),
)
"""Where it stands, what stands there, and why nothing is read of such a file."""
_BINARY = lazy_regex(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class Content(NamedTuple):
    """text: without colours, lines ended by a newline. modified: ns since 1970. says: what was not read of it, or why
    nothing was."""

    text: str
    modified: int
    says: str = ""


def content(path: Path) -> Content:
    """Raises OSError; ValueError, in one sentence, for what is no text."""
    with open(path, "rb", opener=_without_waiting) as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("no regular file")
        return from_stream(file, about.st_mtime_ns)


def beginning(path: Path, size: int) -> bytes | None:
    """None of what cannot be read."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            return file.read(size) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except IsADirectoryError:
        return b"/"
    except (OSError, ValueError):
        return None


def from_stream(stream: BinaryIO, modified: int) -> Content:
    data = stream.read(FILE_CAP + 1)
    if data.startswith(MAGIC):
        data = _unpacked(data)
    says = f"only its first {FILE_CAP >> 10} KiB were read" if len(data) > FILE_CAP else ""
    return Content(plain(decoded(data[:FILE_CAP])), modified, says)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _unpacked(data: bytes) -> bytes:
    """To above the cap; of a file that is cut off what there is."""
    whole = bytearray()
    try:
        for part in inflated((data,), FILE_CAP):
            whole += part
            if len(whole) > FILE_CAP:
                break
    except EOFError:
        pass
    except ValueError as error:
        raise ValueError(f"a damaged gzip file ({error})") from None
    return bytes(whole)


def decoded(data: bytes) -> str:
    """UTF-8, or UTF-16 where its mark stands first, as PowerShell writes what is redirected."""
    if packed := next((says for at, magic, says in _PACKED if data.startswith(magic, at)), ""):
        raise ValueError(packed)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "backslashreplace")
    if len(_BINARY.findall(text[:8192])) > len(text[:8192]) // 100:
        raise ValueError("no text")
    return text


def plain(text: str) -> str:
    return _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")


class Walk(NamedTuple):
    """paths: the files below a folder, sorted. says: why there may be more."""

    paths: tuple[Path, ...]
    says: str = ""


def walked(folder: Path) -> Walk:
    """Links are not followed. Raises OSError where the folder itself cannot be read."""
    os.scandir(folder).close()
    found: list[Path] = []
    size = 0
    for path, bytes_ in _below(folder):
        size += min(bytes_, FILE_CAP)
        if len(found) == MOST_FILES or size > FOLDER_CAP:
            return Walk(
                tuple(found), f"of {folder} the first {len(found)} files were read: name a folder below it for the rest"
            )
        found.append(path)
    return Walk(tuple(found))


def _below(folder: Path) -> Iterator[tuple[Path, int]]:
    for root, folders, files in os.walk(folder):
        at_end = len(Path(root).relative_to(folder).parts) >= DEEPEST
        folders[:] = [] if at_end else sorted(folders)
        for name in sorted(files):
            path = Path(root, name)
            about = path.lstat()
            if stat.S_ISREG(about.st_mode):
                yield path, about.st_size
