"""From one difference to its verdict."""

from typing import Any

from fingerprint.diff.changes import Verdict
from fingerprint.lost import GONE
from fingerprint.walk import MISSING, Difference, two_keys
from probes.kit.facts import Gap
from probes.kit.lazy import lazy_regex

_TEMPORARY = lazy_regex(r"^(?:--?[\w-]+=)?(?:/tmp|/var/tmp|/dev/shm|/run/user/\d+)/")


def is_unknown(difference: Difference) -> bool:
    """No value on either side, or nobody looked on one: such a pair is neither equal nor a change."""
    x, y = difference.before, difference.after
    if isinstance(x, Gap) and isinstance(y, Gap):
        return True
    return any(isinstance(side, Gap) and side.code == "not_read" for side in (x, y))


def verdict_of(difference: Difference, *, of_process: bool) -> Verdict:
    """A process that ends while it is read leaves `absent` behind: of a process, that is dark and not gone."""
    x, y = difference.before, difference.after
    if isinstance(y, Gap):
        return "vanished" if y is MISSING or (y.code in GONE and not of_process) else "went dark"
    if isinstance(x, Gap):
        return "appeared" if x is MISSING or (x.code in GONE and not of_process) else "came to light"
    if two_keys(x, y):
        return "not comparable"
    return "another part" if difference.fact.kind == "identity" else "changed"


def only_temporary(x: Any, y: Any) -> bool:
    """Whether two argument vectors differ in nothing but paths below a folder for temporary files."""
    if not (isinstance(x, tuple) and isinstance(y, tuple)) or len(x) != len(y):
        return False
    return all(i == j or (_is_temporary(i) and _is_temporary(j)) for i, j in zip(x, y, strict=True))


def _is_temporary(argument: Any) -> bool:
    return isinstance(argument, str) and _TEMPORARY.match(argument) is not None
