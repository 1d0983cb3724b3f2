"""What shows that a suspect was at work, beyond the limits that `binding` knows."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from fingerprint.diff.changes import Folded
from fingerprint.explain.binding import bound
from fingerprint.explain.contract import Evidence
from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.observed import Observed


class Signs(NamedTuple):
    """quiet: whether what it shows in, wherever it does harm, was looked at and did not move."""

    evidence: tuple[Evidence, ...] = ()
    quiet: bool = False


def shown(change: Folded, rules: Sequence[Rule], seen: Mapping[str, Observed], harmed: str = "") -> Signs:
    """What the rules say that it shows in, where that was seen in the worse run."""
    found = bound(change, [replace(rule, binds=rule.shows) for rule in rules if rule.shows], seen, harmed=harmed)
    return Signs(found.evidence, bool(found.against) and rules[0].loud)
