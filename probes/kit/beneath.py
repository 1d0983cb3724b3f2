"""Where a path of another machine's tree lies here, its symbolic links kept inside the tree."""

import errno
import os

MOST_LINKS = 40  # as the kernel's MAXSYMLINKS


def beneath(root: str, path: str) -> str:
    """`path` below `root`, with every folder's links resolved as a chroot to `root` would: an absolute link
    starts again at `root`, and `..` does not lead above it. The last name is not followed, `followed` does that.

    Raises OSError (ELOOP).
    """
    folders, _, name = path.rstrip("/").rpartition("/")
    return f"{_resolved(root, folders, MOST_LINKS)}/{name}"


def followed(root: str, path: str) -> str:
    """As `beneath`, and the last name too. Raises OSError (ELOOP)."""
    return _resolved(root, path, MOST_LINKS)


def _resolved(root: str, path: str, links: int) -> str:
    here = ""
    names = [name for name in reversed(path.split("/")) if name not in ("", ".")]
    while names:
        name = names.pop()
        if name == "..":
            here = here.rpartition("/")[0]
            continue
        try:
            target = os.readlink(f"{root}{here}/{name}")
        except OSError:  # no link, or nothing there: the read that follows will tell
            here = f"{here}/{name}"
            continue
        links -= 1
        if links < 0:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        here = "" if target.startswith("/") else here
        names += [part for part in reversed(target.split("/")) if part not in ("", ".")]
    return root + here
