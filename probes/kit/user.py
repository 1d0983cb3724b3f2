"""Files opened with the rights of the user whose process names them.

Where links lead is decided by whoever may write a folder. Root that followed them would tell, as somebody's model
configuration, what only root may read. With that user's ids the kernel refuses us what it refuses him. That holds of
a root of the process's own as well: a user namespace gives anybody one that holds all of ours. And it holds of whoever
has been given root's right to read (CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE): where he may not become that user he puts
the right aside, and reads as himself.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import NamedTuple, TypeVar

from probes.kit.answers import OWNERS_ALONE
from probes.kit.beneath import followed
from probes.kit.capabilities import OF_FILES, TO_SWITCH, effective, without
from probes.kit.facts import Gap, Seen, seen_or, then
from probes.kit.host import Host, Place
from probes.kit.parse import fields

R = TypeVar("R")

WHOSE = "whose process names it"
READ_WITH = ("hashlib", "probes.kit.elf", "probes.kit.mentioned", "probes.kit.residency")
"""What a Host imports when it first reads such a file. Our own interpreter may lie where the user may not read."""
_FILE_SYSTEM = 3  # of real, effective, saved and file system ids (proc_pid_status(5))


class User(NamedTuple):
    """By whose ids the kernel decides what a process may open."""

    uid: int
    gid: int
    groups: tuple[int, ...]


def as_its_user(host: Host, pid: int, files: Host) -> Host:
    """`files` as they are, unless we may read what others may not, and the process is not root's. files: of the
    process, as we see them."""
    if host.root or not (_may_switch() or effective() & OF_FILES):
        return files
    user = seen_or(then(host.text(f"/proc/{pid}/status"), lambda text: _user(fields(text))), None)
    if user is None or user.uid == 0:
        return files
    for name in READ_WITH:
        import_module(name)
    return AsUser(files, user)


def _user(status: Mapping[str, str]) -> User:
    uid, gid = (int(status[name].split()[_FILE_SYSTEM]) for name in ("Uid", "Gid"))
    return User(uid, gid, tuple(map(int, status.get("Groups", "").split())))


class AsUser(Host):
    """`outer`, as far as the user may read it. A recording holds each question as one of `outer`."""

    def __init__(self, outer: Host, user: User) -> None:
        super().__init__(outer.root or "/", outer.redactor, outer.options, deep=outer.deep)
        self._digests, self._told = outer._digests, outer._told
        self._outer = outer
        self._user = user

    def __eq__(self, other: object) -> bool:
        """What was read once is found again: each reading asks for its host anew."""
        return isinstance(other, AsUser) and (other._outer, other._user) == (self._outer, self._user)

    def __hash__(self) -> int:
        return hash((self._outer, self._user))

    def within(self, pid: int) -> Host:
        return self._outer.within(pid)

    def _ask(self, call: str, key: str, live: Callable[[], Seen[R]]) -> Seen[R]:
        return self._outer._ask(call, key, live)

    def _try(
        self,
        path: str,
        read: Callable[[str], Seen[R]],
        place: Place = followed,
    ) -> Seen[R]:
        try:
            with nullcontext() if self.root else _acting_as(self._user):
                seen = super()._try(path, read, place)
        except OSError:  # an id that our user namespace lacks, or no right to take it
            return self._refused("nobody may read as user {} here")
        if not isinstance(seen, Gap) or seen.code != "denied" or seen.detail == OWNERS_ALONE.detail:
            return seen
        return self._refused("user {} may not read it" if _may_switch() else "nobody may read as user {} here")

    def _refused(self, why: str) -> Gap:
        return Gap("denied", f"{why.format(self._user.uid)}, {WHOSE}")

    def _placed(self, path: str, read: Callable[[str], Seen[R]], place: Place) -> Seen[R]:
        """The root is opened with our own rights: a process that is not dumpable (prctl(2)) shows it to nobody else."""
        root = os.open(self.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with _acting_as(self._user), place(f"/proc/self/fd/{root}", path) as there:
                return read(there)
        finally:
            os.close(root)

    def _missing(self, gap: Gap) -> Gap:
        return self._outer._missing(gap)


@contextmanager
def _acting_as(user: User) -> Iterator[None]:
    """The effective ids, and with them those of the file system, are the user's. Root's capabilities are gone with his
    id and come back with it; of others those to read files are put aside (credentials(7), capabilities(7)). For a
    process of one thread."""
    with nullcontext() if os.geteuid() == 0 else without(OF_FILES), _of(user) if _may_switch() else nullcontext():
        yield


def _may_switch() -> bool:
    return os.geteuid() == 0 or effective() & TO_SWITCH == TO_SWITCH


@contextmanager
def _of(user: User) -> Iterator[None]:
    """With root's id goes the right to take another's groups: it goes last and comes back first."""
    uid, gid, groups = os.geteuid(), os.getegid(), os.getgroups()
    try:
        os.setgroups(user.groups)
        os.setegid(user.gid)
        os.seteuid(user.uid)
        yield
    finally:
        os.seteuid(uid)
        os.setegid(gid)
        os.setgroups(groups)
