"""Where stores lie, and on what kind of file system."""

import os
from collections.abc import Mapping
from pathlib import Path

from fingerprint.folders import state_folder
from fingerprint.store.errors import StoreError, explained
from probes.kit.lazy import lazy_regex

# Shared between machines: the shared memory that SQLite's WAL needs reaches one kernel only
# (https://sqlite.org/wal.html, "WAL does not work over a network filesystem").
NETWORK = frozenset(
    "nfs nfs4 cifs smb3 smbfs lustre beegfs gpfs ceph afs auristorfs ncpfs 9p virtiofs glusterfs orangefs pvfs2 panfs"
    " wekafs quobyte coda gfs gfs2 ocfs2 vboxsf prl_fs vmhgfs".split()
)
# FUSE hides what is behind it; these few are known to be local.
_LOCAL_FUSE = frozenset(("fuseblk", "fuse.fuse-overlayfs", "fuse.ntfs-3g", "fuse.lxcfs", "fuse.portal"))
# Of a user without a home: opening it fails, and the sentence names the remedy.
_NOWHERE = Path("/nonexistent/fingerprint")
_OCTAL = lazy_regex(r"\\([0-7]{3})")


def default_path(environ: Mapping[str, str] = os.environ) -> Path:
    """This user's store: $FINGERPRINT_STORE, else store.db in the state folder."""
    if chosen := environ.get("FINGERPRINT_STORE"):
        return Path(os.path.expanduser(chosen))  # a service manager's variable has met no shell
    return (state_folder(environ) or _NOWHERE) / "store.db"


def service_path() -> Path:
    """The store of the host's service."""
    return Path("/var/lib/fingerprint/store.db")


def make_private(path: Path) -> None:
    """Creates folder (0700) and file (0600) where they are missing; SQLite gives its side files the file's mode.

    A link is followed, so that it may be there before what it points to.

    A file that is there is not opened: to close it would drop the locks that this process holds on it
    (https://sqlite.org/howtocorrupt.html, 2.2).
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.path.exists(target):
            os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return  # another process was first, or the folder is a file, which SQLite will say
    except OSError as error:
        raise explained(OSError(f"unable to open: {error.strerror}"), path) from error
    if not os.access(path, os.W_OK):
        raise explained(OSError("readonly"), path)


def is_missing(path: Path) -> bool:
    """Raises StoreError where nobody but another user can tell."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError as error:
        raise explained(OSError(f"unable to open: {error.strerror}"), path) from error
    return False


def check_kind(path: Path) -> None:
    """Raises StoreError for a folder or device: what SQLite says of one is about permissions or the disk."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise StoreError(f"{path} is no regular file, so no store: let FINGERPRINT_STORE name a file")


def network_of(path: Path, mountinfo: str | None = None) -> str:
    """The type of the network file system that holds `path`, empty for a local one. mountinfo: as proc(5) has it."""
    kind = _filesystem(os.path.realpath(path), _mountinfo() if mountinfo is None else mountinfo)
    shared = kind in NETWORK or (kind.startswith("fuse") and kind not in _LOCAL_FUSE)
    return kind if shared else ""


def _mountinfo() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text("utf-8", "backslashreplace")
    except OSError:
        return ""


def _filesystem(path: str, mountinfo: str) -> str:
    """The type at the longest mount point above `path`; of two on one point the later covers the earlier."""
    longest, kind = "", ""
    for line in mountinfo.splitlines():
        mount, _, source = line.partition(" - ")
        point = _OCTAL.sub(lambda m: chr(int(m.group(1), 8)), mount.split(" ")[4])
        if len(point) >= len(longest) and (path == point or path.startswith(point.rstrip("/") + "/")):
            longest, kind = point, source.split(" ")[0]
    return kind
