"""How many lasting facts of A a list of differences accounts for: the rest was seen equal."""

from collections.abc import Sequence
from typing import Any

from fingerprint.sections import leaves
from fingerprint.walk import MISSING, Difference
from probes.kit.facts import Gap, Map, Section


def seen_in(found: Sequence[Difference]) -> int:
    """A key that came or went also accounts for the key set of its collection."""
    key_sets = {d.names[:-1] for d in found if (d.before is MISSING or d.after is MISSING) and d.fact.lasting}
    return len(key_sets) + sum(seen(d.before) for d in found if d.fact.lasting or isinstance(d.before, (Section, Map)))


def seen(value: Any) -> int:
    """Lasting facts with a value: 1 for a plain one, all that a section or collection holds, itself included."""
    if isinstance(value, Gap):
        return 0
    if isinstance(value, Section):
        return sum(leaf.fact.lasting and not isinstance(leaf.value, Gap) for leaf in leaves(value))
    if isinstance(value, Map):
        return 1 + sum(seen(item) for item in value.items.values())
    return 1
