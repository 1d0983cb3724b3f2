"""Under which conditions a section was read, as the section itself tells.

A clock that was read while its GPU was idle says nothing about the clock under load. Which facts tell whether a
condition holds is declared (`Fact.tells`), as is which facts need it (`Fact.settled`).
"""

from collections.abc import Container, Sequence

from fingerprint.sections import Leaf
from probes.kit.facts import Gap, Settled

Names = tuple[str, ...]


class Conditions:
    """What one reading tells. What a gap hides is not told, and what is not told does not hold."""

    def __init__(self, found: Sequence[Leaf]) -> None:
        """found: all leaves of the section."""
        collections = {leaf.names for leaf in found if isinstance(leaf.value, frozenset)}
        self._told: dict[tuple[Names, Settled], bool] = {
            (_item_of(leaf.names, collections), leaf.fact.tells): bool(leaf.value)
            for leaf in found
            if leaf.fact.tells is not None and not isinstance(leaf.value, Gap)
        }

    def hold_for(self, leaf: Leaf) -> bool:
        """Whether this value counts: `always`, or as the innermost item around it told."""
        condition = leaf.fact.settled
        if condition == "always":
            return True
        inner = (self._told.get((leaf.names[:end], condition)) for end in range(len(leaf.names), -1, -1))
        return next((held for held in inner if held is not None), False)


def _item_of(names: Names, collections: Container[Names]) -> Names:
    """Names up to and including the innermost key; none outside of all collections."""
    return names[: max((end for end in range(1, len(names) + 1) if names[: end - 1] in collections), default=0)]
