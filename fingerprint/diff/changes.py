"""What a comparison says, before anybody explains it."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from fingerprint.snapshot import Key
from fingerprint.walk import Names
from probes.kit.facts import Fact
from probes.kit.paths import FactPath

Verdict = Literal[
    "changed",
    "another part",  # an identity
    "appeared",  # a key came, or what was absent is there
    "vanished",  # a key went, or what was there is absent or lost
    "went dark",  # there was a value, now nobody can say
    "came to light",
    "not comparable",  # digests under two keys, or a state that had not settled
    "grew",  # a counter of trouble stood still in one run only
    "was reset",  # a counter fell while the run ran
    "changed during the run",
]
SEEN_TO_CHANGE: tuple[Verdict, ...] = ("changed", "another part", "appeared", "vanished", "changed during the run")
"""The verdicts that say: it is not what it was. The others say that it cannot be told, or are about counters."""

How = Literal[
    "same slot and unit",
    "same slot",
    "unit moved",
    "slot has another unit",
    "paired by order",
    "same engine, another port",
    "same engine, below a start script",
    "only in a",
    "only in b",
]


class Paired(msgspec.Struct, frozen=True):
    """Which device or process of A was compared with which of B; empty where there is none. area: a device's."""

    a: str
    b: str
    how: How
    area: str = ""


class Unsteady(msgspec.Struct, frozen=True):
    """The value of a fact that changed while the run ran. Of a state that samples saw: the two that it held most."""

    first: Any
    last: Any


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One fact, or one item of a collection, that is not known to be the same.

    pattern  names with None for a device's key
    item     the innermost collection key among names
    now      the item's key in B, where B has it under another one: a command of today is about that one
    among    how many of B (of A, where it vanished) have the fact, this one included
    context  never a suspect
    """

    key: Key
    names: Names
    pattern: tuple[str | None, ...]
    item: str = ""
    now: str = ""
    fact: Fact
    verdict: Verdict
    before: Any
    after: Any
    among: int = 1
    context: bool = False
    says: str = ""

    @property
    def path(self) -> FactPath:
        return self.key.path(self.names)

    @property
    def leads(self) -> bool:
        """Whether it may be what the others follow from, and a suspect."""
        return self.verdict in SEEN_TO_CHANGE and not self.context

    @property
    def takes_along(self) -> bool:
        """As `leads`, whether a suspect or none: also a counter among counters, and an item that nobody could read, for
        what others say of it went with it."""
        is_item = self.pattern[-1:] == (None,) and not self.context
        return self.leads or self.verdict == "grew" or (is_item and self.verdict in ("went dark", "came to light"))


class Folded(msgspec.Struct, frozen=True, kw_only=True):
    """The same change on one or many devices or processes.

    first    the change, or the first of them
    changes  all of them
    text     its path, or the glob that the devices share
    on       how many of how many, as `7/8`; empty where there are no siblings
    follows  the text of the change that this one is a consequence of
    """

    first: Change
    changes: tuple[Change, ...]
    text: str
    on: str
    follows: str | None = None

    @property
    def which(self) -> tuple[str, ...]:
        """Their paths, where it is several and not all."""
        some, _, every = self.on.partition("/")
        return tuple(str(change.path) for change in self.changes) if self.changes[1:] and some != every else ()


class NotKnown(msgspec.Struct, frozen=True):
    """A fact, or with empty names a whole section, that cannot be compared.

    a, b: `seen`, or the code of the gap, or the outcome of the section, or `too few samples`.
    detail: the gap's or the outcome's. says: a sentence for whoever reads it, instead.
    """

    key: Key
    names: Names
    a: str
    b: str
    detail: str = ""
    says: str = ""


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """All that two effective states say about each other.

    intended   changes that `--vary` or a waiver declared, and their consequences
    ruled_out  by area, how many lasting facts were seen equal
    """

    pairing: tuple[Paired, ...]
    changes: tuple[Folded, ...]
    intended: tuple[Folded, ...]
    not_known: tuple[NotKnown, ...]
    ruled_out: Mapping[str, int]
