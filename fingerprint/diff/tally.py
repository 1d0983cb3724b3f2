"""How many lasting facts of A a list of differences accounts for: the rest was seen equal."""

from collections.abc import Sequence

from fingerprint.sections import seen
from fingerprint.walk import MISSING, Difference
from probes.kit.facts import Map, Section


def seen_in(found: Sequence[Difference]) -> int:
    """A key that came or went also accounts for the key set of its collection."""
    key_sets = {d.names[:-1] for d in found if (d.before is MISSING or d.after is MISSING) and d.fact.lasting}
    return len(key_sets) + sum(seen(d.before) for d in found if d.fact.lasting or isinstance(d.before, (Section, Map)))
