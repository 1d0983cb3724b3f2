"""What RECORD says of a distribution's files (PEP 376, PEP 627), and which of them are others now.

Installers write RECORD last. A file of the recorded size that is not newer than RECORD, and whose inode was not changed
since then, is taken to be as it was installed; any other is read. So an edit is found whose time was set back (touch
-r): that changes the inode's own time, which nobody can set. What changes the inodes of a whole environment at once, as
a copy, an image's layer or chown do, changes RECORD's too; of a file that has more names than one (uv's links into its
cache) each further link changes it, and it is taken by its time alone.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Literal, NamedTuple

from probes.kit.answers import Stat
from probes.kit.facts import Gap, Seen, no_answer, seen_or, then
from probes.kit.host import Host
from probes.libraries.added import Held, added, held
from probes.libraries.sections import Modified

CAP = 64 << 20  # bytes; that of torch has 1.5 MB
MOST_BYTES = 256 << 20  # of newer files, in one reading of an environment
MOST_NAMES = 8
SWEEP = 300 * 10**9  # ns that an environment may take to be copied, or to be given to another owner
_SHA256 = "sha256="
_REGULAR, _TYPE = 0o100000, 0o170000
# What only people and compilers read; a torch has 8,000 headers.
_NOT_RUN = (
    ".h", ".hpp", ".hh", ".pyi", ".pxd", ".pyx", ".md", ".rst", ".txt", ".html", ".cmake", ".a", ".f90", ".typed",
    ".png", ".svg",
)  # fmt: skip


Rows = Literal["none", "of what runs", "all"]


class Row(NamedTuple):
    """path: below the site folder. checksum: `sha256=` and the digest, urlsafe base64. size: in bytes."""

    path: str
    checksum: str
    size: int


class Record(NamedTuple):
    """written, settled: when, and until when the inodes of its files may have changed with it, in ns since 1970. rows:
    of the files to look at, sorted by path. held: what may lie there."""

    digest: str
    written: int
    settled: int
    rows: tuple[Row, ...]
    held: Held = {}

    def is_before(self, info: Stat) -> bool:
        """Whether a file may have become another one since."""
        return info.mtime_ns > self.written or (info.ctime_ns > self.settled and info.links == 1)


def record(host: Host, place: str, rows: Rows) -> Seen[Record]:
    """Read once, for as long as it is the same file."""
    return then(host.stat(place), lambda info: _record(host, place, info, rows))


@lru_cache(maxsize=2048)
def _record(host: Host, place: str, info: Stat, rows: Rows) -> Seen[Record]:
    return then(host.text(place, CAP), lambda text: _parsed(text, info, rows))


def _parsed(text: str, info: Stat, rows: Rows) -> Record:
    lines = lines_of(text)
    settled = info.ctime_ns + SWEEP
    if rows == "none":
        return Record(digest_of(lines), info.mtime_ns, settled, ())
    wanted = tuple(_rows(lines, whole=rows == "all"))
    return Record(digest_of(lines), info.mtime_ns, settled, wanted, held([*map(_path, text.splitlines())]))


def lines_of(text: str) -> list[str]:
    """Those of files that came in the wheel, sorted: equal for every installer and environment.

    Left out are scripts, whose first line names the environment; what the installer adds; and what has no hash, as
    compiled files and RECORD itself.
    """
    lines = [
        line for line in text.splitlines() if line[-2:] != ",," and ".dist-info/" not in line and "../" not in line
    ]
    lines.sort()
    return lines


def digest_of(lines: Sequence[str]) -> str:
    return sha256("\n".join(lines).encode()).hexdigest()[:20]


def _rows(lines: Sequence[str], *, whole: bool) -> Iterator[Row]:
    """Of files that can run, or of all. Raises ValueError for a line that is none."""
    for line in lines:
        _, checksum, size = line.rsplit(",", 2)
        path = _path(line)
        if whole or not path.endswith(_NOT_RUN):
            yield Row(path, checksum, int(size))


def _path(line: str) -> str:
    path = line.rsplit(",", 2)[0]
    return path[1:-1].replace('""', '"') if path[:1] == '"' else path


class Checker:
    """Holds files against RECORD. Folders are listed once, and newer files read up to MOST_BYTES, in one reading."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._folders: dict[str, Mapping[str, Stat]] = {}
        self._left = MOST_BYTES

    def modified(self, site: str, told: Record) -> Modified:
        """site: the folder that paths are relative to."""
        differing: dict[str, str] = {}
        newer: list[tuple[int, Row]] = []
        for row in self._unlike(site, told):
            info = self._host.stat(f"{site}/{row.path}")
            if silent := no_answer(info):
                return Modified(digest=silent, count=silent, files=silent, unsettled=silent)
            if isinstance(info, Gap):
                differing[row.path] = "gone"
            elif info.size != row.size:
                differing[row.path] = self._content(f"{site}/{row.path}", info.size) or f"{info.size} bytes"
            elif told.is_before(info):
                newer.append((info.size, row))
        differing.update(self._added(site, told.held))
        unsettled = sum(not self._settled(site, row, size, differing) for size, row in sorted(newer))
        names = sorted(differing)
        digest = digest_of([f"{name} {differing[name]}" for name in names]) if names else "clean"
        return Modified(digest=digest, count=len(names), files=tuple(names[:MOST_NAMES]), unsettled=unsettled)

    def _added(self, site: str, known: Held) -> Iterator[tuple[str, str]]:
        for folder, names in known.items():
            for name, info in added(names, self._listing(f"{site}/{folder}")):
                path = f"{folder}/{name}"
                yield path, self._content(f"{site}/{path}", info.size) or f"{info.size} bytes"

    def _unlike(self, site: str, told: Record) -> Iterator[Row]:
        """Those that are no regular file of the recorded size that is as RECORD left it: of 10,000 mostly none."""
        last, listed = "/", self._listing(site)
        for row in told.rows:
            folder, _, name = row[0].rpartition("/")
            if folder != last:  # rows are sorted
                last, listed = folder, self._listing(f"{site}/{folder}")
            info = listed.get(name)
            if info is None or info.size != row[2] or info.mode & _TYPE != _REGULAR or told.is_before(info):
                yield row

    def _settled(self, site: str, row: Row, size: int, differing: dict[str, str]) -> bool:
        if not row.checksum.startswith(_SHA256):
            return False
        content = self._content(f"{site}/{row.path}", size)
        if content not in (None, row.checksum.rstrip("=")):
            differing[row.path] = str(content)
        return content is not None

    def _content(self, path: str, size: int) -> str | None:
        """As RECORD writes it. None beyond what may be read, and where it cannot be."""
        if size > self._left:
            return None
        self._left -= size
        seen = self._host.sha256(path)
        return None if isinstance(seen, Gap) else _SHA256 + urlsafe_b64encode(bytes.fromhex(seen)).decode().rstrip("=")

    def _listing(self, folder: str) -> Mapping[str, Stat]:
        if folder not in self._folders:
            self._folders[folder] = seen_or(self._host.stats(folder), {})
        return self._folders[folder]
