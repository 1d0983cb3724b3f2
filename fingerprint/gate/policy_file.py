"""A policy's file, from the disk or from a revision of its git repository."""

import os
import stat
from pathlib import Path
from typing import NamedTuple

from fingerprint.gate.policy import Policy, PolicyError, policy_of
from probes.kit.child import output_of
from probes.kit.facts import Gap, Seen

LARGEST = 1 << 20
"""Bytes: what is larger, or has no end, is no policy."""
GIT_SECONDS = 10.0
GIT = (
    # A partial clone would fetch what it lacks, by a program that the tree's configuration names.
    "env", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_OPTIONAL_LOCKS=0",
    # Whoever owns the tree: nothing in it is run, and in a container it is often another user's.
    "git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
)  # fmt: skip


def policy_in(path: Path) -> Policy:
    """The policy in a file as it is now. Raises PolicyError."""
    try:
        return policy_of(str(path), _content(path))
    except OSError as error:
        raise PolicyError(f"{path} cannot be read ({error.strerror}): name a policy's file") from None


def _content(path: Path) -> bytes:
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise PolicyError(f"{path} is no regular file: name a policy's file")
        content = file.read(LARGEST + 1)
    _check_size(str(path), len(content))
    return content


def _check_size(name: str, size: int) -> None:
    if size > LARGEST:
        raise PolicyError(f"{name} is larger than {LARGEST >> 10} KiB: that is no policy")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def policy_at(path: Path, revision: str) -> Policy:
    """The policy as a revision has it: what a change proposes cannot loosen its own gate. Raises PolicyError.

    The file need not exist here. No hook, filter or pager takes part: `git cat-file` gives the bytes that were stored.
    """
    if not revision or revision.startswith("-") or ":" in revision:
        raise PolicyError(f"--policy-ref {revision!r} is no revision: name a branch, a tag or a commit")
    whole = Path(os.path.abspath(path))
    folder = next(parent for parent in whole.parents if parent.is_dir())
    return policy_of(f"{path} at {revision}", _Stored(path, revision, folder, whole.relative_to(folder)).content())


class _Stored(NamedTuple):
    """A file of a revision. path: as the user named it. below: the same, from a folder that is there."""

    path: Path
    revision: str
    folder: Path
    below: Path

    @property
    def name(self) -> str:
        return f"{self.path} at {self.revision}"

    def content(self) -> bytes:
        size = int(self._checked(self._git("cat-file", "-s", self._blob)))
        self._check_mode()
        _check_size(self.name, size)
        content = self._checked(self._git("cat-file", "blob", self._blob)).encode()
        if len(content) != size:  # what is no UTF-8 was escaped on its way
            raise PolicyError(f"{self.name} is not UTF-8: save it as UTF-8")
        return content

    @property
    def _blob(self) -> str:
        return f"{self.revision}:./{self.below}"

    def _git(self, *words: str) -> Seen[str]:
        return output_of((*GIT, *words), str(self.folder), GIT_SECONDS)

    def _checked(self, answer: Seen[str]) -> str:
        if not isinstance(answer, Gap):
            return answer
        if self._is_revision() and isinstance(self._git("rev-parse", "--verify", "--quiet", self._blob), Gap):
            raise PolicyError(f"{self.path} is not in {self.revision}: bring it there first, or leave --policy-ref out")
        why = answer.detail.replace("env exited", "git exited", 1)
        remedy = "fetch the revision (a shallow checkout has its own alone), or name another"
        if isinstance(self._git("rev-parse", "--git-dir"), Gap):
            remedy = "name a policy in a repository"
        raise PolicyError(f"{self.name} cannot be read ({why}): {remedy}")

    def _is_revision(self) -> bool:
        return not isinstance(self._git("rev-parse", "--verify", "--quiet", f"{self.revision}^{{tree}}"), Gap)

    def _check_mode(self) -> None:
        mode = self._checked(self._git("ls-tree", self.revision, "--", f"./{self.below}")).partition(" ")[0]
        if mode == "120000":
            to = self._checked(self._git("cat-file", "blob", self._blob))
            raise PolicyError(f"{self.name} is a symbolic link to {to}: name that")
        if not mode.startswith("100"):
            raise PolicyError(f"{self.name} is no regular file: name a policy's file")
