"""Paths as a process sees them, resolved through the Host and never through this process's own folders."""

import posixpath
from typing import Protocol

from probes.kit.facts import Gap, Seen, no_answer, seen_or, then
from probes.kit.host import Host

_LINKS = 40  # Linux gives up beyond 40 (MAXSYMLINKS, include/linux/namei.h)


def absolute(path: str, cwd: str) -> str:
    return posixpath.normpath(posixpath.join(cwd, path))


def folder_of(path: str) -> str:
    return posixpath.dirname(path)


def is_file(host: Host, path: str) -> bool:
    """Whether a regular file is seen there, links followed."""
    info = host.stat(path)
    return not isinstance(info, Gap) and info.is_regular


def link_of(host: Host, pid: int, name: str) -> Seen[str]:
    """Where /proc/PID/NAME leads, as the process itself calls it. name: `exe`, `cwd`."""
    return then(host.link(f"/proc/{pid}/{name}"), lambda path: inside(path, root_of(host, pid)))


def root_of(host: Host, pid: int) -> str:
    """Of a process in a chroot; empty for one that has the whole."""
    return seen_or(host.link(f"/proc/{pid}/root"), "").rstrip("/")


def inside(path: str, root: str) -> str:
    """The kernel tells paths from our root, where a chroot of a process lies beneath ours."""
    return path[len(root) :] or "/" if root and f"{path}/".startswith(f"{root}/") else path


class Links(Protocol):
    """Whoever can be asked where a link leads: a Host."""

    def link(self, path: str) -> Seen[str]: ...


def real(host: Links, path: str) -> Seen[str]:
    """The path with every symbolic link resolved. `failed` for a loop, `timed_out` behind what does not answer."""
    done, left, links = "", [part for part in path.split("/") if part], 0
    while left:
        part = left.pop(0)
        if part in (".", ".."):
            done = posixpath.dirname(done) if part == ".." else done
            continue
        target = host.link(f"{done}/{part}")
        if isinstance(target, Gap):
            if target.code == "timed_out":
                return target
            done = f"{done}/{part}"
            continue
        links += 1
        if links > _LINKS:
            return Gap("failed", f"{path} is a loop of symbolic links")
        done = "" if target.startswith("/") else done
        left[:0] = [step for step in target.split("/") if step]
    return done or "/"


def found(host: Host, name: str, search: str, cwd: str) -> Seen[str]:
    """Where execvp(3) finds the program `name`: as it is when it holds a slash, else in the folders of `search`."""
    if "/" in name:
        return absolute(name, cwd)
    candidates = (absolute(f"{folder or '.'}/{name}", cwd) for folder in search.split(":"))
    for path in candidates:
        info = host.stat(path)
        if silent := no_answer(info):
            return silent
        if not isinstance(info, Gap) and info.is_regular and info.mode & 0o111:
            return path
    return Gap("absent", f"no {name} in PATH")
