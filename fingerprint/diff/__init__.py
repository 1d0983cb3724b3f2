"""Two effective states -> what changed, what is ruled out, what is not known."""

from fingerprint.diff.changes import Change, Changes, Folded, NotKnown, Paired
from fingerprint.diff.compare import compare

__all__ = ["Change", "Changes", "Folded", "NotKnown", "Paired", "compare"]
