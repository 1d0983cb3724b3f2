"""What one of two runs said and the other did not, in the published form of a comparison."""

from typing import Literal

import msgspec

from fingerprint.said.message import Names


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A known message that one run printed or logged, and the other did not.

    names: what it proves: the cause itself, the resource that ran out or was not used, or that something failed.
    lines: of the attempt that said it most often. starts: how many attempts said it, of how many. heard: whether such
    a text of the other was read as well; else it is evidence of nothing. facts: globs of what it points to. suspect:
    rank of the one that it is evidence of; None: of none. source: who says what it means.
    """

    side: Literal["a", "b"]
    message: str
    names: Names
    lines: int
    starts: tuple[int, int]
    heard: bool
    facts: tuple[str, ...]
    suspect: int | None
    says: str
    source: str
