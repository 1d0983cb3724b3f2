"""A policy's file, from the disk or from a revision of its git repository."""

import os
import stat
from pathlib import Path

from fingerprint.gate.policy import Policy, PolicyError, policy_of
from probes.kit.child import output_of
from probes.kit.facts import Gap

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
    return _bounded(str(path), content)


def _bounded(name: str, content: bytes) -> bytes:
    if len(content) > LARGEST:
        raise PolicyError(f"{name} is larger than {LARGEST >> 10} KiB: that is no policy")
    return content


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
    blob = f"{revision}:./{whole.relative_to(folder)}"
    answer = output_of((*GIT, "cat-file", "blob", blob), str(folder), GIT_SECONDS)
    if isinstance(answer, Gap):
        why = answer.detail.replace("env exited", "git exited", 1)
        raise PolicyError(f"{path} at {revision} cannot be read ({why}): fetch the revision, or name another")
    name = f"{path} at {revision}"
    return policy_of(name, _bounded(name, answer.encode()))
